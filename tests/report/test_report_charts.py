"""The charts of a report: which figures they have, from which numbers, and their choices."""

from dataclasses import replace

import numpy as np
import pytest

from gpssm import Forecast
from gpssm.evaluation.scoring import ARX, Stretch
from gpssm.metrics import Scored
from gpssm.metrics.reliability import coverage_curve, horizon_profile, pit_values
from gpssm.metrics.residuals import autocorrelation, cross_correlation, cross_limit, white_limit
from gpssm.report import charts, report_charts
from gpssm.report.report_charts import all_charts, stretch_names
from support_report import (
    make_data,
    make_evaluation,
    make_given,
    make_learned,
    make_residuals,
    make_run,
)

LABELS = ["level [cm]", "flow"]


@pytest.fixture(scope="module")
def run():
    return make_run()


@pytest.fixture(scope="module")
def given(run):
    return make_given(run)


def by_key(given, residuals=None, learned=None):
    found = all_charts(given, residuals, learned or make_learned())
    assert len({each.key for each in found}) == len(found)
    return {each.key: each for each in found}


def forecast_figure(given, i, d, linear=True, most=500):
    stretch = given.evaluation.stretches[i]
    bands = {level: stretch.scored.forecast.interval(level) for level in (0.5, 0.95)}
    mean = given.baselines[ARX].stretches[i].scored.forecast.mean if linear else None
    return charts.forecast_figure(stretch, bands, d, given.data, mean, most)


def test_the_charts_come_in_the_order_of_the_page(given):
    assert list(by_key(given, make_residuals())) == [
        "forecast", "training", "coverage", "pit", "horizon", "autocorrelation",
        "crosscorrelation", "slices", "inducing",
    ]  # fmt: skip
    assert "autocorrelation" not in by_key(given)


def test_every_output_of_every_experiment_has_its_forecast(given):
    chart = by_key(given)["forecast"]
    assert chart.variants == {
        (d, i): forecast_figure(given, i, d) for d in range(2) for i in range(2)
    }
    assert chart.choices == (("output", LABELS), ("experiment", ["mon", "tue"]))
    assert (chart.height, chart.note) == (500, "")


def test_the_linear_forecast_is_left_out_where_it_is_of_other_rows(given):
    other = make_evaluation(make_data(41, 20).test, 0.5)
    chart = by_key(replace(given, baselines={**given.baselines, ARX: other}))["forecast"]
    assert chart.variants[1, 0] == forecast_figure(given, 0, 1, linear=False)


def test_many_long_experiments_are_thinned_and_the_first_thirty_are_shown(given, monkeypatch):
    monkeypatch.setattr(Forecast, "interval", lambda self, level: (self.mean - level, self.mean))
    (stretch, _), y = given.evaluation.stretches, np.zeros((60, 2))
    forecast = replace(stretch.scored.forecast, particles=np.zeros((3, 60, 2)))
    long = replace(stretch.experiment, u=np.zeros((60, 2)), y=y)
    many = replace(given.evaluation, stretches=(Stretch(long, Scored(forecast, y)),) * 31)
    given = replace(given, evaluation=many, baselines={**given.baselines, ARX: many})
    (chart,) = report_charts._forecast_charts(given)
    note = "Only some of 60 steps are drawn. Only the first 30 of 31 experiments are shown."
    assert chart.note == note
    assert chart.variants[1, 29] == forecast_figure(given, 29, 1, most=50)
    assert len(chart.variants) == 60
    assert chart.choices[1][1] == [f"{i}: mon" for i in range(1, 31)]


def test_equal_names_of_experiments_are_numbered(given):
    one, two = given.evaluation.stretches
    unnamed = replace(one, experiment=replace(one.experiment, name=""))
    assert stretch_names((one, two, unnamed)) == ["mon", "tue", "test"]
    assert stretch_names((one, two, one)) == ["1: mon", "2: tue", "3: mon"]


def test_the_training_names_what_is_always_zero(given):
    chart = by_key(given)["training"]
    figure, height = charts.training_figure(given.run.history.table)
    assert (chart.variants, chart.height) == ({(): figure}, height)
    assert chart.note == "Always zero: state kl."
    assert chart.choices == ()
    moving = given.run.history.table.assign(state_kl=1.0)
    run = replace(given.run, history=replace(given.run.history, table=moving))
    assert by_key(replace(given, run=run))["training"].note == ""


