"""The report of one run: what was forecast, whether to believe it, and how it came about."""

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import jax
import numpy as np

from gpssm import __version__
from gpssm.data import Dataset
from gpssm.gp.kernels import Stationary
from gpssm.prediction.calibration import (
    HorizonBin,
    horizon_profile,
    pit_values,
)
from gpssm.prediction.residuals import (
    autocorrelation,
    cross_correlation,
    cross_limit,
    white_limit,
)
from gpssm.run import Run

from . import html, summary
from .charts import Chart
from .evaluation import ARX, pooled_coverage
from .learned import make_axes, noise_levels
from .material import LAGS, ReportInput, Residuals, around_the_test, one_step_errors, with_units
from .shown import all_charts
from .summary import Finding, percent
from .tables import optional


def report_page(given: ReportInput) -> str:
    """The whole page as one text."""
    residuals = one_step_errors(given)
    shown = all_charts(given, residuals, around_the_test(given))
    body = [_head(given), _trust(given, residuals), *_sections(given, {c.key: c for c in shown})]
    return html.page(f"{given.title}: gpssm report", body, shown)


# ---------------------------------------------------------------------- the top of the page


def _head(given: ReportInput) -> str:
    run, data, scores = given.run, given.data, given.evaluation.scores
    unit = _unit(data)
    steps = sum(len(each.y) for each in given.evaluation.open_loop)
    linear = given.baselines[ARX].scores.rmse
    words = (
        f"{run.model.name} on {data.name}: {', '.join(data.input_names) or 'no inputs'} in, "
        f"{', '.join(data.output_names)} out, {run.system.model.dim_x} states. "
        f"Seed {run.seed}; trained on {data.train.num_rows} rows."
    )
    numbers = [
        (f"{scores.rmse:.3g}{unit}", "RMSE of the forecast"),
        (f"{linear:.3g}{unit}", "RMSE of a linear ARX"),
        (percent(scores.coverage), "covered by the 95 % band"),
        (f"{scores.log_likelihood:.3g}", "log-likelihood per step"),
        (f"{steps}", "test steps, open loop"),
    ]
    pages = [
        ("trust", "What to trust"), ("forecast", "Forecast"), ("calibration", "Calibration"),
        ("residuals", "Residuals"), ("learned", "What was learned"), ("training", "Training"),
        ("details", "Details"),
    ]  # fmt: skip
    title = f"<h1>{html.escape(given.title)}</h1><p class=muted>{html.escape(words)}</p>"
    return f"<header>{title}{html.links(pages)}{html.tiles(numbers)}</header>"


def _trust(given: ReportInput, residuals: Residuals | None) -> str:
    found = [f for f in _findings(given, residuals) if f is not None]
    note = "Sentences below come from the numbers of this page."
    return html.section("trust", "What to trust", html.findings(found), note=note)


def _findings(given: ReportInput, residuals: Residuals | None) -> list[Finding | None]:
    evaluation, names = given.evaluation, given.data.output_names
    scored = evaluation.open_loop
    profiles = {d: horizon_profile(scored, d) for d in evaluation.measured}
    seeds = {given.run.seed: evaluation, **given.other_seeds}
    found: list[Finding | None] = [
        summary.accuracy(evaluation, given.baselines, _unit(given.data)),
        summary.calibration(evaluation.scores.coverage, min(profiles.values(), key=_covered)),
        summary.middle(pooled_coverage(scored, 0.5)),
        summary.own_rows(given.run.seed, seeds, given.baselines, _unit(given.data)),
    ]
    for d, profile in profiles.items():
        found.append(summary.bias(pit_values(scored, d), names[d]))
        found.append(summary.horizon(profile, names[d]))
    found += [summary.unmeasured(name) for d, name in enumerate(names) if d not in profiles]
    if residuals is not None:
        found += _residual_findings(given, residuals)
    found += [
        summary.seeds([each.scores.rmse for each in seeds.values()]),
        *summary.extrapolation(given.data),
    ]
    return [*found, *summary.training(given.run.history.table)]


def _covered(profile: Sequence[HorizonBin]) -> float:
    """Share of the measurements of one output inside the 95 % band."""
    known = [each.known for each in profile]
    return float(np.average([each.coverage for each in profile], weights=known))


def _residual_findings(given: ReportInput, residuals: Residuals) -> list[Finding | None]:
    found: list[Finding | None] = []
    for d, name in enumerate(given.data.output_names):
        errors = [each[:, d] for each in residuals.errors]
        values, limit = autocorrelation(errors, LAGS)[1:], white_limit(errors)
        found.append(summary.whiteness(int(np.sum(np.abs(values) > limit)), LAGS, name))
        for j, label in enumerate(given.data.input_names):
            inputs = [each[:, j] for each in residuals.inputs]
            values = cross_correlation(inputs, errors, np.arange(1, LAGS + 1))
            outside = int(np.sum(np.abs(values) > cross_limit(inputs, errors, LAGS)))
            found.append(summary.unexplained_input(outside, LAGS, name, label))
    return found


