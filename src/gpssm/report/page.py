"""The report of one run: forecasts, calibration, residuals, learned functions, training."""

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import jax
import numpy as np

from gpssm.base.text import percent
from gpssm.base.version import __version__
from gpssm.data import Dataset
from gpssm.evaluation.scoring import ARX, Evaluation
from gpssm.gp.kernels import Stationary
from gpssm.metrics.reliability import coverage_curve, horizon_profile, pit_values
from gpssm.metrics.residuals import cross_correlation, cross_limit

from . import html, one_step, report_data, summary
from .findings import Finding, select
from .learned import make_axes, noise_levels
from .report_charts import all_charts
from .report_data import LAGS, ReportInput, Residuals
from .response import response_section
from .traces import Chart
from .verdict import Evidence, Whiteness


def report_page(given: ReportInput, evidence: Evidence, residuals: Residuals | None) -> str:
    """The whole page as one text; the `evidence` is that of the verdict."""
    shown = all_charts(given, residuals, report_data.around_the_test(given))
    response, response_charts = response_section(given)
    sections = _sections(given, residuals, {c.key: c for c in shown}, response)
    body = [_head(given), _trust(given, evidence, residuals), *sections]
    return html.page(f"{given.title}: gpssm report", body, [*shown, *response_charts])


# ---------------------------------------------------------------------- the top of the page


def _head(given: ReportInput) -> str:
    data, scores = given.data, given.evaluation.scores
    unit = unit_of_errors(data)
    what = "RMSE" if data.dim_y == 1 else "RMSE of all outputs, normalised,"
    steps = sum(len(each.y) for each in given.evaluation.open_loop)
    linear = given.baselines[ARX].scores
    numbers = [
        (f"{scores.overall('rmse'):.3g}{unit}", f"{what} of the forecast"),
        (f"{linear.overall('rmse'):.3g}{unit}", f"{what} of a linear ARX"),
        (percent(scores.overall("coverage")), "covered by the 95 % band"),
        (f"{scores.overall('log_likelihood'):.3g}", "log-likelihood per step"),
        (f"{steps}", "test steps, open loop"),
    ]
    response = [("response", "Response")] if data.dim_u else []
    pages = [
        ("trust", "What to trust"), ("forecast", "Forecast"), ("calibration", "Calibration"),
        ("residuals", "Residuals"), *response, ("learned", "What was learned"),
        ("training", "Training"), ("details", "Details"),
    ]  # fmt: skip
    return header(given, f"{data.train.num_rows} rows", pages, html.tiles(numbers))


def header(
    given: ReportInput, trained_on: str, pages: Sequence[tuple[str, str]], below: str = ""
) -> str:
    """Title, what was fitted to what, the links to the sections, the verdict."""
    run, data = given.run, given.data
    words = (
        f"{run.model.name} on {data.name}: {', '.join(data.input_names) or 'no inputs'} in, "
        f"{', '.join(data.output_names)} out, {run.system.model.dim_x} states. "
        f"Seed {run.seed}; trained on {trained_on}."
    )
    title = f"<h1>{html.escape(given.title)}</h1><p class=muted>{html.escape(words)}</p>"
    top = html.verdict(given.verdict) + below
    return f"<header>{title}{html.links(pages)}{top}</header>"


def _trust(given: ReportInput, evidence: Evidence, residuals: Residuals | None) -> str:
    found = [f for f in _findings(given, evidence, residuals) if f is not None]
    note = "Each sentence follows from numbers on this page."
    return html.section("trust", "What to trust", html.findings(select(found)), note=note)


