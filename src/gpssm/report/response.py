"""Step and frequency response of the model, beside those of the linear model."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float, Int

from gpssm.data import Dataset
from gpssm.data.channels import with_units
from gpssm.evaluation.scoring import ARX
from gpssm.linear import LinearModel
from gpssm.linear.response import frequency_response, is_stable
from gpssm.linear.response import step_response as linear_step_response
from gpssm.prediction.response import HORIZONS, StepResponse, central, step_response

from . import html
from .charts import LINEAR_LINE
from .report_data import ReportInput
from .traces import VALUE, Chart, Figure, Variants, axis, band, line

_MOST_INPUTS, _MOST_PAIRS = 3, 9  # among which the reader can choose
_LEVEL, _BAND = 0.95, "95 % of the functions"
_POINTS, _FREQUENCIES = 250, 60
_REST = 0.02  # of the whole response: what follows is not drawn
_SHORTEST = 20  # steps that are drawn, at least


class Answer(NamedTuple):
    """One output after a step of one input, in the units of the data."""

    steps: Int[np.ndarray, " time"]
    median: Float[np.ndarray, " time"]
    low: Float[np.ndarray, " time"]
    high: Float[np.ndarray, " time"]
    linear: Float[np.ndarray, " time"] | None


class Gains(NamedTuple):
    """G at some frequencies: of every draw of the model, and of the linear model."""

    draws: Complex[np.ndarray, "draws frequencies"]
    linear: Complex[np.ndarray, " frequencies"] | None


def response_section(given: ReportInput) -> tuple[str, list[Chart]]:
    """The section and its charts; empty for a system without inputs."""
    if not given.data.dim_u:
        return "", []
    charts = response_charts(given)
    captions = (
        "All inputs are at their mean in training until the outputs rest; then one input steps up "
        "by one standard deviation. The band holds 95 % of the functions that the model considers "
        "possible.",
        "Amplitude and phase of an output, for a small oscillation of the input around the same "
        "point.",
    )
    titles = "Step response", "Frequency response"
    cards = [html.card(*each) for each in zip(charts, titles, captions, strict=True)]
    return html.section("response", "How does it respond?", html.grid(*cards)), charts


def response_charts(given: ReportInput) -> list[Chart]:
    """A chart over time and one over frequency."""
    data, linear = given.data, given.baselines[ARX].linear
    inputs, outputs = shown_channels(data.dim_u, data.dim_y)
    found = _settled(given, inputs)
    steps: Variants = {}
    waves: Variants = {}
    for d, j in product(range(outputs), range(inputs)):
        steps[d, j], waves[d, j] = response_figures(found, linear, data, d, j)
    names = with_units(data.output_names, data.output_units)[:outputs]
    drivers = with_units(data.input_names, data.input_units)[:inputs]
    choices = ("output", names), ("input", drivers)
    note = ""
    if inputs < data.dim_u or outputs < data.dim_y:
        note = f"Only the first {inputs} inputs and {outputs} outputs are shown."
    pairs = ("step", steps), ("frequency", waves)
    return [Chart(key, variants, choices, 360, note) for key, variants in pairs]


def shown_channels(dim_u: int, dim_y: int) -> tuple[int, int]:
    """Numbers of inputs and of outputs whose pairs are few enough to choose from."""
    inputs = min(dim_u, _MOST_INPUTS)
    return inputs, min(dim_y, _MOST_PAIRS // inputs)


def _settled(given: ReportInput, inputs: int) -> StepResponse:
    """The response over a horizon in which it settles, or over the longest one."""
    for horizon in HORIZONS:
        found = step_response(given.run, given.data.train, inputs=range(inputs), horizon=horizon)
        if found.settles.all():
            break
    return found


def response_figures(
    found: StepResponse, linear: LinearModel | None, data: Dataset, d: int, j: int
) -> tuple[Figure, Figure]:
    """Step and frequency response of output d to input j; a sentence where there is none."""
    horizon, median = found.draws.shape[2] - 1, found.median[j, :, d]
    if found.diverges[j, d]:
        text = f"The model diverges within {horizon} steps after a step of this input."
        return {"text": text}, {"text": text}
    linear = linear if linear is not None and is_stable(linear) else None
    last = _drawn(median)
    keep = np.unique(np.linspace(0, last, min(_POINTS, last + 1)).astype(int))
    low, high = (bound[j, keep, d] for bound in found.interval(_LEVEL))
    beside = None if linear is None else linear_step_response(linear, last)[j, keep, d]
    answer = Answer(keep, median[keep], low, high, beside)
    step = _step_figure(answer, found.step[j], data, d, j)
    if not found.settles[j, d]:
        text = f"The step response does not settle within {horizon} steps."
        return step, {"text": f"{text} There is no frequency response to show."}
    frequencies = np.geomspace(0.1 / last, 0.5, _FREQUENCIES)
    with np.errstate(over="ignore", invalid="ignore"):  # of units that are far apart
        draws = found.frequency_response(frequencies)[:, j, :, d]
        beside = None if linear is None else frequency_response(linear, frequencies)[j, :, d]
    gains = Gains(draws[np.isfinite(draws).all(axis=1)], beside)
    if not len(gains.draws):
        return step, {"text": "The gain is too large for a number: give the data in other units."}
    return step, _frequency_figure(gains, frequencies, data, d, j)


def _drawn(response: Float[np.ndarray, " time"]) -> int:
    """The last step that is worth drawing: half as long again as it takes to come to rest."""
    away = np.abs(response - response[-1]) > _REST * np.abs(response).max()
    moving = int(np.flatnonzero(away)[-1]) if away.any() else 0
    return min(max(int(1.5 * moving), _SHORTEST), len(response) - 1)


def _step_figure(answer: Answer, size: float, data: Dataset, d: int, j: int) -> Figure:
    x = answer.steps * (data.sampling_time or 1.0)
    traces = band(x, answer.low, answer.high, _BAND, "@band95")
    if answer.linear is not None:
        traces.append(line(x, answer.linear, ARX, hovertemplate=VALUE, **LINEAR_LINE))
    traces.append(line(x, answer.median, "model", "@blue", hovertemplate=VALUE))
    given = with_units(data.input_names, data.input_units)[j]
    label = with_units(data.output_names, data.output_units)[d]
    unit = "time [s]" if data.sampling_time else "steps"
    axes = {
        "xaxis": axis(f"{unit} after {given} + {size:.3g}"),
        "yaxis": axis(f"Δ {label}", **_readable(answer)),
    }
    return {"data": traces, "layout": {**axes, "hovermode": "x unified"}}


def _readable(answer: Answer) -> dict[str, Any]:
    """A range that cuts a band so wide that it would flatten the lines."""
    lines = [answer.median] if answer.linear is None else [answer.median, answer.linear]
    low, high = np.min(lines), np.max(lines)
    room = 2.0 * (high - low)
    if room == 0 or (answer.low.min() > low - room and answer.high.max() < high + room):
        return {}
    return {"range": [low - room, high + room]}


def _frequency_figure(
    gains: Gains, frequencies: Float[np.ndarray, " frequencies"], data: Dataset, d: int, j: int
) -> Figure:
    """Gain above, phase below, both over the logarithm of the frequency."""
    x = frequencies / (data.sampling_time or 1.0)
    panels: tuple[tuple[Callable[[Any], Any], dict[str, Any]], ...]
    panels = (np.abs, {}), (_degrees, {"yaxis": "y2", "showlegend": False})
    traces: list[Figure] = []
    for read, style in panels:
        values = read(gains.draws)
        low, high = central(values, _LEVEL)
        traces += [{**each, **style} for each in band(x, low, high, _BAND, "@band95")]
        if gains.linear is not None:
            beside = read(gains.linear[None])[0]
            traces.append(line(x, beside, ARX, hovertemplate=VALUE, **LINEAR_LINE, **style))
        middle = np.median(values, axis=0)
        traces.append(line(x, middle, "model", "@blue", hovertemplate=VALUE, **style))
    units = data.output_units[d], data.input_units[j]
    ratio = f" [{units[0] or '1'}/{units[1] or '1'}]" if any(units) else ""
    title = "frequency [Hz]" if data.sampling_time else "cycles per step"
    layout = {
        "xaxis": axis(title, type="log", anchor="y2"),
        "yaxis": axis(f"gain{ratio}", type="log", domain=[0.45, 1.0], dtick=1),
        "yaxis2": axis("phase [°]", domain=[0.0, 0.35], anchor="x"),
        "hovermode": "x unified",
    }
    return {"data": traces, "layout": layout}


def _degrees(
    gains: Complex[np.ndarray, "draws frequencies"],
) -> Float[np.ndarray, "draws frequencies"]:
    """The phases without jumps over frequency, nor from one draw to the next."""
    phase = np.unwrap(np.angle(gains))
    turns = np.round((phase[:, :1] - np.angle(np.sum(gains[:, 0]))) / (2.0 * np.pi))
    return np.degrees(phase - 2.0 * np.pi * turns)
