"""The page of a run, section by section, from numbers that no training made."""

import os
import platform
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest

import gpssm
from gpssm.data.preflight import preflight
from gpssm.evaluation.scoring import ARX, MEAN
from gpssm.metrics.reliability import coverage_curve, horizon_profile, pit_values
from gpssm.metrics.residuals import cross_correlation, cross_limit
from gpssm.report import html, one_step, page, report_data, summary, untested
from gpssm.report.findings import select
from gpssm.report.report_charts import all_charts
from gpssm.report.traces import Chart
from gpssm.report.verdict import Evidence, Verdict, Whiteness, not_tested
from support_report import (
    make_data,
    make_evaluation,
    make_given,
    make_learned,
    make_residuals,
    make_run,
)

EVIDENCE = Evidence(0.5, 4.0, 1.0, {"level": 0.9, "flow": 0.5}, 500, innovations={
    "flow": Whiteness(0.5, 0.1),
})  # fmt: skip
LEARNED = make_learned()


@pytest.fixture(scope="module")
def run():
    return make_run()


@pytest.fixture(scope="module")
def given(run):
    other = make_evaluation(make_data().test, 0.75, training=0.7)
    return make_given(run, other_seeds={8: other}, configuration="dim_x = 3 <")


@pytest.fixture
def written(monkeypatch):
    """What a page is made of: its title, its body, its charts."""
    pages = []
    monkeypatch.setattr(html, "page", lambda *parts: pages.append(parts) or "the page")
    monkeypatch.setattr(report_data, "around_the_test", lambda _: LEARNED)
    step = Chart("step", {})
    monkeypatch.setattr(page, "response_section", lambda _: ("<p>response</p>", [step]))
    return pages


def score_tables(given):
    models = {"pr-ssm, seed 3": given.evaluation, "pr-ssm, seed 8": given.other_seeds[8]}
    return html.score_tables({**models, **given.baselines}, ("cm", ""))


LINKS = [("trust", "What to trust"), ("forecast", "Forecast"), ("calibration", "Calibration"),
         ("residuals", "Residuals"), ("response", "Response"), ("learned", "What was learned"),
         ("training", "Training"), ("details", "Details")]  # fmt: skip


def header_of(words, links, verdict, below=""):
    title = f"<h1>a &lt; b</h1><p class=muted>{words}</p>"
    return f"<header>{title}{html.links(links)}{html.verdict(verdict)}{below}</header>"


def test_the_page_has_its_sections_in_order_with_their_charts(given, written):
    residuals = make_residuals()
    assert page.report_page(given, EVIDENCE, residuals) == "the page"
    ((title, body, shown),) = written
    assert title == "a < b: gpssm report"
    charts = {each.key: each for each in all_charts(given, residuals, LEARNED)}
    assert [each.key for each in shown] == [*charts, "step"]
    assert [each.variants for each in shown[:-1]] == [each.variants for each in charts.values()]
    tiles = html.tiles([
        ("0.5", "RMSE of all outputs, normalised, of the forecast"),
        ("1", "RMSE of all outputs, normalised, of a linear ARX"),
        ("50 %", "covered by the 95 % band"), ("0.5", "log-likelihood per step"),
        ("36", "test steps, open loop"),
    ])  # fmt: skip
    words = (
        "pr-ssm on plant: pump, valve in, level, flow out, 3 states. Seed 3; trained on 40 rows."
    )
    assert body[0] == header_of(words, LINKS, given.verdict, tiles)
    found = [each for each in page._findings(given, EVIDENCE, residuals) if each is not None]
    note = "Each sentence follows from numbers on this page."
    trust = html.findings(select(found))
    assert body[1] == html.section("trust", "What to trust", trust, note=note)
    caption = "The model uses 2 measurements (shaded), then only the inputs. Drag to zoom, "
    caption += "double-click to go back, click the legend to hide."
    card = html.card(charts["forecast"], "Open loop over the test part", caption, True)
    assert body[2] == html.section("forecast", "Forecast", card, score_tables(given))
    caption = "On the dotted line the bands are calibrated; below it they are too narrow."
    cards = [html.card(charts["coverage"], "Coverage against level", caption)]
    caption = "Flat: calibrated. Valley: over-confident. Hill: under-confident. Slope: biased. "
    caption += "Dotted: 95 % limits for independent measurements."
    cards.append(html.card(charts["pit"], "PIT histogram", caption))
    caption = "Where the error is above the expected one, the band is too narrow."
    cards.append(html.card(charts["horizon"], "Error and band against the horizon", caption, True))
    heading = "Are the intervals calibrated?"
    assert body[3] == html.section("calibration", heading, html.grid(*cards))
    caption = "Of the errors. If they are white, 95 % of the bars are inside."
    cards = [html.card(charts["autocorrelation"], "Autocorrelation", caption)]
    caption = "Of an earlier input with the error. Bars at negative lags indicate feedback."
    cards.append(html.card(charts["crosscorrelation"], "Cross-correlation", caption))
    note = "Errors of a filter one step ahead. Bars outside the shaded limits mean that they are "
    note += "partly predictable, and so does a p below 0.01 (Ljung–Box test, 25 lags). "
    note += "The mean of their squares is 1.2 of what the filter expects."
    table = one_step.score_table(given, residuals)
    wanted = html.section(
        "residuals", "Are the errors predictable?", table, html.grid(*cards), note=note
    )
    assert body[4:6] == [wanted, "<p>response</p>"]
    assert body[6:] == page.model_sections(given, charts)