def test_calibration_is_shown_of_the_outputs_that_were_measured(given):
    test = given.data.test
    blind = replace(test, experiments=tuple(
        replace(each, y=each.y * np.array([np.nan, 1.0])) for each in test
    ))  # fmt: skip
    for evaluation, measured in (
        (given.evaluation, [0, 1]),
        (make_evaluation(blind, 0.25), [1]),
    ):
        found = by_key(replace(given, evaluation=evaluation))
        names = [LABELS[d] for d in measured]
        scored, linear = evaluation.open_loop, given.baselines[ARX].open_loop
        pits = [pit_values(scored, d) for d in measured]
        curves = {name: coverage_curve(pit) for name, pit in zip(names, pits, strict=True)}
        assert found["coverage"].variants == {(): charts.coverage_figure(curves)}
        assert found["pit"].variants == {(i,): charts.pit_figure(p) for i, p in enumerate(pits)}
        assert found["horizon"].variants == {
            (i,): charts.horizon_figure(
                horizon_profile(scored, d), horizon_profile(linear, d), LABELS[d]
            )
            for i, d in enumerate(measured)
        }
        assert [found[key].height for key in ("coverage", "pit", "horizon")] == [330, 330, 380]
        assert found["coverage"].choices == ()
        assert found["pit"].choices == found["horizon"].choices == (("output", names),)


def test_errors_are_correlated_with_themselves_and_with_every_input(given):
    residuals = make_residuals()
    found, lags = by_key(given, residuals), np.arange(-5, 26)
    for d in range(2):
        errors = [each[:, d] for each in residuals.errors]
        values, limit = autocorrelation(errors, 25)[1:], white_limit(errors)
        wanted = charts.correlation_figure(np.arange(1, 26), values, limit, "lag")
        assert found["autocorrelation"].variants[d,] == wanted
        for j in range(2):
            inputs = [each[:, j] for each in residuals.inputs]
            values = cross_correlation(inputs, errors, lags)
            limit, title = cross_limit(inputs, errors, 25), "steps by which the input is earlier"
            wanted = charts.correlation_figure(lags, values, limit, title)
            assert found["crosscorrelation"].variants[d, j] == wanted
    outputs = ("output", ("level", "flow"))
    assert found["autocorrelation"].choices == (outputs,)
    assert found["crosscorrelation"].choices == (outputs, ("input", ("pump", "valve")))
    assert [found[f"{kind}correlation"].height for kind in ("auto", "cross")] == [290, 290]
    assert [len(found[f"{kind}correlation"].variants) for kind in ("auto", "cross")] == [2, 4]


def test_a_system_without_inputs_has_no_cross_correlation(given):
    data = replace(given.data, input_names=(), input_units=(), experiments=tuple(
        replace(each, u=np.zeros((len(each), 0))) for each in given.data
    ))  # fmt: skip
    found = by_key(replace(given, data=data), make_residuals(dim_u=0))
    assert "autocorrelation" in found
    assert "crosscorrelation" not in found


def test_slices_and_pairs_of_what_was_learned(given):
    learned = make_learned(axes=3, states=2, rows=400)
    found, names = by_key(given, learned=learned), ["axis 0", "axis 1", "axis 2"]
    assert found["slices"].variants == {
        (d, j): charts.slice_figure(
            learned.grids[j], learned.mean[d, j], learned.std[d, j], learned.visited[:, j],
            (names[d], names[j]), 1000 // 6,
        )
        for d in range(2)
        for j in range(3)
    }  # fmt: skip
    assert found["slices"].choices == (("change of", names[:2]), ("along", names))
    pairs = {(i, place): (i, j) for i in range(3) for place, j in enumerate((1, 2, 0))}
    assert found["inducing"].variants == {
        key: charts.inducing_figure(
            learned.visited[:, [i, j]], learned.inducing[:, [i, j]], (names[i], names[j]), 3000 // 9
        )
        for key, (i, j) in pairs.items()
    }
    up = ["axis 1", "axis 2", "axis 0"]
    assert found["inducing"].choices == (("across", names), ("up", up))
    assert (found["slices"].height, found["inducing"].height) == (340, 340)


def test_the_reader_chooses_among_eight_axes_of_fifty_points_at_least(given):
    learned = make_learned(axes=9, states=9, rows=100)
    found = by_key(given, learned=learned)
    assert [len(names) for _, names in found["slices"].choices] == [8, 8]
    assert [len(names) for _, names in found["inducing"].choices] == [8, 8]
    assert len(found["slices"].variants) == len(found["inducing"].variants) == 64
    path = found["inducing"].variants[0, 0]["data"][0]
    assert len(path["x"]) == 50  # a share of 3000 // 64 would leave 34
