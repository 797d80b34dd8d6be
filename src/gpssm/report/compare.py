"""Several runs on one page: scores, forecasts, calibration, and how their settings differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpssm.data import Dataset
from gpssm.evaluation.scoring import Evaluation
from gpssm.fitted.run import Run
from gpssm.metrics.reliability import coverage_curve, horizon_profile, pit_values

from . import charts, html
from .charts import Chart, Variants
from .report_data import run_settings


@dataclass(frozen=True, eq=False)
class Compared:
    """One run with its forecasts of its own test part."""

    name: str
    run: Run
    data: Dataset
    evaluation: Evaluation


def comparison_page(compared: Sequence[Compared]) -> str:
    """The whole page as one text."""
    compared = _unique(compared)
    same = all(_same_test(each, compared[0]) for each in compared)
    note = "All runs forecast the same test data."
    if not same:
        note = "The runs were tested on different data: their scores cannot be compared directly."
    shown = [_coverage(compared)]
    cards = [html.card(shown[0], "Coverage against level", "Below the dotted line: too narrow.")]
    sections = []
    if same:
        forecast, horizon = _forecasts(compared), _horizons(compared)
        shown += [forecast, horizon]
        cards.append(html.card(horizon, "Error against the horizon", "RMSE after the warm-up."))
        caption = "Means in colour, and the 95 % band of the first run."
        card = html.card(forecast, "Open loop", caption, True)
        sections = [html.section("forecast", "Forecasts", card)]
    names = ", ".join(each.name for each in compared)
    body = [
        f"<header><h1>Comparison</h1><p class=muted>{html.escape(names)}</p></header>",
        html.section("scores", "Scores", _scores(compared), note=note),
        *sections,
        html.section("calibration", "Calibration and horizon", html.grid(*cards)),
        html.section("settings", "Different settings", _differences(compared)),
    ]
    return html.page("gpssm comparison", body, shown)


def _unique(compared: Sequence[Compared]) -> list[Compared]:
    """Runs of the same name get a number."""
    names = [each.name for each in compared]
    if len(set(names)) == len(names):
        return list(compared)
    return [replace(each, name=f"{i}: {each.name}") for i, each in enumerate(compared, 1)]


def _same_test(one: Compared, other: Compared) -> bool:
    """Whether two runs were tested on the same measurements from the same warm-up."""
    a, b = ([s.scored for s in each.evaluation.stretches] for each in (one, other))
    return len(a) == len(b) and all(
        x.forecast.warmup == z.forecast.warmup and np.array_equal(x.y, z.y, equal_nan=True)
        for x, z in zip(a, b, strict=True)
    )


def _scores(compared: Sequence[Compared]) -> str:
    models = {each.name: each.evaluation for each in compared}
    about = [
        ("method", *(each.run.model.name for each in compared)),
        ("states", *(str(each.run.system.model.dim_x) for each in compared)),
        ("seed", *(str(each.run.seed) for each in compared)),
    ]
    scores = html.score_tables(models, compared[0].data.output_units)
    return scores + html.table(("", *models), about)


def _forecasts(compared: Sequence[Compared]) -> Chart:
    first = compared[0]
    step = first.data.sampling_time or 1.0
    title = charts.time_title(first.data)
    names = [f"{i + 1}: {s.experiment.name}" for i, s in enumerate(first.evaluation.stretches)]
    variants: Variants = {}
    for i, name in enumerate(names):
        stretches = [each.evaluation.stretches[i].scored for each in compared]
        keep = slice(None, None, -(-len(stretches[0].y) // charts.MAX_POINTS))
        x = step * np.arange(len(stretches[0].y))[keep]
        low, high = stretches[0].forecast.interval(0.95)
        for d, output in enumerate(first.data.output_names):
            words = f"95 % of {first.name}"
            data = charts.band(x, low[keep, d], high[keep, d], words, "@band95")
            for j, (each, scored) in enumerate(zip(compared, stretches, strict=True)):
                color = charts.series_color(j)
                data.append(charts.line(x, scored.forecast.mean[keep, d], each.name, color))
            data.append(charts.line(x, stretches[0].y[keep, d], "measured", "@ink", width=1.0))
            axes = {"xaxis": charts.axis(title), "yaxis": charts.axis(output)}
            variants[output, name] = {"data": data, "layout": {**axes, "hovermode": "x unified"}}
    choices = ("output", first.data.output_names), ("experiment", names)
    return Chart("forecast", variants, choices, 430)


def _coverage(compared: Sequence[Compared]) -> Chart:
    curves = {}
    for each in compared:
        scored = each.evaluation.open_loop
        pits = [pit_values(scored, d) for d in range(each.data.dim_y)]
        curves[each.name] = coverage_curve(np.concatenate(pits))
    return Chart("coverage", {(): charts.coverage_figure(curves)}, height=340)


def _horizons(compared: Sequence[Compared]) -> Chart:
    variants: Variants = {}
    for d, output in enumerate(compared[0].data.output_names):
        data = []
        for j, each in enumerate(compared):
            profile = horizon_profile(each.evaluation.open_loop, d)
            x, rmse = charts.centres(profile), [b.rmse for b in profile]
            data.append(charts.line(x, rmse, each.name, charts.series_color(j)))
        layout = {
            "xaxis": charts.axis("steps after the warm-up"),
            "yaxis": charts.axis(f"RMSE of {output}", rangemode="tozero"),
        }
        variants[output,] = {"data": data, "layout": layout}
    return Chart("horizon", variants, (("output", compared[0].data.output_names),), 340)


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
