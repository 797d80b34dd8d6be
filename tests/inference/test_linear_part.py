"""The start of a model with a linear part, on plants whose equations are known."""

import numpy as np
import pytest

from gpssm import ConfigError, Dataset, Normalisation
from gpssm.inference import linear_part
from gpssm.inference.linear_part import linear_start
from gpssm.linear import LinearModel, arx
from gpssm.linear.backward import backward_gain
from gpssm.linear.smoothing import Smoothed, smooth
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


# ---------------------------------------------------------------------- replayed with plain loops

UNITS = Normalisation(np.array([0.5]), np.array([2.0]), np.array([-1.0]), np.array([3.0]))
NOISE = Noise(np.array([0.02, 0.03]), np.array([0.4]))


def small_model(**changes):
    """Its input acts at once, and its noise is large."""
    settings = {
        "A": A, "B": B, "C": np.eye(1, 2), "D": np.zeros((1, 2)), "K": np.zeros((2, 1)),
        "R": np.eye(1), "initial": np.diag([0.5, 0.8]), "normalisation": UNITS,
        "alignment": (0,), "noise": NOISE,
    }  # fmt: skip
    return LinearModel(**{**settings, **changes})


def smoothed(u, y):
    """Inputs with a one, outputs and smoothed states of a record, in normalised units."""
    u = (np.r_[u[1:], u[-1:]] - 0.5) / 2.0
    u, y = np.column_stack([u, np.ones(len(u))]), (y + 1.0) / 3.0
    start = np.zeros(2), np.diag([0.5, 0.8]) + 1e-7 * np.eye(2)
    return u, y, smooth(A, B, NOISE, start, u, y)


def test_a_start_is_what_plain_loops_over_the_smoothed_states_find():
    rng = np.random.default_rng(1)
    u, y = ([rng.normal(size=(rows, 1)) for rows in (30, 18)] for _ in range(2))
    y[0][5:7] = np.nan
    start = linear_start(small_model(), Dataset.from_arrays(y, u), UNITS)
    G = backward_gain(A, B, np.diag(NOISE.Q), np.diag(NOISE.R))
    back = np.hstack([np.eye(2), -A])  # (x[t+1], x[t]) → x[t+1] − A x[t]
    gram, f_inputs, b_inputs, misses, steps, hidden = np.zeros((4, 4)), [], [], [], [], []
    for each_u, each_y, (mean, P, cross, _) in map(smoothed, u, y):
        seen_y = np.where(np.isnan(each_y), mean[:, :1], each_y)
        for t in range(len(mean)):
            f_inputs.append(np.r_[mean[t], each_u[t, 0]])
            phi = np.r_[mean[t], each_u[t]]
            gram += np.outer(phi, phi)
            gram[:2, :2] += P[t]
        for t in range(len(mean) - 1):
            e = mean[t + 1] - A @ mean[t] - B @ each_u[t]
            both = np.block([[P[t + 1], cross[t]], [cross[t].T, P[t]]])
            steps.append(np.outer(e, e) + back @ both @ back.T)
            b_inputs.append(np.r_[mean[t + 1, 1], seen_y[t + 1], seen_y[t], each_u[t, 0]])
            misses.append(mean[t, 1] - G @ np.r_[b_inputs[-1], 1.0])
        hidden.append(P[:, 1, 1].mean())
    wanted = {
        "weights": np.hstack([A - np.eye(2), B]),
        "scale": np.sqrt(np.diag(np.mean(steps, axis=0))),
        "backward": G,
        "backward_scale": np.sqrt(np.mean(np.square(misses), axis=0) + np.mean(hidden)),
    }
    for name, value in wanted.items():
        np.testing.assert_allclose(getattr(start.part, name), value, rtol=1e-9, err_msg=name)
    ridge = 1e-6 * np.trace(gram) / 4 + 1e-12
    covariance = np.linalg.inv(gram + ridge * np.eye(4))
    np.testing.assert_allclose(start.part.root @ start.part.root.T, covariance, rtol=1e-9)
    np.testing.assert_allclose(start.process_variance, NOISE.Q, rtol=1e-12)
    np.testing.assert_allclose(start.output_variance, NOISE.R, rtol=1e-12)
    np.testing.assert_allclose(start.hidden_variance, [np.mean(hidden)], rtol=1e-9)
    np.testing.assert_allclose(start.f_inputs, f_inputs, rtol=1e-9)
    np.testing.assert_allclose(start.b_inputs, b_inputs, rtol=1e-9)