def test_the_sections_about_the_model(given):
    charts = {each.key: each for each in all_charts(given, None, LEARNED)}
    learned, training, details = page.model_sections(given, charts)
    caption = "Mean and 95 % band of the change per step; all other states and inputs are at their "
    cards = [html.card(charts["slices"], "f along one axis",
                       f"{caption}median. Ticks: states of the forecasts.")]  # fmt: skip
    caption = "The dynamics are learned near the inducing inputs; far from them they return to the "
    cards.append(html.card(charts["inducing"], "States and inducing inputs",
                           f"{caption}prior. Hidden states have no unit."))  # fmt: skip
    rows = [("level [cm]", "3", "12"), ("flow", "0.02", "0.05"), ("hidden state 1", "0.3", "–")]
    table = html.table(("state", "process noise per step (std)", "sensor noise (std)"), rows)
    assert learned == html.section("learned", "What was learned", html.grid(*cards), table)
    words = "Terms of the ELBO, per gradient step", "Moving averages.", True
    curves = html.folded("Training curves", html.card(charts["training"], *words))
    assert training == html.section("training", "Training", curves)
    remarks = [f"\n  remark     {each.text}" for each in preflight(given.data)]
    packages = [(name, version(name)) for name in ("jax", "equinox", "optax", "numpy")]
    facts = [("gpssm", gpssm.__version__), ("python", platform.python_version()), *packages]
    facts.append(("machine", f"{platform.machine()}, {os.cpu_count()} cores"))
    assert details == html.section(
        "details", "Details",
        html.folded("The data", html.listing(f"{given.data}{''.join(remarks)}")),
        html.folded("Configuration", html.listing("dim_x = 3 <")),
        html.table(("version of", ""), facts),
    )  # fmt: skip


def test_without_a_configuration_the_settings_are_listed(given):
    charts = {each.key: each for each in all_charts(given, None, LEARNED)}
    *_, details = page.model_sections(replace(given, configuration=""), charts)
    lines = details.split("<summary>Configuration</summary><pre>")[1].split("</pre>")[0]
    assert "model.dim_x = 3\n" in lines
    assert "training.steps = 1000\n" in f"{lines}\n"


def test_a_test_part_that_is_too_short_has_no_residuals(given, written):
    page.report_page(given, EVIDENCE, None)
    ((_, body, shown),) = written
    note = "The test part is too short for this check."
    assert body[4] == html.section("residuals", "Are the errors predictable?", note=note)
    assert "autocorrelation" not in {each.key for each in shown}


def test_one_output_has_its_unit_and_no_input_no_response(run, written):
    data = make_data()
    alone = replace(
        data, input_names=(), input_units=(), output_names=("level",), output_units=("cm",),
        experiments=tuple(replace(e, u=np.zeros((len(e), 0)), y=e.y[:, :1]) for e in data),
    )  # fmt: skip
    given = make_given(run, alone)
    top = page._head(given)
    assert "<b>0.25 cm</b><span>RMSE of the forecast</span>" in top
    assert "<b>0.5 cm</b><span>RMSE of a linear ARX</span>" in top
    assert "pr-ssm on plant: no inputs in, level out, 3 states." in top
    assert html.links([each for each in LINKS if each[0] != "response"]) in top
    assert page.unit_of_errors(data) == ""
    assert page.unit_of_errors(replace(alone, output_units=("",))) == ""


def test_every_finding_is_about_its_own_numbers(given):
    residuals, scored = make_residuals(), given.evaluation.open_loop
    names, inputs = ("level", "flow"), ("pump", "valve")
    pits = [pit_values(scored, d) for d in range(2)]
    profiles = [horizon_profile(scored, d) for d in range(2)]
    half = float(coverage_curve(np.concatenate(pits), np.array([0.5]))[0])
    seeds = {3: given.evaluation, 8: given.other_seeds[8]}
    wanted = [
        summary.accuracy(EVIDENCE),
        summary.calibration(0.5, profiles[1], "flow"),  # the output that is furthest off
        summary.middle(half, 500),
        summary.own_rows(3, seeds, given.baselines, "", 500),
    ]
    for d in range(2):
        wanted += [summary.bias(pits[d], names[d]), summary.horizon(profiles[d], names[d])]
    for d in range(2):
        errors = [each[:, d] for each in residuals.errors]
        if d == 1:
            wanted.append(summary.innovations(Whiteness(0.5, 0.1), 80, "flow"))
        for j in range(2):
            u = [each[:, j] for each in residuals.inputs]
            values = np.abs(cross_correlation(u, errors, np.arange(1, 26)))
            outside = int(np.sum(values > cross_limit(u, errors, 25)))
            wanted.append(summary.unexplained_input(outside, 25, names[d], inputs[j]))
    wanted += [summary.seeds([0.5, 1.5]), *summary.extrapolation(given.data)]
    wanted += summary.training(given.run.history.table)
    assert page._findings(given, EVIDENCE, residuals) == wanted
    without = page._findings(given, EVIDENCE, None)
    assert len(without) == len(wanted) - 5


