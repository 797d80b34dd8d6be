"""The page of several runs: what they share, what differs, and whose numbers stand where."""

from dataclasses import replace

import numpy as np
import pytest

from gpssm.evaluation.scoring import ARX, MEAN
from gpssm.metrics import Scored
from gpssm.metrics.reliability import coverage_curve, horizon_profile, pit_values
from gpssm.report import compare, html
from gpssm.report.charts import centres, coverage_figure
from gpssm.report.compare import Compared, comparison_page
from gpssm.report.traces import axis, band, line
from support_report import make_data, make_evaluation, make_run

LABELS = ["level [cm]", "flow"]


@pytest.fixture(scope="module")
def runs():
    return make_run(seed=3), make_run(seed=4, inducing_points=7)


@pytest.fixture(scope="module")
def pair(runs):
    data = make_data()
    errors = zip(("one", "two <"), runs, (0.25, 0.75), strict=True)
    return [Compared(name, run, data, make_evaluation(data.test, e)) for name, run, e in errors]


@pytest.fixture(scope="module")
def baselines():
    test = make_data().test
    return {"one": make_evaluation(test, 0.9), ARX: make_evaluation(test, 1.5)}


@pytest.fixture
def written(monkeypatch):
    """What a page is made of: its title, its body, its charts."""
    pages = []
    monkeypatch.setattr(html, "page", lambda *parts: pages.append(parts) or "the page")
    return pages


def parts(written):
    ((title, body, shown),) = written
    assert title == "gpssm comparison"
    return body, {each.key: each for each in shown}


def test_runs_on_the_same_rows_share_their_charts_with_the_baselines(pair, baselines, written):
    assert comparison_page(pair, baselines) == "the page"
    body, charts = parts(written)
    assert list(charts) == ["coverage", "forecast", "horizon"]
    words = "<h1>Comparison</h1><p class=muted>one, two &lt;</p>"
    assert body[0] == f"<header>{words}</header>"
    models = {each.name: each.evaluation for each in pair}
    models |= {"baseline: one": baselines["one"], ARX: baselines[ARX]}
    about = [("method", "pr-ssm", "pr-ssm"), ("states", "3", "3"), ("seed", "3", "4")]
    scores = html.score_tables(models, ("cm", "")) + html.table(("", "one", "two <"), about)
    note = "All runs forecast the same test data."
    assert body[1] == html.section("scores", "Scores", scores, note=note)
    caption = "Means, those of the baselines dashed, and the 95 % band of the first run."
    card = html.card(charts["forecast"], "Open loop", caption, True)
    assert body[2] == html.section("forecast", "Forecasts", card)
    words = "Coverage against level", "Below the dotted line: too narrow."
    cards = [html.card(charts["coverage"], *words)]
    words = "Error against the horizon", "RMSE after the warm-up."
    cards.append(html.card(charts["horizon"], *words))
    wanted = html.section("calibration", "Calibration and horizon", html.grid(*cards))
    assert body[3] == wanted
    rows = [("model.inducing_points", "20", "7"), ("seed", "3", "4")]
    table = html.table(("setting", "one", "two <"), rows)
    assert body[4:] == [html.section("settings", "Different settings", table)]


