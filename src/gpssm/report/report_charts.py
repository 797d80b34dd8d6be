"""The charts of the report, each from the numbers that it shows."""

from itertools import product

import numpy as np

from gpssm.data.channels import with_units
from gpssm.evaluation.scoring import ARX, Stretch
from gpssm.fitted.run import Run
from gpssm.metrics.reliability import coverage_curve, horizon_profile, pit_values
from gpssm.metrics.residuals import autocorrelation, cross_correlation, cross_limit, white_limit

from . import charts
from .learned import LearnedFunction
from .report_data import LAGS, ReportInput, Residuals, same_stretches
from .traces import Chart, Variants

_FEEDBACK_LAGS = 5  # negative lags, where a controller would show
_MOST_AXES = 8  # among which the reader can choose
_MOST_FORECASTS = 60  # figures, of all outputs and experiments
_FEWEST = 50  # points of a line, however many figures share them


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
    data, every = given.data, given.evaluation.stretches
    linear = given.baselines[ARX].stretches
    known = same_stretches(every, linear)
    stretches = shown_stretches(every, data.dim_y)
    variants: Variants = {}
    most = _share(charts.MAX_POINTS, len(stretches) * data.dim_y)
    for i, stretch in enumerate(stretches):
        bands = {level: stretch.scored.forecast.interval(level) for level, _ in charts.BANDS}
        means = linear[i].scored.forecast.mean if known else None
        for d in range(data.dim_y):
            variants[d, i] = charts.forecast_figure(stretch, bands, d, data, means, most)
    longest = max(len(each.scored.y) for each in stretches)
    notes = [f"Only some of {longest} steps are drawn."] if longest > most else []
    if len(stretches) < len(every):
        notes.append(f"Only the first {len(stretches)} of {len(every)} experiments are shown.")
    labels = with_units(data.output_names, data.output_units)
    choices = (("output", labels), ("experiment", stretch_names(every)[: len(stretches)]))
    return [Chart("forecast", variants, choices, 500, " ".join(notes))]


def shown_stretches(stretches: tuple[Stretch, ...], outputs: int) -> tuple[Stretch, ...]:
    """The first experiments, as many as a page has room for."""
    return stretches[: max(_MOST_FORECASTS // outputs, 1)]


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
    measured = given.evaluation.measured
    names = [labels[d] for d in measured]
    pits = [pit_values(scored, d) for d in measured]
    curves = {name: coverage_curve(pit) for name, pit in zip(names, pits, strict=True)}
    horizons: Variants = {}
    for i, d in enumerate(measured):
        profiles = horizon_profile(scored, d), horizon_profile(linear, d)
        horizons[i,] = charts.horizon_figure(*profiles, labels[d])
    pit_figures: Variants = {(i,): charts.pit_figure(pit) for i, pit in enumerate(pits)}
    return [
        Chart("coverage", {(): charts.coverage_figure(curves)}, height=330),
        Chart("pit", pit_figures, (("output", names),), 330),
        Chart("horizon", horizons, (("output", names),), 380),
    ]


def _residual_charts(given: ReportInput, residuals: Residuals | None) -> list[Chart]:
    if residuals is None:
        return []
    data, lags = given.data, np.arange(-_FEEDBACK_LAGS, LAGS + 1)
    whites: Variants = {}
    crosses: Variants = {}
    for d in range(data.dim_y):
        errors = [each[:, d] for each in residuals.errors]
        values, limit = autocorrelation(errors, LAGS), white_limit(errors)
        whites[d,] = charts.correlation_figure(np.arange(1, LAGS + 1), values[1:], limit, "lag")
        for j in range(data.dim_u):
            inputs = [each[:, j] for each in residuals.inputs]
            both = cross_correlation(inputs, errors, lags), cross_limit(inputs, errors, LAGS)
            title = "steps by which the input is earlier"
            crosses[d, j] = charts.correlation_figure(lags, *both, title)
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
    ticks, path = _share(1000, len(states) * len(labels)), _share(3000, len(labels) ** 2)
    for (d, state), (j, axis) in product(enumerate(states), enumerate(labels)):
        along = learned.grids[j], learned.mean[d, j], learned.std[d, j], learned.visited[:, j]
        slices[d, j] = charts.slice_figure(*along, (state, axis), ticks)
    second = [*range(1, len(labels)), 0]  # the first choice of both fields shows two axes
    for i, (place, j) in product(range(len(labels)), enumerate(second)):
        both = learned.visited[:, [i, j]], learned.inducing[:, [i, j]]
        pairs[i, place] = charts.inducing_figure(*both, (labels[i], labels[j]), path)
    up = [labels[j] for j in second]
    return [
        Chart("slices", slices, (("change of", states), ("along", labels)), 340),
        Chart("inducing", pairs, (("across", labels), ("up", up)), 340),
    ]


def _share(points: int, figures: int) -> int:
    """Points of each of several figures, so that a page stays small whatever it shows."""
    return max(points // max(figures, 1), _FEWEST)


def stretch_names(stretches: tuple[Stretch, ...]) -> list[str]:
    """The names of the experiments, each of them once."""
    names = [each.experiment.name or "test" for each in stretches]
    twice = len(set(names)) < len(names)
    return [f"{i + 1}: {name}" for i, name in enumerate(names)] if twice else names
