"""Figures of step and frequency responses, from draws whose response is known."""

import numpy as np
import pytest
from scipy import signal

from gpssm import Dataset
from gpssm.data import Normalisation
from gpssm.evaluation.scoring import ARX
from gpssm.linear import LinearModel
from gpssm.prediction.response import StepResponse
from gpssm.report.response import response_figures, shown_channels

HORIZON, POLE, STEP = 300, 0.9, 0.5
DATA = Dataset.from_arrays(np.arange(4.0), np.arange(4.0), sampling_time=0.1)


def plant(pole):
    return signal.dlti([[pole]], [[1.0]], [[1.0]], [[0.0]], dt=0.1)


def drawn(pole, gains=(0.8, 1.0, 1.5)):
    """Draws of x[t+1] = pole x[t] + gain u[t] after a step of one half."""
    t = np.arange(HORIZON + 1)
    answer = STEP * (t if pole == 1.0 else (1.0 - pole**t) / (1.0 - pole))
    draws = np.array(gains)[:, None, None, None] * answer[None, None, :, None]
    return StepResponse(draws, np.array([STEP]), np.array([1.0]))


def linear_model(pole):
    """The same plant, of gain one, as a linear model in the units of the data."""
    one, zero = np.ones((1, 1)), np.zeros((1, 2))
    units = Normalisation(np.zeros(1), np.array([STEP]), np.zeros(1), np.ones(1))
    B = np.array([[STEP, 0.3]])
    return LinearModel(pole * one, B, one, zero, 0 * one, one, one, units)


def traces(figure, name):
    """The values of all traces of this name, the first panel first."""
    return [np.array(t["y"], float) for t in figure["data"] if t.get("name") == name]


def test_the_figures_show_the_response_of_a_known_plant():
    step, frequency = response_figures(drawn(POLE), linear_model(POLE), DATA, 0, 0)
    time = np.array(step["data"][-1]["x"])
    rows = np.round(time / 0.1).astype(int)
    wanted = STEP * signal.dstep(plant(POLE), n=HORIZON + 1)[1][0][rows, 0]
    for name in ("model", ARX):
        np.testing.assert_allclose(traces(step, name)[0], wanted, atol=1e-4 * wanted.max())
    assert 3.0 < time[-1] < 10.0  # s: it has settled to 2 % after 3.7 s
    hertz = np.array(frequency["data"][-1]["x"])
    _, gain = plant(POLE).freqresp(2.0 * np.pi * hertz * 0.1)
    for name in ("model", ARX):
        size, phase = traces(frequency, name)
        np.testing.assert_allclose(size, np.abs(gain), rtol=1e-3)
        np.testing.assert_allclose(phase, np.degrees(np.unwrap(np.angle(gain))), atol=0.1)
    low, high = frequency["data"][:2]
    np.testing.assert_allclose(low["y"], np.abs(gain) * 0.81, rtol=1e-3)  # 2.5 % of three draws
    np.testing.assert_allclose(high["y"], np.abs(gain) * 1.475, rtol=1e-3)


def test_an_integrator_has_a_step_response_only():
    step, frequency = response_figures(drawn(1.0), None, DATA, 0, 0)
    assert traces(step, "model")[0][-1] == pytest.approx(STEP * HORIZON)
    assert "does not settle within 300 steps" in frequency["text"]


def test_a_model_that_diverges_is_named_in_place_of_the_charts():
    for figure in response_figures(drawn(1.2), linear_model(POLE), DATA, 0, 0):
        assert figure == {"text": "The model diverges within 300 steps after a step of this input."}


def test_a_gain_that_is_no_number_is_said_in_place_of_the_chart():
    found = drawn(POLE)
    apart = StepResponse(1e300 * found.draws, 1e-300 * found.step, 1e300 * found.spread)
    step, frequency = response_figures(apart, None, DATA, 0, 0)
    assert traces(step, "model")
    assert "give the data in other units" in frequency["text"]


def test_a_linear_model_that_diverges_is_left_out():
    for figure in response_figures(drawn(POLE), linear_model(1.1), DATA, 0, 0):
        assert not traces(figure, ARX)
        assert traces(figure, "model")


@pytest.mark.parametrize(
    ("dims", "shown"),
    [((1, 1), (1, 1)), ((1, 20), (1, 9)), ((2, 5), (2, 4)), ((12, 12), (3, 3))],
)
def test_at_most_nine_pairs_are_shown(dims, shown):
    assert shown_channels(*dims) == shown
