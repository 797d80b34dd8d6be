"""Several runs on one page: scores, forecasts, calibration, and how their settings differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpssm.data import Dataset
from gpssm.data.channels import with_units
from gpssm.evaluation.scoring import Evaluation
from gpssm.fitted.run import Run
from gpssm.metrics.reliability import Scored, coverage_curve, horizon_profile, pit_values

from . import html
from .charts import MAX_POINTS, centres, coverage_figure, stays_near
from .report_charts import stretch_names
from .report_data import run_settings, same_stretches
from .traces import Chart, Figure, Variants, axis, band, line, series_color, time_title


@dataclass(frozen=True, eq=False)
class Compared:
    """One run with its forecasts of its own test part."""

    name: str
    run: Run
    data: Dataset
    evaluation: Evaluation


def comparison_page(
    compared: Sequence[Compared], baselines: Mapping[str, Evaluation] | None = None
) -> str:
    """The whole page as one text.

    `baselines`: on the test part of the first run; shown where all runs have the same.
    """
    compared = _unique(compared)
    first = compared[0].evaluation.stretches
    same = all(same_stretches(each.evaluation.stretches, first) for each in compared)
    note = "All runs forecast the same test data."
    if not same:
        note = "The runs were tested on different data: their scores cannot be compared directly."
    if not all(each.evaluation.tested for each in compared):
        note += " A run that is not tested has the scores of rows that it was trained on."
    models = {each.name: each.evaluation for each in compared}
    if same:
        models |= _with_other_names(baselines or {}, models)
    shown = [_coverage(compared)]
    cards = [html.card(shown[0], "Coverage against level", "Below the dotted line: too narrow.")]
    sections = []
    if same:
        forecast = _forecasts(compared, models)
        horizon = _horizons(compared[0].data, models, len(compared))
        shown += [forecast, horizon]
        cards.append(html.card(horizon, "Error against the horizon", "RMSE after the warm-up."))
        caption = "Means, those of the baselines dashed, and the 95 % band of the first run."
        card = html.card(forecast, "Open loop", caption, True)
        sections = [html.section("forecast", "Forecasts", card)]
    names = ", ".join(each.name for each in compared)
    body = [
        f"<header><h1>Comparison</h1><p class=muted>{html.escape(names)}</p></header>",
        html.section("scores", "Scores", _scores(compared, models, same), note=note),
        *sections,
        html.section("calibration", "Calibration and horizon", html.grid(*cards)),
        html.section("settings", "Different settings", _differences(compared)),
    ]
    return html.page("gpssm comparison", body, shown)


def _with_other_names(
    baselines: Mapping[str, Evaluation], taken: Mapping[str, Evaluation]
) -> dict[str, Evaluation]:
    """The baselines, under other names than those of the runs."""
    return {f"baseline: {n}" if n in taken else n: each for n, each in baselines.items()}


def _unique(compared: Sequence[Compared]) -> list[Compared]:
    """Runs of the same name get a number."""
    names = [each.name for each in compared]
    if len(set(names)) == len(names):
        return list(compared)
    return [replace(each, name=f"{i}: {each.name}") for i, each in enumerate(compared, 1)]


def _scores(compared: Sequence[Compared], models: Mapping[str, Evaluation], same: bool) -> str:
    about = [
        ("method", *(each.run.model.name for each in compared)),
        ("states", *(str(each.run.system.model.dim_x) for each in compared)),
        ("seed", *(str(each.run.seed) for each in compared)),
    ]
    scores = html.score_tables(models, compared[0].data.output_units, same)
    return scores + html.table(("", *(each.name for each in compared)), about)


def _forecasts(compared: Sequence[Compared], models: Mapping[str, Evaluation]) -> Chart:
    data, stretches = compared[0].data, compared[0].evaluation.stretches
    labels = with_units(data.output_names, data.output_units)
    variants: Variants = {}
    for i in range(len(stretches)):
        scored = {name: each.stretches[i].scored for name, each in models.items()}
        for d, label in enumerate(labels):
            layout = {"xaxis": axis(time_title(data)), "yaxis": axis(label)}
            traces = _forecast_traces(scored, len(compared), data.sampling_time or 1.0, d)
            variants[d, i] = {"data": traces, "layout": {**layout, "hovermode": "x unified"}}
    choices = ("output", labels), ("experiment", stretch_names(stretches))
    return Chart("forecast", variants, choices, 430)


def _forecast_traces(scored: Mapping[str, Scored], runs: int, step: float, d: int) -> list[Figure]:
    """The 95 % band of the first run, the means of all models, and the measurements."""
    name, first = next(iter(scored.items()))
    keep = slice(None, None, -(-len(first.y) // MAX_POINTS))
    x = step * np.arange(len(first.y))[keep]
    low, high = (bound[:, d] for bound in first.forecast.interval(0.95))
    data = band(x, low[keep], high[keep], f"95 % of {name}", "@band95")
    for j, (name, each) in enumerate(scored.items()):
        mean = each.forecast.mean[:, d]
        shown = {} if stays_near(mean, [first.y[:, d], low, high]) else {"visible": "legendonly"}
        data.append(line(x, mean[keep], name, series_color(j), dash=_dash(j, runs), **shown))
    return [*data, line(x, first.y[keep, d], "measured", "@ink", width=1.0)]


def _dash(place: int, runs: int) -> str:
    """Baselines, which follow the runs, are dashed."""
    return "solid" if place < runs else "dash"


def _coverage(compared: Sequence[Compared]) -> Chart:
    curves = {}
    for each in compared:
        scored = each.evaluation.open_loop
        pits = [pit_values(scored, d) for d in range(each.data.dim_y)]
        curves[each.name] = coverage_curve(np.concatenate(pits))
    return Chart("coverage", {(): coverage_figure(curves)}, height=340)


def _horizons(data: Dataset, models: Mapping[str, Evaluation], runs: int) -> Chart:
    labels = with_units(data.output_names, data.output_units)
    variants: Variants = {}
    for d, label in enumerate(labels):
        traces = []
        for j, (name, each) in enumerate(models.items()):
            profile = horizon_profile(each.open_loop, d)
            rmse = [part.rmse for part in profile]
            dash = _dash(j, runs)
            traces.append(line(centres(profile), rmse, name, series_color(j), dash=dash))
        layout = {
            "xaxis": axis("steps after the warm-up"),
            "yaxis": axis(f"RMSE of {label}", rangemode="tozero"),
        }
        variants[d,] = {"data": traces, "layout": layout}
    return Chart("horizon", variants, (("output", labels),), 340)


def _differences(compared: Sequence[Compared]) -> str:
    settings = [
        {**run_settings(each.run), "data": each.data.name, "seed": each.run.seed}
        for each in compared
    ]
    keys = sorted({key for each in settings for key in each})
    rows = [
        (key, *(str(each.get(key, "–")) for each in settings))
        for key in keys
        if len({str(each.get(key, "–")) for each in settings}) > 1
    ]
    if not rows:
        return "<p>Nothing.</p>"
    return html.table(("setting", *(each.name for each in compared)), rows)
