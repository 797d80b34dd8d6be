"""The charts of the report, each from the numbers that it shows."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from gpssm.data import Dataset
from gpssm.prediction.calibration import coverage_curve, horizon_profile, pit_values
from gpssm.prediction.residuals import (
    autocorrelation,
    cross_correlation,
    cross_limit,
    white_limit,
)
from gpssm.run import Run

from . import charts
from .charts import Chart, Variants
from .evaluation import ARX, Stretch
from .learned import LearnedFunction
from .material import LAGS, ReportInput, Residuals, with_units

_FEEDBACK_LAGS = 5  # negative lags, where a controller would show
_MOST_AXES = 8  # among which the reader can choose


def all_charts(
    given: ReportInput, residuals: Residuals | None, learned: LearnedFunction
) -> list[Chart]:
    """In the order of the page."""
    return [
        *_forecast_charts(given),
        _training_chart(given.run),
        *_calibration_charts(given),
        *_residual_charts(given, residuals),
        *_learned_charts(learned),
    ]


def _forecast_charts(given: ReportInput) -> list[Chart]:
    data, stretches = given.data, given.evaluation.stretches
    labels = with_units(data.output_names, data.output_units)
    inputs = with_units(data.input_names, data.input_units)
    names = _stretch_names(stretches)
    variants: Variants = {}
    for name, stretch in zip(names, stretches, strict=True):
        bands = {level: stretch.scored.forecast.interval(level) for level, _ in charts.BANDS}
        for d, label in enumerate(labels):
            lines = _forecast_lines(stretch, data, bands, d)
            title = "time [s]" if data.sampling_time else "time step"
            variants[label, name] = charts.forecast_figure(lines, title, label, inputs)
    longest = max(len(each.scored.y) for each in stretches)
    thinned = f"{longest} steps are thinned out." if longest > charts.MAX_POINTS else ""
    choices = (("output", labels), ("experiment", names))
    return [Chart("forecast", variants, choices, 500, thinned)]


def _forecast_lines(
    stretch: Stretch, data: Dataset, bands: Mapping[float, Any], output: int
) -> charts.ForecastLines:
    forecast, y = stretch.scored
    rows = stretch.experiment.rows[: len(y)]
    step = (data.sampling_time or 1.0) / stretch.experiment.stride
    return charts.ForecastLines(
        step * rows,
        forecast.mean[:, output],
        {level: (low[:, output], high[:, output]) for level, (low, high) in bands.items()},
        y[:, output],
        stretch.u,
        forecast.warmup,
    )


def _training_chart(run: Run) -> Chart:
    table = run.history.table
    figure, height = charts.training_figure(table)
    names = [name for _, panel, _ in charts.PANELS for name in panel]
    zero = [n.replace("_", " ") for n in names if n in table and not charts.told(table, n)]
    note = f"Zero throughout: {', '.join(zero)}." if zero else ""
    return Chart("training", {(): figure}, height=height, note=note)


def _calibration_charts(given: ReportInput) -> list[Chart]:
    data, scored = given.data, given.evaluation.open_loop
    labels = with_units(data.output_names, data.output_units)
    shown = {d: labels[d] for d in given.evaluation.measured}
    pits = {label: pit_values(scored, d) for d, label in shown.items()}
    curves = {label: coverage_curve(pit) for label, pit in pits.items()}
    horizons: Variants = {}
    for d, label in shown.items():
        others = {
            n: horizon_profile(e.open_loop, d) for n, e in given.baselines.items() if n == ARX
        }
        horizons[label,] = charts.horizon_figure(horizon_profile(scored, d), others, label)
    pit_figures: Variants = {(label,): charts.pit_figure(pit) for label, pit in pits.items()}
    return [
        Chart("coverage", {(): charts.coverage_figure(curves)}, height=330),
        Chart("pit", pit_figures, (("output", list(pits)),), 330),
        Chart("horizon", horizons, (("output", list(pits)),), 380),
    ]  # fmt: skip


def _residual_charts(given: ReportInput, residuals: Residuals | None) -> list[Chart]:
    if residuals is None:
        return []
    data, lags = given.data, np.arange(-_FEEDBACK_LAGS, LAGS + 1)
    whites: Variants = {}
    crosses: Variants = {}
    for d, name in enumerate(data.output_names):
        errors = [each[:, d] for each in residuals.errors]
        values, limit = autocorrelation(errors, LAGS), white_limit(errors)
        whites[name,] = charts.correlation_figure(np.arange(1, LAGS + 1), values[1:], limit, "lag")
        for j, given_name in enumerate(data.input_names):
            inputs = [each[:, j] for each in residuals.inputs]
            values = cross_correlation(inputs, errors, lags)
            limit = cross_limit(inputs, errors, LAGS)
            title = "steps by which the input is earlier"
            figure = charts.correlation_figure(lags, values, limit, title)
            crosses[name, given_name] = figure
    outputs = ("output", data.output_names)
    found = [Chart("autocorrelation", whites, (outputs,), 290)]
    if crosses:
        found.append(
            Chart("crosscorrelation", crosses, (outputs, ("input", data.input_names)), 290)
        )
    return found


def _learned_charts(learned: LearnedFunction) -> list[Chart]:
    labels = [axis.label for axis in learned.axes][:_MOST_AXES]
    states = [axis.label for axis in learned.axes[: learned.states]][:_MOST_AXES]
    slices: Variants = {}
    pairs: Variants = {}
    for (d, state), (j, axis) in product(enumerate(states), enumerate(labels)):
        mean, std = learned.mean[d, j], learned.std[d, j]
        visited = learned.visited[:, j]
        slices[state, axis] = charts.slice_figure(
            learned.grids[j], mean, std, visited, (state, axis)
        )
    for (i, one), (j, other) in product(enumerate(labels), repeat=2):
        both = [i, j]
        figure = charts.inducing_figure(
            learned.visited[:, both], learned.inducing[:, both], (one, other)
        )
        pairs[one, other] = figure
    second = [*labels[1:], labels[0]]  # the first choice of both fields shows two axes
    return [
        Chart("slices", slices, (("change of", states), ("along", labels)), 340),
        Chart("inducing", pairs, (("across", labels), ("up", second)), 340),
    ]


def _stretch_names(stretches: tuple[Stretch, ...]) -> list[str]:
    """The names of the experiments, each of them once."""
    names = [each.experiment.name or "test" for each in stretches]
    twice = len(set(names)) < len(names)
    return [f"{i + 1}: {name}" for i, name in enumerate(names)] if twice else names