def _sections(given: ReportInput, shown: Mapping[str, Chart]) -> list[str]:
    """Everything below the summary."""
    dim_y = given.data.dim_y
    warmup = given.evaluation.stretches[0].scored.forecast.warmup
    calibrated = [
        html.card(shown["coverage"], "Coverage against level",
                  "On the dotted line a band holds what it promises; below it is too narrow."),
        html.card(shown["pit"], "PIT histogram",
                  "Flat is calibrated; a valley is over-confident, a hill too cautious, a slope "
                  "biased. Dotted: 95 % limits of independent measurements."),
        html.card(shown["horizon"], "Error and band against the horizon",
                  "Where the error is above what the band promises, do not trust the band.", True),
    ]  # fmt: skip
    return [
        html.section(
            "forecast", "Forecast",
            html.card(shown["forecast"], "Open loop over the test part",
                      f"The model sees {warmup} measurements (shaded), then the inputs alone. Drag "
                      "to zoom, double-click to go back, click the legend to hide.", True),
            _score_table(given), _output_table(given) if dim_y > 1 else "",
        ),
        html.section("calibration", "Can the error bars be believed?", html.grid(*calibrated)),
        _residual_section(shown),
        _learned_section(given, shown),
        html.section(
            "training", "Training",
            html.card(shown["training"], "Terms of the ELBO, per gradient step",
                      "Running means.", True),
        ),
        _details(given),
    ]  # fmt: skip


# ---------------------------------------------------------------------- sections and tables


def _residual_section(shown: Mapping[str, Chart]) -> str:
    title = "What is left in the errors?"
    if "autocorrelation" not in shown:
        return html.section("residuals", title, note="The test part is too short to tell.")
    words = "Errors of forecasts one step ahead. Bars outside the shaded limits say that something "
    words += "predictable is left."
    cards = [
        html.card(shown["autocorrelation"], "Autocorrelation",
                  "Of the errors. 95 % of the bars of white errors are inside."),
    ]  # fmt: skip
    if "crosscorrelation" in shown:
        caption = "Of an earlier input with the error. Bars at negative lags come from feedback."
        cards.append(html.card(shown["crosscorrelation"], "Cross-correlation", caption))
    return html.section("residuals", title, html.grid(*cards), note=words)


def _learned_section(given: ReportInput, shown: Mapping[str, Chart]) -> str:
    cards = [
        html.card(shown["slices"], "f along one axis",
                  "Mean and 95 % band of the change per step; all other states and inputs stay at "
                  "their median. Ticks: where the states have been."),
        html.card(shown["inducing"], "States and inducing inputs",
                  "Dynamics are known near the inducing inputs, and fall back to the prior far "
                  "from them. Hidden states have no unit."),
    ]  # fmt: skip
    levels = noise_levels(given.run, given.data.output_units)
    rows = [(n, _number(p), "–" if np.isnan(s) else _number(s)) for n, p, s in levels]
    header = "state", "process noise per step (std)", "sensor noise (std)"
    return html.section(
        "learned", "What was learned", html.grid(*cards), html.table(header, rows),
        _lengthscale_table(given),
    )  # fmt: skip


def _lengthscale_table(given: ReportInput) -> str:
    """How far one can go along an axis before f changes; kernels that know no such length: none."""
    kernel = given.run.system.model.transition.gp.kernel
    if not isinstance(kernel, Stationary):
        return ""
    axes = make_axes(given.run, given.data.input_units, given.data.output_units)
    with jax.enable_x64(True):
        lengths = np.asarray(kernel.lengthscales)
    rows = [
        (axis.label, ", ".join(_number(axis.std * length) for length in column))
        for axis, column in zip(axes, lengths.T, strict=True)
    ]
    return html.table(("axis", "lengthscale of f"), rows)


def _score_table(given: ReportInput) -> str:
    name = given.run.model.name
    rows = {f"{name}, seed {given.run.seed} (this page)": given.evaluation}
    rows |= {f"{name}, seed {seed}": each for seed, each in given.other_seeds.items()}
    rows |= given.baselines
    rmse = f"RMSE{_unit(given.data)}"
    header = "model", rmse, "in training", "log-likelihood per step", "95 % band covers"
    cells = [
        (
            name,
            f"{e.scores.rmse:.4g}",
            optional(e.scores.training_rmse),
            f"{e.scores.log_likelihood:.3f}",
            percent(e.scores.coverage, 1),
        )
        for name, e in rows.items()
    ]
    return html.table(header, cells, chosen=[0])


def _output_table(given: ReportInput) -> str:
    labels = with_units(given.data.output_names, given.data.output_units)
    models = {given.run.model.name: given.evaluation, **given.baselines}
    rows = [
        (label, *(optional(each.output_rmse[d]) for each in models.values()))
        for d, label in enumerate(labels)
    ]
    return html.table(("RMSE of", *models), rows)


def _details(given: ReportInput) -> str:
    packages = {name: version(name) for name in ("jax", "equinox", "optax", "numpy", "plotly")}
    facts = {"gpssm": __version__, "python": platform.python_version(), **packages}
    facts["machine"] = f"{platform.machine()}, {os.cpu_count()} cores"
    return html.section(
        "details", "Details",
        html.folded("The data", str(given.data)),
        html.folded("Configuration", given.configuration or _settings(given.run)),
        html.table(("version of", ""), list(facts.items())),
    )  # fmt: skip


def _settings(run: Run) -> str:
    parts = {"model": run.model.to_json(), "training": run.training.to_json()}
    lines = [
        f"{name}.{key} = {value}" for name, part in parts.items() for key, value in part.items()
    ]
    return "\n".join(lines)


def _unit(data: Dataset) -> str:
    """The unit of all outputs, after a blank; nothing where they differ."""
    units = set(data.output_units)
    unit = units.pop() if len(units) == 1 else ""
    return f" {unit}" if unit else ""


def _number(value: float) -> str:
    return f"{value:.3g}"
