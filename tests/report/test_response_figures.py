"""Figures of step and frequency responses, from draws whose response is known."""

import numpy as np
import pytest
from scipy import signal

from gpssm import Dataset, Run
from gpssm.data import Normalisation
from gpssm.evaluation.scoring import ARX
from gpssm.linear import LinearModel
from gpssm.prediction.response import StepResponse
from gpssm.report import html, response
from gpssm.report.response import Answer, response_figures, response_section, shown_channels
from gpssm.report.traces import Chart, axis, band, line
from support_report import make_given, make_run

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


# ---------------------------------------------------------------------- whole figures

READ = {"hovertemplate": "%{y:.4~g}"}
BESIDE = {"color": "@orange", "dash": "dash"}
NAMED = Dataset.from_arrays(
    np.zeros((4, 2)) + np.arange(4.0)[:, None], np.zeros((4, 2)) + np.arange(4.0)[:, None],
    sampling_time=0.1, input_names=("valve", "pump"), output_names=("flow", "level"),
    input_units=("", "V"), output_units=("", "cm"),
)  # fmt: skip


def placed(pole, gains=(0.8, 1.0, 1.5)):
    """The same draws as those of the second input in the second output; the others rest at zero."""
    one = drawn(pole, gains)
    draws = np.zeros((len(gains), 2, HORIZON + 1, 2))
    draws[:, 1, :, 1] = one.draws[:, 0, :, 0]
    return StepResponse(draws, np.array([7.0, STEP]), np.ones(2))


def linear_of_two():
    """The plant of `linear_model`, of which the second input drives the second output."""
    one, units = linear_model(POLE), Normalisation(
        np.zeros(2), np.array([7.0, STEP]), np.zeros(2), np.ones(2)
    )  # fmt: skip
    B, C = np.array([[0.0, STEP, 0.3]]), np.array([[0.0], [1.0]])
    return LinearModel(one.A, B, C, np.zeros((2, 3)), np.zeros((1, 2)), np.eye(2), one.A, units)


def assert_drawn(found, wanted):
    """The same traces, but for the last of five digits."""
    for ours, theirs in zip(found, wanted, strict=True):
        for key in {"x", "y", "customdata"} & theirs.keys():
            np.testing.assert_allclose(ours.pop(key), theirs.pop(key), rtol=2e-4)
        assert ours == theirs


def test_a_step_response_is_drawn_until_it_rests_and_half_as_long_again():
    step, _ = response_figures(placed(POLE), linear_of_two(), NAMED, 1, 1)
    rows = np.arange(56)  # 0.9^37 is the last above 2 %
    wanted, x = STEP * (1.0 - POLE**rows) / (1.0 - POLE), 0.1 * rows
    assert_drawn(step["data"], [
        *band(x, 0.81 * wanted, 1.475 * wanted, "95 % of the functions", "@band95"),
        line(x, wanted, ARX, **READ, **BESIDE),
        line(x, wanted, "model", "@blue", **READ),
    ])  # fmt: skip
    assert step["layout"] == {
        "xaxis": axis("time [s] after pump [V] + 0.5"),
        "yaxis": axis("Δ level [cm]"),
        "hovermode": "x unified",
    }
    plain = response_figures(drawn(POLE), None, Dataset.from_arrays(rows, rows), 0, 0)[0]
    assert plain["layout"]["xaxis"] == axis("steps after u + 0.5")
    assert plain["data"][-1]["x"] == list(map(float, rows))


def test_a_frequency_response_has_gain_and_phase_over_sixty_frequencies():
    _, wave = response_figures(placed(POLE), linear_of_two(), NAMED, 1, 1)
    cycles = np.geomspace(0.1 / 55, 0.5, 60)
    gain = 1.0 / (np.exp(2j * np.pi * cycles) - POLE)
    size, phase = np.abs(gain), np.degrees(np.unwrap(np.angle(gain)))
    style = {"yaxis": "y2", "showlegend": False}
    name = "95 % of the functions"
    panels = [
        *band(10.0 * cycles, 0.81 * size, 1.475 * size, name, "@band95"),
        line(10.0 * cycles, size, ARX, **READ, **BESIDE),
        line(10.0 * cycles, size, "model", "@blue", **READ),
        *({**each, **style} for each in band(10.0 * cycles, phase, phase, name, "@band95")),
        line(10.0 * cycles, phase, ARX, **READ, **BESIDE, **style),
        line(10.0 * cycles, phase, "model", "@blue", **READ, **style),
    ]
    assert_drawn(wave["data"], panels)
    assert wave["layout"] == {
        "xaxis": axis("frequency [Hz]", type="log", anchor="y2"),
        "yaxis": axis("gain [cm/V]", type="log", domain=[0.45, 1.0], dtick=1),
        "yaxis2": axis("phase [°]", domain=[0.0, 0.35], anchor="x"),
        "hovermode": "x unified",
    }


@pytest.mark.parametrize(
    ("units", "title"),
    [(("cm", ""), "gain [cm/1]"), (("", "V"), "gain [1/V]"), (("", ""), "gain")],
)
def test_a_gain_has_the_units_that_are_known(units, title):
    data = Dataset.from_arrays(
        np.arange(4.0), np.arange(4.0), output_units=units[:1], input_units=units[1:]
    )
    layout = response_figures(drawn(POLE), None, data, 0, 0)[1]["layout"]
    assert layout["yaxis"]["title"] == {"text": title}
    assert layout["xaxis"]["title"] == {"text": "cycles per step"}