def test_the_forecasts_and_errors_of_all_models_are_lines(pair, baselines, written):
    comparison_page(pair, baselines)
    _, charts = parts(written)
    forecast, horizon, coverage = (charts[key] for key in ("forecast", "horizon", "coverage"))
    models = [*(each.evaluation for each in pair), *baselines.values()]
    names = ["one", "two <", "baseline: one", ARX]
    colors = ["@blue", "@orange", "@green", "@purple"]
    style = list(zip(names, models, colors, ["solid", "solid", "dash", "dash"], strict=True))
    for i, experiment in enumerate(pair[0].data.test):
        for d in range(2):
            x, first = 0.5 * np.arange(20), models[0].stretches[i].scored.forecast
            low, high = (bound[:, d] for bound in first.interval(0.95))
            lines = band(x, low, high, "95 % of one", "@band95")
            for name, model, color, dash in style:
                mean = model.stretches[i].scored.forecast.mean[:, d]
                lines.append(line(x, mean, name, color, dash=dash))
            lines.append(line(x, experiment.y[:, d], "measured", "@ink", width=1.0))
            layout = {"xaxis": axis("time [s]"), "yaxis": axis(LABELS[d])}
            wanted = {"data": lines, "layout": {**layout, "hovermode": "x unified"}}
            assert forecast.variants[d, i] == wanted
    assert len(forecast.variants) == 4
    assert forecast.choices == (("output", LABELS), ("experiment", ["mon", "tue"]))
    for d in range(2):
        lines = []
        for name, model, color, dash in style:
            profile = horizon_profile(model.open_loop, d)
            lines.append(line(centres(profile), [b.rmse for b in profile], name, color, dash=dash))
        title = axis(f"RMSE of {LABELS[d]}", rangemode="tozero")
        layout = {"xaxis": axis("steps after the warm-up"), "yaxis": title}
        assert horizon.variants[d,] == {"data": lines, "layout": layout}
    assert horizon.choices == (("output", LABELS),)
    curves = {}
    for each in pair:
        pits = [pit_values(each.evaluation.open_loop, d) for d in range(2)]
        curves[each.name] = coverage_curve(np.concatenate(pits))
    assert coverage.variants == {(): coverage_figure(curves)}
    assert (forecast.height, horizon.height, coverage.height) == (430, 340, 340)


def test_runs_on_other_rows_are_not_compared_line_by_line(pair, baselines, written):
    other = make_data(41, 20)
    apart = replace(pair[1], name="one", data=other, evaluation=make_evaluation(other.test, 0.75))
    untested = replace(apart, evaluation=replace(apart.evaluation, tested=False))
    comparison_page([pair[0], untested], baselines)
    body, charts = parts(written)
    assert list(charts) == ["coverage"]
    names = ("1: one", "2: one")
    note = "The runs were tested on different data: their scores cannot be compared directly. "
    note += "A run that is not tested has the scores of rows that it was trained on."
    models = dict(zip(names, (pair[0].evaluation, untested.evaluation), strict=True))
    about = [("method", "pr-ssm", "pr-ssm"), ("states", "3", "3"), ("seed", "3", "4")]
    scores = html.score_tables(models, ("cm", ""), False) + html.table(("", *names), about)
    assert body[1] == html.section("scores", "Scores", scores, note=note)
    words = "Coverage against level", "Below the dotted line: too narrow."
    card = html.grid(html.card(charts["coverage"], *words))
    assert body[2] == html.section("calibration", "Calibration and horizon", card)
    assert len(body) == 4


def test_a_run_beside_itself_differs_in_nothing(pair, written):
    twins = [pair[0], replace(pair[0], name="two")]
    comparison_page(twins)
    body, charts = parts(written)
    nothing = html.section("settings", "Different settings", "<p>Nothing.</p>")
    assert body[-1] == nothing
    assert [each["name"] for each in charts["horizon"].variants[0,]["data"]] == ["one", "two"]


def test_a_forecast_that_diverges_waits_in_the_legend_and_long_ones_are_thinned(pair):
    def off(error, rows=2001):
        forecast = replace(
            pair[0].evaluation.stretches[0].scored.forecast,
            particles=np.full((1, rows, 1), error), noise_std=np.ones(1),
        )  # fmt: skip
        return Scored(forecast, np.zeros((rows, 1)))

    found = compare._forecast_traces({"near": off(0.0), "far": off(99.0)}, 1, 2.0, 0)
    assert ["visible" in each for each in found] == [False, False, False, True, False]
    assert found[3]["visible"] == "legendonly"
    assert {len(each["x"]) for each in found} == {1001}
    assert {len(each["y"]) for each in found} == {1001}
    assert found[2]["x"][:2] == [0.0, 4.0]
    assert [each["line"]["dash"] for each in found[2:4]] == ["solid", "dash"]
    assert MEAN not in {each["name"] for each in found[1:]}