def _findings(
    given: ReportInput, evidence: Evidence, residuals: Residuals | None
) -> list[Finding | None]:
    evaluation, names, data = given.evaluation, given.data.output_names, given.data
    scored = evaluation.open_loop
    profiles = {d: horizon_profile(scored, d) for d in evaluation.measured}
    seeds = {given.run.seed: evaluation, **given.other_seeds}
    # the output that the verdict speaks of
    worst = evaluation.scores.output_names.index(evidence.worst_covered)
    covered = evidence.coverage[evidence.worst_covered]
    unmeasured = [name for d, name in enumerate(names) if d not in profiles]
    found: list[Finding | None] = [
        summary.accuracy(evidence, unmeasured),
        summary.calibration(covered, profiles[worst], names[worst]),
        summary.middle(_middle_coverage(evaluation), evidence.measured),
        summary.own_rows(
            given.run.seed, seeds, given.baselines, unit_of_errors(data), evidence.measured
        ),
    ]
    for d, profile in profiles.items():
        found.append(summary.bias(pit_values(scored, d), names[d]))
        found.append(summary.horizon(profile, names[d]))
    if residuals is not None:
        found += _residual_findings(given, residuals, evidence.innovations)
    found += [
        summary.seeds([each.scores.overall("rmse") for each in seeds.values()]),
        *summary.extrapolation(data),
    ]
    return [*found, *summary.training(given.run.history.table)]


def _middle_coverage(evaluation: Evaluation) -> float:
    """Share of the measurements of all outputs inside the 50 % band."""
    pits = [pit_values(evaluation.open_loop, d) for d in evaluation.measured]
    return float(coverage_curve(np.concatenate(pits), np.array([0.5]))[0])


def _residual_findings(
    given: ReportInput, residuals: Residuals, innovations: Mapping[str, Whiteness]
) -> list[Finding | None]:
    found: list[Finding | None] = []
    for d, name in enumerate(given.data.output_names):
        errors = [each[:, d] for each in residuals.errors]
        if name in innovations:
            known = sum(int(np.sum(~np.isnan(each))) for each in errors)
            found.append(summary.innovations(innovations[name], known, name))
        for j, label in enumerate(given.data.input_names):
            inputs = [each[:, j] for each in residuals.inputs]
            values = cross_correlation(inputs, errors, np.arange(1, LAGS + 1))
            outside = int(np.sum(np.abs(values) > cross_limit(inputs, errors, LAGS)))
            found.append(summary.unexplained_input(outside, LAGS, name, label))
    return found


def _sections(
    given: ReportInput, residuals: Residuals | None, shown: Mapping[str, Chart], response: str
) -> list[str]:
    """Everything below the summary."""
    warmup = given.evaluation.stretches[0].scored.forecast.warmup
    calibrated = [
        html.card(shown["coverage"], "Coverage against level",
                  "On the dotted line the bands are calibrated; below it they are too narrow."),
        html.card(shown["pit"], "PIT histogram",
                  "Flat: calibrated. Valley: over-confident. Hill: under-confident. Slope: biased. "
                  "Dotted: 95 % limits for independent measurements."),
        html.card(shown["horizon"], "Error and band against the horizon",
                  "Where the error is above the expected one, the band is too narrow.", True),
    ]  # fmt: skip
    return [
        html.section(
            "forecast", "Forecast",
            html.card(shown["forecast"], "Open loop over the test part",
                      f"The model uses {warmup} measurements (shaded), then only the inputs. Drag "
                      "to zoom, double-click to go back, click the legend to hide.", True),
            score_tables(given),
        ),
        html.section("calibration", "Are the intervals calibrated?", html.grid(*calibrated)),
        _residual_section(given, residuals, shown),
        response,
        *model_sections(given, shown),
    ]  # fmt: skip


def model_sections(given: ReportInput, shown: Mapping[str, Chart]) -> list[str]:
    """The sections that need no test part."""
    return [
        _learned_section(given, shown),
        html.section(
            "training", "Training",
            html.folded("Training curves",
                        html.card(shown["training"], "Terms of the ELBO, per gradient step",
                                  "Moving averages.", True)),
        ),
        _details(given),
    ]  # fmt: skip


