"""The protocols: what is handed over, what is scored, and that nothing later is ever seen."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.table1.cells import fit_method, forecast_by_protocol, score_by_protocol
from experiments.table1.config import METHODS, cell_settings
from experiments.table1.protocol import PROTOCOLS, forecast_all, score, simulate_training

from gpssm import Dataset
from gpssm.metrics import Forecast


def poisoned(test, first, value):
    """The test part with all outputs from `first` on replaced."""
    runs = []
    for run in test:
        y = run.y.copy()
        y[first:] = value
        runs.append(replace(run, y=y))
    return replace(test, experiments=tuple(runs))


@pytest.mark.parametrize("method", METHODS)
def test_later_outputs_change_no_metric_of_any_method(method, data, tiny):
    settings = cell_settings(tiny, data, method)
    predict = fit_method(method, data.train, settings).predictors[-1]
    clean = score_by_protocol(forecast_by_protocol(predict, data.test), data.test)
    for name, protocol in PROTOCOLS.items():
        for poison in (1e6, np.nan):
            spoilt = poisoned(data.test, protocol.outputs, poison)
            forecasts = forecast_all(predict, spoilt, protocol)
            assert score(forecasts, data.test, protocol) == clean[name]


def test_later_outputs_change_nothing_where_a_drift_is_removed(data, tiny):
    """The drift is found, and continued through the test part, without a look at it."""
    settings = cell_settings({**tiny, "data": {"drift": 0.2}}, data, "arx")
    first, clean = PROTOCOLS["paper"].outputs, settings.data.of(data)
    spoilt = settings.data.of(
        replace(data, experiments=(data[0], *poisoned(data.test, first, 1e6)))
    )
    assert clean.has_drift
    assert np.ptp(clean.train[0].y - data.train[0].y) > 0.0
    forecasts = []
    for each in (clean, spoilt):
        predict = fit_method("arx", each.train, settings).predictors[0]
        made = forecast_all(predict, each.test, PROTOCOLS["paper"])
        forecasts.append(each.test.restore(made[0].mean)[1])
    np.testing.assert_array_equal(*forecasts)


def test_scores_are_those_of_the_outputs_with_their_drift(data, tiny):
    rest = cell_settings({**tiny, "data": {"drift": 0.2}}, data, "arx").data.of(data)
    predict = fit_method("arx", rest.train, cell_settings(tiny, data, "arx")).predictors[0]
    (made,) = forecast_all(predict, rest.test, PROTOCOLS["paper"])
    restored = replace(made, particles=rest.test.restore(made.particles)[1])
    assert made.score(rest.test[0].y)["rmse"] == pytest.approx(
        restored.score(data.test[0].y)["rmse"], rel=1e-9
    )


def test_the_poison_works_where_it_is_allowed_to(data, tiny):
    """The last output that may be used does change a forecast: the test above can fail."""
    predict = fit_method("arx", data.train, cell_settings(tiny, data, "arx")).predictors[0]
    for protocol in PROTOCOLS.values():
        forecasts = forecast_all(predict, data.test, protocol)
        spoilt = poisoned(data.test, protocol.outputs - 1, 1e6)
        other = forecast_all(predict, spoilt, protocol)
        assert score(forecasts, data.test, protocol) != score(other, data.test, protocol)


def test_what_each_protocol_hands_over_and_scores():
    """Right after the 16th step only: no error in `strict`, and the warm-up counts in `paper`."""
    y = np.linspace(0.0, 1.0, 40)[:, None]
    test = Dataset.from_arrays([y, y]).split_experiments(train=[], test=[0, 1])
    calls = []

    def predict(u, seen, conditioned):
        calls.append((len(seen), conditioned))
        mean = y.copy()
        mean[:16] += 1.0
        return Forecast(mean[None], np.ones(1))

    found = {
        name: score(forecast_all(predict, test, protocol), test, protocol)
        for name, protocol in PROTOCOLS.items()
    }
    assert calls == [(32, 16)] * 2 + [(16, 16)] * 2
    assert found["paper"]["rmse"] == pytest.approx(np.sqrt(16 / 40))
    assert found["strict"]["rmse"] == 0.0
    assert [bin["to"] for bin in found["strict"]["horizon"]] == [10, 24]


def test_experiments_are_pooled_and_horizons_averaged_over_them():
    zeros = np.zeros((30, 1))
    test = Dataset.from_arrays([zeros, zeros + 0.0]).split_experiments(train=[], test=[0, 1])
    strict = PROTOCOLS["strict"]
    forecasts = [Forecast(np.full((1, 30, 1), error), np.ones(1)) for error in (3.0, 4.0)]
    found = score(forecasts, test, strict)
    assert found["rmse"] == pytest.approx(np.sqrt(12.5))
    assert [bin["rmse"] for bin in found["horizon"]] == pytest.approx([np.sqrt(12.5)] * 2)
    assert found["coverage"] == {"50%": 0.0, "90%": 0.0, "95%": 0.0}


def test_a_forecast_that_diverged_has_no_score():
    test = Dataset.from_arrays(np.zeros((30, 1))).split_experiments(train=[], test=[0])
    forecast = Forecast(np.full((1, 30, 1), np.inf), np.ones(1))
    assert score([forecast], test, PROTOCOLS["strict"])["rmse"] is None


def test_of_the_training_part_the_newest_half_is_simulated():
    """Of the new rows, which are forecast with an error of 0.5, the first 32 are handed over."""
    y = np.linspace(0.0, 1.0, 160)[:, None]
    train = Dataset.from_arrays([y, y + 1.0]).split_experiments(train=[0, 1], test=[]).train
    seen = []

    def predict(u, given, conditioned):
        seen.append(given)
        return Forecast(0.5 + (given[0] + y[:80])[None], np.ones(1))

    assert simulate_training(predict, train) == pytest.approx(0.5)
    np.testing.assert_array_equal(seen[0], y[80:112])
    np.testing.assert_array_equal(seen[1], y[80:112] + 1.0)
