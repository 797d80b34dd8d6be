"""The charts of the report, each from the numbers that it shows."""

from itertools import product

import numpy as np

from gpssm.evaluation.scoring import ARX, Stretch
from gpssm.fitted.run import Run
from gpssm.metrics.reliability import coverage_curve, horizon_profile, pit_values
from gpssm.metrics.residuals import autocorrelation, cross_correlation, cross_limit, white_limit

from . import charts
from .charts import Chart, Variants, with_units
from .learned import LearnedFunction
from .report_data import LAGS, ReportInput, Residuals

_FEEDBACK_LAGS = 5  # negative lags, where a controller would show
_MOST_AXES = 8  # among which the reader can choose


def all_charts(
    given: ReportInput, residuals: Residuals | None, learned: LearnedFunction
) -> list[Chart]:
    """All charts, in the order of the page."""
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
    names = _stretch_names(stretches)
    variants: Variants = {}
    for name, stretch in zip(names, stretches, strict=True):
        bands = {level: stretch.scored.forecast.interval(level) for level, _ in charts.BANDS}
        for d, label in enumerate(labels):
            variants[label, name] = charts.forecast_figure(stretch, bands, d, data)
    longest = max(len(each.scored.y) for each in stretches)
    thinned = f"Only some of {longest} steps are drawn." if longest > charts.MAX_POINTS else ""
    choices = (("output", labels), ("experiment", names))
    return [Chart("forecast", variants, choices, 500, thinned)]


def _training_chart(run: Run) -> Chart:
    table = run.history.table
    figure, height = charts.training_figure(table)
    names = [name for _, panel, _ in charts.PANELS for name in panel]
    zero = [n.replace("_", " ") for n in names if n in table and not charts.is_nonzero(table, n)]
    note = f"Always zero: {', '.join(zero)}." if zero else ""
    return Chart("training", {(): figure}, height=height, note=note)


def _calibration_charts(given: ReportInput) -> list[Chart]:
    data, scored, linear = given.data, given.evaluation.open_loop, given.baselines[ARX].open_loop
    labels = with_units(data.output_names, data.output_units)
    shown = {d: labels[d] for d in given.evaluation.measured}
    pits = {label: pit_values(scored, d) for d, label in shown.items()}
    curves = {label: coverage_curve(pit) for label, pit in pits.items()}
    horizons: Variants = {}
    for d, label in shown.items():
        profiles = horizon_profile(scored, d), horizon_profile(linear, d)
        horizons[label,] = charts.horizon_figure(*profiles, label)
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
            both = cross_correlation(inputs, errors, lags), cross_limit(inputs, errors, LAGS)
            title = "steps by which the input is earlier"
            crosses[name, given_name] = charts.correlation_figure(lags, *both, title)
    outputs = ("output", data.output_names)
    found = [Chart("autocorrelation", whites, (outputs,), 290)]
    if crosses:
        choices = outputs, ("input", data.input_names)
        found.append(Chart("crosscorrelation", crosses, choices, 290))
    return found


def _learned_charts(learned: LearnedFunction) -> list[Chart]:
    labels = [axis.label for axis in learned.axes][:_MOST_AXES]
    states = [axis.label for axis in learned.axes[: learned.states]][:_MOST_AXES]
    slices: Variants = {}
    pairs: Variants = {}
    for (d, state), (j, axis) in product(enumerate(states), enumerate(labels)):
        along = learned.grids[j], learned.mean[d, j], learned.std[d, j], learned.visited[:, j]
        slices[state, axis] = charts.slice_figure(*along, (state, axis))
    for (i, one), (j, other) in product(enumerate(labels), repeat=2):
        points = learned.visited[:, [i, j]], learned.inducing[:, [i, j]]
        pairs[one, other] = charts.inducing_figure(*points, (one, other))
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