# ---------------------------------------------------------------------- sections and tables


def _residual_section(
    given: ReportInput, residuals: Residuals | None, shown: Mapping[str, Chart]
) -> str:
    title = "Are the errors predictable?"
    if residuals is None:
        return html.section("residuals", title, note="The test part is too short for this check.")
    words = "Errors of a filter one step ahead. Bars outside the shaded limits mean that they are "
    words += f"partly predictable, and so does a p below 0.01 (Ljung–Box test, {LAGS} lags). "
    words += f"The mean of their squares is {residuals.nis:.2g} of what the filter expects."
    caption = "Of the errors. If they are white, 95 % of the bars are inside."
    cards = [html.card(shown["autocorrelation"], "Autocorrelation", caption)]
    if "crosscorrelation" in shown:
        caption = "Of an earlier input with the error. Bars at negative lags indicate feedback."
        cards.append(html.card(shown["crosscorrelation"], "Cross-correlation", caption))
    scores = one_step.score_table(given, residuals)
    return html.section("residuals", title, scores, html.grid(*cards), note=words)


def _learned_section(given: ReportInput, shown: Mapping[str, Chart]) -> str:
    cards = [
        html.card(shown["slices"], "f along one axis",
                  "Mean and 95 % band of the change per step; all other states and inputs are at "
                  "their median. Ticks: states of the forecasts."),
        html.card(shown["inducing"], "States and inducing inputs",
                  "The dynamics are learned near the inducing inputs; far from them they return to "
                  "the prior. Hidden states have no unit."),
    ]  # fmt: skip
    levels = noise_levels(given.run, given.data)
    rows = [(n, _number(p), "–" if np.isnan(s) else _number(s)) for n, p, s in levels]
    header = "state", "process noise per step (std)", "sensor noise (std)"
    return html.section(
        "learned", "What was learned", html.grid(*cards), html.table(header, rows),
        _lengthscale_table(given),
    )  # fmt: skip


def _lengthscale_table(given: ReportInput) -> str:
    """Table of the length scales of f; empty for kernels that have none."""
    kernel = given.run.system.model.transition.gp.kernel
    if not isinstance(kernel, Stationary):
        return ""
    axes = make_axes(given.run, given.data)
    with jax.enable_x64(True):
        lengths = np.asarray(kernel.lengthscales)
    rows = [
        (axis.label, ", ".join(_number(axis.std * length) for length in column))
        for axis, column in zip(axes, lengths.T, strict=True)
    ]
    return html.table(("axis", "lengthscale of f"), rows)


def score_tables(given: ReportInput) -> str:
    """All seeds and the baselines, side by side."""
    name = given.run.model.name
    models = {f"{name}, seed {given.run.seed}": given.evaluation}
    models |= {f"{name}, seed {seed}": each for seed, each in given.other_seeds.items()}
    return html.score_tables({**models, **given.baselines}, given.data.output_units)


def _details(given: ReportInput) -> str:
    packages = {name: version(name) for name in ("jax", "equinox", "optax", "numpy")}
    facts = {"gpssm": __version__, "python": platform.python_version(), **packages}
    pairs = report_data.run_settings(given.run).items()
    settings = "\n".join(f"{name} = {value}" for name, value in pairs)
    facts["machine"] = f"{platform.machine()}, {os.cpu_count()} cores"
    return html.section(
        "details", "Details",
        html.folded("The data", html.listing(report_data.described(given.data))),
        html.folded("Configuration", html.listing(given.configuration or settings)),
        html.table(("version of", ""), list(facts.items())),
    )  # fmt: skip


def unit_of_errors(data: Dataset) -> str:
    """The unit of a single output, after a blank; several outputs are pooled without one."""
    unit = data.output_units[0] if data.dim_y == 1 else ""
    return f" {unit}" if unit else ""


def _number(value: float) -> str:
    return f"{value:.3g}"