def test_what_never_moves_and_has_no_noise_starts_at_small_scales():
    nothing = {"B": np.zeros((2, 2)), "initial": np.zeros((2, 2)), "alignment": (1,)}
    exact = Noise(np.full(2, 1e-12), np.full(1, 1e-12))
    data = Dataset.from_arrays(np.zeros(40), np.zeros(40))
    start = linear_start(small_model(noise=exact, **nothing), data, Normalisation.identity(1, 1))
    np.testing.assert_array_equal(start.process_variance, [1e-7, 1e-7])
    np.testing.assert_array_equal(start.output_variance, [1e-7])
    np.testing.assert_array_equal(start.hidden_variance, [1e-4])
    np.testing.assert_allclose(start.part.scale, [1e-4, 1e-4], rtol=1e-12)
    np.testing.assert_array_equal(start.part.backward_scale, [1e-4])


@pytest.mark.parametrize(
    ("gram", "inverse"),
    [([4.0, 0.0], [1.0 / (4.0 + 2e-6), 1.0 / (2e-6 + 1e-12)]), ([0.0, 0.0], [1e12, 1e12])],
)
def test_a_column_of_zeros_has_a_small_ridge(gram, inverse):
    root = linear_part._root_of_inverse(np.diag(gram))
    np.testing.assert_allclose(root @ root.T, np.diag(inverse), rtol=1e-10)


@pytest.mark.parametrize(
    ("count", "rows", "chosen", "used"),
    [(1, 6100, 1, 6000), (3, 2100, 1, 2000), (120, 60, 1, 50), (121, 60, 2, 50)],
)
def test_six_thousand_rows_in_all_are_smoothed(count, rows, chosen, used, monkeypatch):
    """At least the first fifty of a run, and then only every second run where they are many."""
    begins = []

    def remember(A, B, noise, start, u, y):
        begins.append(start)
        return Smoothed(np.zeros((1, 2)), np.zeros((1, 2, 2)), np.zeros((0, 2, 2)), 0.0)

    monkeypatch.setattr(linear_part, "smooth", remember)
    y, u = ([np.full((rows, 1), scale * i) for i in range(count)] for scale in (1.0, 10.0))
    data = Dataset.from_arrays(y, u)
    runs = linear_part._smoothed_runs(small_model(), data, Normalisation.identity(1, 1))
    assert [run.y[-1, 0] for run in runs] == list(range(0, count, chosen))
    assert {run.y.shape for run in runs} == {(used, 1)}
    np.testing.assert_array_equal(runs[-1].u, np.tile([10.0 * runs[-1].y[0, 0], 1.0], (used, 1)))
    np.testing.assert_array_equal(begins[0][0], np.zeros(2))
    np.testing.assert_allclose(begins[0][1], np.diag([0.5 + 1e-7, 0.8 + 1e-7]), rtol=1e-14)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"noise": None}, "a linear model without its noise"),
        ({"C": np.array([[0.0, 1.0]]), "description": "of another form"}, "of another form"),
    ],
)
def test_the_outputs_must_be_states_and_the_noise_be_known(changes, named):
    data = Dataset.from_arrays(np.arange(9.0), np.arange(9.0))
    with pytest.raises(ConfigError, match=f"linear: got {named}, expected one of gpssm.linear"):
        linear_start(small_model(**changes), data, UNITS)
