"""What a belief and its forecasts claim of a plant whose start is not known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.belief.factored import factored
from support_belief import PROCESS, SENSOR, A, B, black_box, linear_run, make_rows, simulate

STARTS, AHEAD = 300, 8


def stationary_covariance() -> np.ndarray:
    """Of the states under inputs of unit variance."""
    P = np.eye(2)
    for _ in range(500):
        P = A @ P @ A.T + B @ B.T + np.diag(PROCESS)
    return P


@pytest.fixture(scope="module")
def run():
    return linear_run()


def forecasts_from(run, outputs: int):
    """Whether 95 % intervals hold the outputs to come, and their mean width."""
    root, rng = np.linalg.cholesky(stationary_covariance()), np.random.default_rng(7)
    u = run.normalisation.u_mean + 0.5 * rng.standard_normal((STARTS, outputs + AHEAD, 1))
    starts = rng.standard_normal((STARTS, 2)) @ root.T
    y = np.array([simulate(run, len(u[i]), i, starts[i], u[i])[1] for i in range(STARTS)])
    belief = run.belief(plants=STARTS).update(u[:, :outputs], y[:, :outputs])
    inside, width = [], []
    for forecast, truth in zip(belief.predict(u[:, outputs:]), y[:, outputs:], strict=True):
        inside.append(np.abs(truth - forecast.mean) < 1.96 * forecast.std)
        width.append(forecast.std)
    return np.mean(inside, axis=(0, 2)), np.mean(width, axis=(0, 2))


def test_a_forecast_from_one_output_says_how_little_is_known(run):
    """The plant's hidden state has a spread near one, as the start says."""
    spread = np.sqrt(stationary_covariance()[1, 1])
    assert 0.8 < spread < 1.6
    first, wide = forecasts_from(run, 1)
    later, narrow = forecasts_from(run, 50)
    assert 0.90 < first.mean() <= 0.995
    assert 0.92 < later.mean() < 0.98
    assert np.all(wide[:4] > 1.3 * narrow[:4])
    excess = wide / narrow - 1.0
    assert excess[-1] < 0.4 * excess.max()  # far ahead the start is forgotten


def test_the_start_is_as_wide_as_the_data_and_narrows(run):
    u = make_rows(run, 30)[0]
    y = simulate(run, 30, 0, np.array([1.0, -1.0]), u)[1]
    belief = run.belief("gaussian")
    widths = [np.sqrt(np.diag(belief.cov))]
    for row in range(30):
        belief.update(u[row], y[row])
        widths.append(np.sqrt(np.diag(belief.cov)))
    widths = np.array(widths)
    np.testing.assert_allclose(widths[0, 0], 1.0)
    np.testing.assert_allclose(widths[1, 0], np.sqrt(SENSOR[0] / (1 + SENSOR[0])), rtol=1e-6)
    np.testing.assert_allclose(widths[1, 1], widths[0, 1])  # one output says nothing of it yet
    assert np.all(widths[3:, 1] < 0.6)
    assert np.all(np.diff(widths[1:, 1]) < 1e-6)


def test_hidden_states_start_as_wide_as_the_inducing_inputs():
    """Which lie where training has visited; never less than one, and never without bound."""
    run = black_box(dim_x=4)
    with jax.enable_x64(True):
        model = run.system.model
        z = np.array(model.transition.gp.inducing_inputs)
        z[:, 1] = [-2.0, -1.0, 0.0, 2.0, 2.5]
        z[:, 2] = 0.1 * z[:, 2]
        z[:, 3] = 100.0 * np.arange(5.0)
        place = lambda s: s.model.transition.gp.inducing_inputs  # noqa: E731
        moved = eqx.tree_at(place, run.system, jnp.asarray(z))
        found = factored(moved, "float64")
    mean = np.asarray(model.initial.mean)
    np.testing.assert_allclose(found.mean, [0.0, *mean[1:]])
    second = np.mean((z[:, 1] - mean[1]) ** 2)
    widths = np.maximum(model.initial.variance, 1.0)
    np.testing.assert_allclose(found.variance, [1.0, max(second, widths[1]), widths[2], 9.0])
