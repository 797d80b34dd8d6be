"""Responses of linear systems, whose step and frequency responses scipy knows."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal, stats

import gpssm
from gpssm import Dataset
from gpssm.data import Normalisation
from gpssm.fitted.run import Run
from gpssm.gp.positive import raw_positive
from gpssm.gp.sparse import InducingPosterior
from gpssm.prediction.response import step_response
from support import linear_system

HORIZON, DRAWS = 80, 400
A = np.array([[0.8, 0.1], [-0.1, 0.7]])
B = np.array([[0.3, -0.2], [0.5, 0.1]])
UNITS = Normalisation(np.array([1.0, 5.0]), np.array([2.0, 0.5]), np.array([7.0]), np.array([30.0]))


def make_run(A, inducing_std=None) -> Run:
    """x[t+1] = A x + B u + noise, whose entries are known, or normally distributed."""
    config = gpssm.pr_ssm(dim_x=2, warmup=3, particles=5)
    system = linear_system(config, A, B, np.full(2, 0.01), np.array([0.1]), np.ones(2))
    if inducing_std is not None:
        q = system.model.transition.gp.posterior
        q = InducingPosterior(q.mean, raw_positive(jnp.asarray(inducing_std)), False, "diagonal")
        system = eqx.tree_at(lambda s: s.model.transition.gp.posterior, system, q)
    history = gpssm.training.History(gpssm.training.history.pd.DataFrame())
    return Run(system, UNITS, gpssm.Training(), 0, history)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y, u = 7.0 + 30.0 * rng.standard_normal(20), 5.0 * rng.standard_normal((20, 2))
    y[2] = np.nan
    return Dataset.from_arrays(y, u)


def plant(A):
    """In the units of the data."""
    return signal.dlti(A, B / UNITS.u_std, 30.0 * np.eye(1, 2), np.zeros((1, 2)), dt=1.0)


def test_the_response_of_a_known_system_is_that_of_scipy(data):
    found = step_response(make_run(A), data, inputs=[1, 0], horizon=HORIZON, draws=3)
    _, wanted = signal.dstep(plant(A), n=HORIZON + 1)
    for place, j in enumerate([1, 0]):
        assert found.step[place] == UNITS.u_std[j]
        scaled = wanted[j] * UNITS.u_std[j]
        np.testing.assert_allclose(found.median[place], scaled, atol=1e-3 * np.abs(scaled).max())
    assert found.settles.all()
    assert not found.diverges.any()
    low, high = found.interval(0.95)
    np.testing.assert_allclose(low, high, atol=1e-9)


def test_the_frequency_response_of_a_known_system_is_that_of_scipy(data):
    found = step_response(make_run(A), data, inputs=[0, 1], horizon=HORIZON, draws=3)
    frequencies = np.array([0.002, 0.03, 0.12, 0.5])
    gain = found.frequency_response(frequencies)[0]
    system = plant(A)
    for j in range(2):
        matrices = system.A, system.B[:, [j]], system.C, system.D[:, [j]]
        _, wanted = signal.dlti(*matrices, dt=1.0).freqresp(2 * np.pi * frequencies)
        np.testing.assert_allclose(gain[j, :, 0], wanted, atol=2e-3 * np.abs(wanted).max())


def test_the_interval_is_what_is_not_known_of_f(data):
    """b ~ N(0.3, 0.05²) and nothing else is open: y answers u[0] by b g(t), with a known g."""
    std = np.full((2, 4), 1e-9)
    std[0, 2] = 2.0 * 0.05  # f at z = 2 times the unit vector of the first input
    found = step_response(make_run(A, std), data, inputs=[0], horizon=HORIZON, draws=DRAWS)
    g = signal.dstep(signal.dlti(A, [[1.0], [0.0]], np.eye(1, 2), [[0.0]], dt=1.0), n=HORIZON + 1)
    g = 30.0 * g[1][0][1:]
    low, high = (bound[0, 1:] for bound in found.interval(0.95))
    reach = 2.0 * stats.norm.ppf(0.975) * 0.05 * g
    # six standard errors of a quantile of 400 draws, twice
    error = 6.0 * np.sqrt(2 * 0.025 * 0.975 / DRAWS) / stats.norm.pdf(1.96) * 0.05 * np.abs(g)
    assert np.all(np.abs((high - low) - np.abs(reach)) < error + 1e-3)
    assert np.all(np.abs(high - low) > 0.5 * np.abs(reach))


@pytest.mark.parametrize(("pole", "diverges"), [(1.0, False), (1.3, True)])
def test_a_system_that_does_not_settle_is_named(data, pole, diverges):
    """An integrator goes on; an unstable system leaves every range."""
    unstable = np.array([[pole, 0.0], [0.0, 0.5]])
    found = step_response(make_run(unstable), data, inputs=[0], horizon=HORIZON, draws=3)
    assert not found.settles.any()
    assert found.diverges.all() == diverges
