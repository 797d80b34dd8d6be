"""The start of a model with a linear part, on plants whose equations are known."""

import numpy as np
import pytest

from gpssm import ConfigError, Dataset, Normalisation
from gpssm.inference.linear_part import linear_start
from gpssm.linear import LinearModel, arx
from gpssm.linear.states import Noise

A = np.array([[0.9, 0.3], [-0.2, 0.7]])
B = np.array([[0.0, 0.1], [0.4, -0.1]])
PROCESS, SENSOR, ROWS = np.array([0.02, 0.03]), 0.05, 4000


def plant(gaps=0.0):
    """The linear model itself, and data of it; a unit normalisation keeps its coordinates."""
    rng = np.random.default_rng(0)
    u, x, y = rng.normal(size=(ROWS, 1)), np.zeros(2), np.empty((ROWS, 1))
    for t in range(ROWS):
        y[t] = x[0] + SENSOR * rng.normal()
        x = A @ x + B @ [u[t, 0], 1.0] + PROCESS * rng.normal(size=2)
    y[rng.random(ROWS) < gaps] = np.nan
    scale = Normalisation(np.zeros(1), np.ones(1), np.zeros(1), np.ones(1))
    noise = Noise(PROCESS**2, np.array([SENSOR**2]))
    C, D, K = np.eye(1, 2), np.zeros((1, 2)), np.zeros((2, 1))
    R, initial = np.eye(1), np.eye(2)
    model = LinearModel(A, B, C, D, K, R, initial, scale, alignment=(1,), noise=noise)
    return model, Dataset.from_arrays(y, u), scale


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_it_starts_at_the_linear_model_with_the_size_of_its_steps(gaps):
    start = linear_start(*plant(gaps))
    assert start.part.weights == pytest.approx(np.hstack([A - np.eye(2), B]))
    # The smoother's residuals and their covariance together are the process noise.
    assert start.part.scale == pytest.approx(PROCESS, rel=0.08)
    assert start.process_variance == pytest.approx(PROCESS**2)
    assert start.output_variance == pytest.approx([SENSOR**2])


def test_what_is_known_of_a_is_what_regression_on_the_states_would_know():
    start = linear_start(*plant())
    covariance = start.part.root @ start.part.root.T
    seen = start.f_inputs
    phi = np.hstack([seen, np.ones((len(seen), 1))])
    assert covariance == pytest.approx(np.linalg.inv(phi.T @ phi), rel=0.05, abs=1e-6)


def test_the_backward_pass_starts_near_the_smoothed_states():
    start = linear_start(*plant())
    h, G = start.f_inputs[:, 1], start.part.backward
    phi = np.hstack([start.b_inputs, np.ones((len(start.b_inputs), 1))])
    missed = h[:-1] - (phi @ G.T)[:, 0]
    assert missed.std() < 0.2 * h.std()
    assert start.part.backward_scale[0] >= missed.std()


def test_a_linear_model_of_another_form_is_refused():
    _, data, scale = plant()
    with pytest.raises(ConfigError, match="forecasting_linear"):
        linear_start(arx(data), data, scale)