def test_errors_are_counted_and_correlated_in_either_direction(given):
    """Errors that repeat an input, with the other sign, ten steps later."""
    u = np.random.default_rng(7).standard_normal((300, 1))
    errors = np.zeros((300, 2))
    errors[10:] = -u[:-10]
    errors[:30, 1] = np.nan
    residuals = report_data.Residuals([errors], [np.hstack([u, 0 * u])])
    white = {"flow": Whiteness(0.5, 0.1), "level": Whiteness(0.5, 0.1)}
    level, *_, flow, _, _ = page._residual_findings(given, residuals, white)
    assert (level, flow) == tuple(
        summary.innovations(white["flow"], n, name) for n, name in ((300, "level"), (270, "flow"))
    )
    values = cross_correlation([u[:, 0]], [errors[:, 0]], np.arange(1, 26))
    assert values[9] < -0.9


def test_an_output_that_was_not_measured_is_named_by_the_findings(given):
    test = given.data.test
    blind = replace(test, experiments=tuple(
        replace(each, y=each.y * np.array([np.nan, 1.0])) for each in test
    ))  # fmt: skip
    evidence = EVIDENCE._replace(coverage={"flow": 0.9})
    about = replace(given, evaluation=make_evaluation(blind, 0.25, training=0.2))
    first, second, *_ = page._findings(about, evidence, None)
    assert first == summary.accuracy(evidence, ["level"])
    assert "of flow covers 90 %" in second.text


# ---------------------------------------------------------------------- without a test part


def test_the_page_of_a_run_without_a_test_part(run, written, monkeypatch):
    monkeypatch.setattr(untested.report_data, "around_the_test", lambda _: LEARNED)
    data = replace(make_data(), experiments=tuple(make_data().train))
    other = make_evaluation(data, 0.75, training=0.1)
    given = make_given(run, data, verdict=not_tested(), other_seeds={8: other})
    assert untested.untested_page(given) == "the page"
    ((title, body, shown),) = written
    assert title == "a < b: gpssm report"
    assert [each.key for each in shown] == ["forecast", "training", "slices", "inducing"]
    charts = {each.key: each for each in shown}
    links = [("trust", "What to trust"), ("forecast", "Training rows"),
             ("learned", "What was learned"), ("training", "Training"),
             ("details", "Details")]  # fmt: skip
    words = "pr-ssm on plant: pump, valve in, level, flow out, 3 states. Seed 3; trained on all 40 "
    assert body[0] == header_of(f"{words}rows.", links, Verdict(*not_tested()))
    own = {3: 0.4, 8: 0.2}  # of two outputs, pooled
    failed = summary.unlearned(3, own, given.baselines, "")
    assert failed.kind == "failed"
    trust = html.findings(select([*summary.training(run.history.table), failed]))
    assert body[1] == html.section("trust", "What to trust", trust)
    caption = "The model uses 2 measurements (shaded), then only the inputs. It has been trained "
    caption += "on these rows: errors on other data are larger."
    card = html.card(charts["forecast"], "Open loop over the newest training rows", caption, True)
    assert body[2] == html.section(
        "forecast", "Simulation of training rows", card, score_tables(given)
    )
    assert body[3:] == page.model_sections(given, charts)
    fine = untested._findings(replace(given, other_seeds={}))
    assert fine == summary.training(run.history.table)
    assert {MEAN, ARX} == set(given.baselines)


# ---------------------------------------------------------------------- data of a report


def test_stretches_are_the_same_if_measurements_and_warm_up_are(given):
    one = given.evaluation.stretches
    test = given.data.test
    gap = replace(
        test, experiments=tuple(replace(e, y=np.where(e.y > 2, np.nan, e.y)) for e in test)
    )
    same = report_data.same_stretches
    assert same(one, make_evaluation(test, 0.5).stretches)
    assert same(make_evaluation(gap, 0.5).stretches, make_evaluation(gap, 0.7).stretches)
    assert not same(one, make_evaluation(gap, 0.5).stretches)
    assert not same(one, make_evaluation(test, 0.5, warmup=3).stretches)
    assert not same(one, one[:1])
    assert not same(one, one[::-1])
