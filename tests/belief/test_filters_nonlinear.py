"""Ensemble and Gaussian filter against a long particle filter, on plants that are not linear."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm import Normalisation, Physics
from gpssm.belief import FILTERS
from support import linear_system
from support_belief import LINEAR, black_box, make_rows, physics_run, run_of

MANY = 10_000
ROWS = 40


def own_log(run, seed: int = 0):
    """A log that the model itself has drawn: a forecast's particle, with its sensor noise."""
    u = make_rows(run, ROWS + 1, seed)[0]
    start = np.asarray(run.normalisation.y_mean)[None]
    forecast = run.belief(particles=3, seed=seed).update(u[:1], start).predict(u[1:], seed=seed)
    y = forecast.samples[1]
    return u[1:], y


def assert_close(run, kind: str, share: float, u, y) -> None:
    """Means within a share of the spread; spreads and likelihood nearly those of the reference."""
    reference = run.filter(u, y, kind="particle", particles=MANY)
    found = run.filter(u, y, kind=kind, particles=400)
    stds = [np.sqrt(np.diagonal(log.covariances, axis1=1, axis2=2)) for log in (reference, found)]
    apart = (found.states - reference.states) / stds[0]
    assert np.sqrt(np.mean(np.square(apart))) < share
    assert abs(np.mean(np.log(stds[1] / stds[0]))) < share
    assert abs(found.log_likelihood - reference.log_likelihood) < 0.1 * ROWS * share


def test_the_log_of_a_black_box():
    """Of three states one is seen; it is nonlinear: slopes of f differ between the states."""
    run = black_box(spread=0.3)
    u, y = own_log(run)
    slopes = [np.asarray(jacobian(run, x)) for x in (np.zeros(3), np.array([1.5, -1.0, 1.0]))]
    assert np.max(np.abs(slopes[0] - slopes[1])) > 0.1
    for kind in ("ensemble", "gaussian"):
        assert_close(run, kind, 0.35, u, y)


def jacobian(run, x):
    step = run.step_function()
    return jax.jacrev(step)(jnp.asarray(x), jnp.asarray(run.normalisation.u_mean))


def test_the_log_of_a_pendulum():
    """Physics with learned constants and a force that the GP learns; its spin is hidden."""
    run = physics_run(output_variance=0.05, process_variance=1e-3)
    u, y = own_log(run)
    for kind in ("ensemble", "gaussian"):
        assert_close(run, kind, 0.35, u, y)


@pytest.mark.parametrize("kind", FILTERS)
def test_an_unstable_model_that_sees_nothing_stays_finite(kind):
    """Thousands of rows without an output; the next outputs tell where the plant is."""
    A, B = np.array([[1.3, 0.2], [0.0, 1.1]]), np.array([[0.1], [0.2]])
    variances = np.array([0.01, 0.01]), np.array([0.02]), np.ones(2)
    run = run_of(linear_system(LINEAR, A, B, *variances), Normalisation.identity(1, 1))
    y = np.full((4000, 1), np.nan)
    belief = run.belief(kind).update(np.zeros((4000, 1)), y)
    assert np.isfinite(belief.mean).all()
    assert np.isfinite(belief.cov).all()
    assert np.sqrt(belief.cov[0, 0]) > 1e3
    belief.update(np.zeros((12, 1)), np.zeros((12, 1)))
    assert np.isfinite(belief.log_likelihood)
    if kind != "particle":  # none of its particles is near
        assert abs(belief.mean[0]) < 1.0
        assert np.sqrt(belief.cov[0, 0]) < 1.0


@pytest.mark.parametrize("kind", FILTERS)
def test_unit_vectors_stay_unit_vectors(kind):
    """After noise and after an update a state of the plant is on the circle."""

    def turn(x, u, parameters, f):
        del parameters
        return jnp.stack([-x[1] * (u[0] + f[0]), x[0] * (u[0] + f[0])])

    physics = Physics(
        rates=turn, step=0.1, states=("c", "s"), observed=("c",), scales={"s": 1.0},
        inputs=("rate",), yields={"push": 0.3}, sees=("c", "s"), unit_vectors=(("c", "s"),),
        name="circle",
    )  # fmt: skip
    run = physics_run(physics, Normalisation.identity(1, 1), process_variance=1e-2)
    u, y = np.ones((6, 1)), np.cos(0.1 * np.arange(6.0))[:, None]
    belief = run.belief(kind, particles=50).update(u, y)
    if kind == "gaussian":
        lengths = np.linalg.norm(belief.mean)
    else:
        lengths = np.linalg.norm(belief.particles, axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-9)