def test_a_draw_whose_gain_is_no_number_is_left_out():
    found = drawn(POLE, (0.8, 1.0, 1.0, 1.0, 1.5))
    draws = found.draws.copy()
    draws[3, 0, 250:] = np.inf
    apart = StepResponse(draws, found.step, found.spread)
    wanted = response_figures(drawn(POLE, (0.8, 1.0, 1.0, 1.5)), None, DATA, 0, 0)[1]
    assert response_figures(apart, None, DATA, 0, 0)[1] == wanted


def test_a_slow_response_is_thinned_to_250_points():
    step, _ = response_figures(drawn(0.985), None, DATA, 0, 0)
    x = step["data"][-1]["x"]
    assert (len(x), x[0], x[-1]) == (250, 0.0, 30.0)


@pytest.mark.parametrize(
    ("moving", "rest", "rows", "last"),
    [(20, 0.9, 100, 30), (21, 0.9, 100, 31), (20, 0.97, 100, 30), (20, 0.99, 100, 20),
     (50, 0.9, 70, 69), (5, 0.9, 100, 20), (5, 0.9, 12, 11)],
)  # fmt: skip
def test_what_is_drawn_ends_half_as_long_again_after_the_last_move(moving, rest, rows, last):
    values = np.where(np.arange(rows) <= moving, rest, 1.0)
    assert response._drawn(values) == last


def test_where_nothing_moves_twenty_steps_are_drawn():
    assert response._drawn(np.zeros(50)) == 20


@pytest.mark.parametrize(
    ("low", "high", "linear", "wanted"),
    [
        (-1.99, 2.99, None, {}),
        (-2.0, 2.0, None, {"range": [-2.0, 3.0]}),
        (0.0, 3.0, None, {"range": [-2.0, 3.0]}),
        (-2.0, 3.0, 2.0, {}),  # beside a line from 0 to 2
        (-4.0, 3.0, 2.0, {"range": [-4.0, 6.0]}),
        (0.0, 6.0, 2.0, {"range": [-4.0, 6.0]}),
    ],
)
def test_a_band_is_cut_where_it_would_flatten_the_lines(low, high, linear, wanted):
    one = np.array([0.0, 1.0])
    beside = None if linear is None else linear * one
    answer = Answer(np.arange(2), one, np.array([0.0, low]), np.array([0.0, high]), beside)
    assert response._readable(answer) == wanted
    flat = Answer(np.arange(2), 0 * one, one - 9.0, one + 9.0, None)
    assert response._readable(flat) == {}


def test_phases_have_no_jumps_over_frequency_nor_between_draws():
    gains = np.array([[-1.0 + 0.1j, np.exp(-3.5j)], [-1.0 - 0.1j, np.exp(-3.0j)]])
    half = np.degrees(np.arctan(0.1))
    wanted = np.array([180.0 - half, 180.0 + half])
    found = response._degrees(gains)
    np.testing.assert_allclose(found[:, 0], wanted)
    np.testing.assert_allclose(found[:, 1], 360.0 - np.degrees([3.5, 3.0]))


# ---------------------------------------------------------------------- the section


@pytest.fixture
def asked(monkeypatch):
    """What the responses are asked with, which settle after 300 steps."""
    calls = []

    def step_response(run, data, *, inputs, horizon):
        calls.append((run, data.parts, data.num_rows, list(inputs), horizon))
        one = drawn(1.0 if horizon < 300 else POLE)
        return StepResponse(np.tile(one.draws, (1, 2, 1, 2)), np.full(2, STEP), np.ones(2))

    monkeypatch.setattr(response, "step_response", step_response)
    monkeypatch.setattr(response, "HORIZONS", (30, 300, 900))
    return calls


def test_the_section_shows_every_pair_over_a_horizon_in_which_all_settle(asked, monkeypatch):
    run, pairs = make_run(), []
    given = make_given(run)

    def figures(found, linear, data, d, j):
        pairs.append((found.settles.all(), linear, data is given.data))
        return {"step": (d, j)}, {"wave": (d, j)}

    monkeypatch.setattr(response, "response_figures", figures)
    section, (step, frequency) = response_section(given)
    assert [each[1:] for each in asked] == [(("train",), 40, [0, 1], n) for n in (30, 300)]
    assert all(isinstance(each[0], Run) for each in asked)
    assert pairs == [(True, None, True)] * 4
    keys = [(d, j) for d in range(2) for j in range(2)]
    choices = ("output", ["level [cm]", "flow"]), ("input", ["pump [V]", "valve"])
    assert step == Chart("step", {key: {"step": key} for key in keys}, choices, 360, "")
    assert frequency == Chart("frequency", {key: {"wave": key} for key in keys}, choices, 360, "")
    caption = "All inputs are at their mean in training until the outputs rest; then one input "
    caption += "steps up by one standard deviation. The band holds 95 % of the functions that the "
    cards = [html.card(step, "Step response", f"{caption}model considers possible.")]
    caption = "Amplitude and phase of an output, for a small oscillation of the input around the "
    cards.append(html.card(frequency, "Frequency response", f"{caption}same point."))
    assert section == html.section("response", "How does it respond?", html.grid(*cards))


def test_channels_that_are_not_shown_are_told(asked, monkeypatch):
    monkeypatch.setattr(response, "response_figures", lambda *_: ({}, {}))
    monkeypatch.setattr(response, "_MOST_PAIRS", 2)
    given = make_given()
    step, _ = response.response_charts(given)
    assert step.note == "Only the first 2 inputs and 1 outputs are shown."
    assert step.choices == (("output", ["level [cm]"]), ("input", ["pump [V]", "valve"]))
    monkeypatch.setattr(response, "_MOST_INPUTS", 1)
    step, _ = response.response_charts(given)
    assert step.note == "Only the first 1 inputs and 2 outputs are shown."
    assert asked[-1][3] == [0]
