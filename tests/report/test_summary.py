"""The sentences of the report say what the numbers are."""

import numpy as np
import pandas as pd
import pytest

from gpssm import Dataset, Forecast
from gpssm.data import Experiment
from gpssm.evaluation.scoring import (
    ARX,
    MEAN,
    Evaluation,
    Protocol,
    Stretch,
    beginning,
    evaluate_baselines,
    evaluate_forecasts,
    newest,
)
from gpssm.metrics import Scored, Scores, score
from gpssm.metrics.reliability import HorizonBin
from gpssm.report import summary
from gpssm.report.verdict import FEWEST, Evidence, Whiteness, gather


def with_rmse(rmse, training_rmse=None):
    """An evaluation of which only the scores are asked."""

    def scores(value):
        return Scores(("level",), {"rmse": np.array([value])}, {"rmse": np.nan})

    training = None if training_rmse is None else scores(training_rmse)
    return Evaluation((), scores(rmse), 0, training)


def profile(*coverage):
    return [HorizonBin(40 * i + 1, 40 * i + 40, 40, 1.0, 4.0, c) for i, c in enumerate(coverage)]


GOOD = Evidence(0.5, 4.0, 1.0, {"level": 0.95}, 500, unit=" cm")


@pytest.mark.parametrize(
    ("changes", "mark", "words"),
    [
        ({}, "good", "50 % below the linear model"),
        ({"linear": np.inf}, "good", "which diverges"),
        ({"rmse": 1.01}, "caution", "no more accurate than the linear model"),
        ({"rmse": 1.5}, "problem", "the linear model is more accurate"),
        ({"rmse": 5.0}, "problem", "worse than predicting the mean"),
        ({"rmse": np.nan}, "problem", "worse than predicting the mean"),
        ({"measured": 3}, "caution", "3 measurements are too few to tell"),
        ({"constant": ("level",)}, "caution", "level is constant in training"),
    ],
)
def test_accuracy_is_told_beside_the_baselines(changes, mark, words):
    found = summary.accuracy(GOOD._replace(**changes))
    assert found.mark == mark
    assert words in found.text
    assert ("below the linear model" in found.text) is (changes == {})


def forecast_of(y, error, spread):
    """An evaluation whose forecasts are off by so much, for each output."""
    forecast = Forecast((y + np.asarray(error))[None], np.asarray(spread), 0, 2)
    scores = score([forecast.after(2).sample(y[2:], np.asarray(spread))])
    return Evaluation((Stretch(Experiment.of(y), Scored(forecast, y)),), scores, 2)


def test_no_output_speaks_for_the_others_by_the_size_of_its_numbers():
    rng = np.random.default_rng(0)
    y, spread = rng.standard_normal((100, 2)) * [1.0, 1e9], [1.0, 1e9]
    data = Dataset.from_arrays(y).split_at(50)
    test = data.test[0].y
    linear = forecast_of(test, [0.5, 0.2e9], spread)
    baselines = {MEAN: forecast_of(test, [1.0, 1e9], spread), ARX: linear}
    off = forecast_of(test, [0.1, 0.3e9], spread)
    found = summary.accuracy(gather(off, baselines, data.train, data.test, []))
    assert found.text.startswith("Normalised RMSE of all outputs")
    assert found.mark == "good"  # 0.22 to 0.38 of the spread, though 3e8 is more than 2e8
    assert "0.224" in found.text
    assert "0.381" in found.text


def test_an_output_that_was_not_measured_is_left_out():
    y = np.tile([1.0, 1e9], (20, 1))
    y[2:, 1] = np.nan
    off = forecast_of(y, [0.1, 0.3e9], [1.0, 1e9])
    np.testing.assert_allclose(off.scores["rmse"], [0.1, np.nan])
    assert off.measured == [0]
    found = summary.accuracy(GOOD, ["other"])
    assert found.mark == "caution"
    assert "other was not measured in the test part" in found.text


@pytest.mark.parametrize(
    ("coverage", "shares", "mark", "words"),
    [
        (0.95, (0.95, 0.96, 0.94, 0.95), "good", "prediction intervals are calibrated"),
        (0.91, (0.95, 0.96, 0.95, 0.78), "caution", "slightly over-confident beyond step 120"),
        (0.84, (0.84, 0.84, 0.84, 0.84), "caution", "over-confident. Widen"),
        (0.60, (0.60, 0.60, 0.60, 0.60), "problem", "over-confident. Widen"),
        (1.00, (1.00, 1.00, 1.00, 1.00), "caution", "under-confident"),
        (0.95, (1.00, 1.00, 0.70, 1.00), "caution", "but only 70 % in steps 81 to 120"),
    ],
)
def test_calibration_is_told_with_the_step_from_which_it_fails(coverage, shares, mark, words):
    found = summary.calibration(coverage, profile(*shares), "level")
    assert found.mark == mark
    assert words in found.text
    assert f"The 95 % band of level covers {100 * coverage:.0f} % of its" in found.text


# ---------------------------------------------------------------------- enough to tell


def short(rows):
    """Two bins of a profile with so many measurements in all."""
    return [b._replace(known=rows // 4) for b in profile(0.95, 0.95, 0.95, 0.95)]


@pytest.mark.parametrize(
    ("tell", "fewest"),
    [
        (lambda n: summary.accuracy(GOOD._replace(measured=n)), FEWEST),
        (lambda n: summary.calibration(0.95, short(n), "y"), summary.FEW_COVERED),
        (lambda n: summary.innovations(Whiteness(0.5, 0.1), n, "y"), summary.FEW_ERRORS),
        (lambda n: summary.training(history(np.ones(n)))[0], summary.FEW_TRAINED),
        (lambda n: own_rows(5, {5: 3.0}, 3.1, (3.0, 2.0), 3.5, measured=n), FEWEST),
    ],
)
def test_nothing_good_is_said_of_too_few(tell, fewest):
    assert tell(fewest).mark == "good"
    few = tell(fewest - 4)
    assert (few.mark, few.kind) == ("caution", "few rows")
    assert "too few" in few.text


def test_neither_is_it_of_the_horizon_the_bias_and_the_seeds():
    assert summary.horizon(short(summary.FEW_STEPS), "y").mark == "good"
    assert summary.horizon(short(summary.FEW_STEPS - 4), "y") is None
    assert summary.bias(np.full(summary.FEW_PIT - 1, 0.9), "y") is None
    assert summary.middle(0.9, summary.FEW_PIT).kind == "middle"
    assert summary.middle(0.9, summary.FEW_PIT - 1) is None
    assert summary.seeds([1.0, 1.0, 1.01]).mark == "good"
    assert summary.seeds([1.0, 1.01]) is None


def test_errors_that_are_not_white_are_told_with_their_size():
    found = summary.innovations(Whiteness(0.001, 0.45), 50, "level")
    assert found.kind == "coloured"
    assert "largest autocorrelation 0.45, p = 0.001" in found.text
    assert "p < 0.001)" in summary.innovations(Whiteness(0.0, 0.45), 50, "level").text


def test_errors_of_which_little_can_be_told_are_nearly_white():
    def text(p):
        return summary.innovations(Whiteness(p, 0.18), 500, "level").text

    assert "are nearly white (largest autocorrelation 0.18, p = 0.0099): little" in text(0.0099)
    assert "are white (largest autocorrelation 0.18, p = 0.01): nothing" in text(0.01)


def history(elbo, skipped=0):
    flags = np.arange(len(elbo)) < skipped
    return pd.DataFrame({"elbo": elbo, "skipped": flags, "rolled_back": np.zeros(len(elbo), bool)})


def test_training_that_has_not_come_to_rest_is_told():
    rising, flat = np.linspace(0, 10, 100), np.ones(100)
    assert "train longer" in summary.training(history(rising))[0].text
    assert summary.training(history(flat))[0].mark == "good"
    assert "3 of 100 gradient steps" in summary.training(history(flat, skipped=3))[0].text


def test_what_is_beyond_the_training_range_is_told():
    still, moving = (
        np.tile([0.0, 1.0], 50),
        np.concatenate([np.linspace(-1, 1, 80), np.linspace(0, 2, 20)]),
    )
    gaps = np.where(np.arange(100) % 4 == 0, np.nan, moving)
    names = {"input_names": ["pump"], "output_names": ["level"]}
    for y, u, words in ((still, moving, "50 % of the test values of pump"),
                        (gaps, still, "40 % of the test values of level")):  # fmt: skip
        (found,) = summary.extrapolation(Dataset.from_arrays(y, u, **names).split(train=0.8))
        assert found.text.startswith(words)
    assert summary.extrapolation(Dataset.from_arrays(still, still).split(train=0.8)) == []


def test_bias_and_growth_and_seeds():
    assert "lie below the measurements" in summary.bias(np.full(30, 0.9), "y").text
    advice = summary.bias(np.full(30, 0.1), "y").text
    assert "half_life" in advice
    assert "remove_drift" in advice
    assert summary.bias(np.linspace(0, 1, 30), "y") is None
    grown = [b._replace(rmse=1.0 if b.first < 80 else 4.0) for b in profile(1, 1, 1, 1)]
    assert "the band only 1.0-fold" in summary.horizon(grown, "y").text
    assert "depends on the seed" in summary.seeds([1.0, 2.0]).text
    assert summary.seeds([1.0]) is None


def own_rows(seed, rmses, test, arx=(1.0, 1.0), mean=9.0, measured=500):
    """What is said of a seed, given the errors of all on their own rows and its own in the test."""
    seeds = {s: with_rmse(test, rmse) for s, rmse in rmses.items()}
    baselines = {MEAN: with_rmse(9.0, mean), ARX: with_rmse(*arx)}
    return summary.own_rows(seed, seeds, baselines, " cm", measured)


RMSES = {7: np.nan, 0: 0.118, 3: 0.078, 4: 0.084}


def test_a_seed_that_cannot_simulate_its_own_rows_has_failed():
    assert summary.best_seed(RMSES) == 3
    assert list(summary.failed_seeds(RMSES)) == [7, 0]
    failed = own_rows(0, RMSES, 0.12)
    assert failed.mark == "problem"
    assert "with an RMSE of 0.118 cm, by seed 3 with 0.078: this fit has failed" in failed.text
    held = own_rows(4, RMSES, 0.09)
    assert (held.mark, "no sign of overfitting" in held.text) == ("good", True)


@pytest.mark.parametrize(
    ("arx", "words"),
    [
        ((1.2, 1.0), "overfitting"),
        ((2.1, 1.0), "overfitting"),  # that much does not explain a factor of 10
        ((np.inf, 1.0), "overfitting"),
        ((1.0, None), "overfitting"),
        ((5.4, 1.0), "The error of a linear model also grows 5.4-fold"),
    ],
)
def test_a_linear_model_tells_over_fitting_from_a_plant_that_has_changed(arx, words):
    found = own_rows(4, RMSES, 0.84, arx)
    assert found.mark == "caution"
    assert words in found.text


def test_a_single_seed_is_judged_by_the_mean():
    assert summary.failed_seeds({5: 3.0}) == {}
    assert "nothing was learned" in own_rows(5, {5: 3.0}, 3.1, mean=2.5).text
    assert own_rows(5, {5: 3.0}, 3.1, mean=3.5, arx=(3.0, 2.0)).mark == "good"
    assert own_rows(5, {5: None}, 3.1) is None


def test_what_a_linear_model_has_learned_better_is_not_called_over_fitted():
    found = own_rows(5, {5: 3.0}, 31.0, arx=(9.0, 0.5))
    assert "by a linear ARX with 0.5: not yet learned" in found.text


@pytest.mark.parametrize(("own", "test"), [(np.nan, 0.3), (np.inf, 0.3), (0.3, np.nan)])
def test_what_diverges_is_never_good(own, test):
    assert own_rows(1, {1: own}, test).mark == "problem"
    assert summary.failed_seeds({0: np.inf, 1: np.nan}) == {}  # none is better than another


def test_the_newest_rows_are_those_of_the_last_experiments():
    arrays = [np.arange(n, dtype=float) for n in (30, 20, 10)]
    data = Dataset.from_arrays(arrays)
    assert [each.y[0, 0] for each in newest(data, most=25, longest=50)] == [5.0, 0.0]
    assert [len(each) for each in newest(data, most=25, longest=50)] == [15, 10]
    assert [len(each) for each in newest(data, most=100, longest=50)] == [30, 20, 10]
    assert [each.y[0, 0] for each in newest(data, most=100, longest=12)] == [18.0, 8.0, 0.0]
    assert [len(each) for each in newest(data, most=31, longest=50)] == [20, 10]  # one row is none


def test_a_baseline_of_a_long_log_has_no_own_rows_to_simulate(monkeypatch):
    """It has seen the beginnings, and the newest rows are others."""
    y = np.random.default_rng(0).standard_normal(300)
    data = Dataset.from_arrays(y, np.roll(y, 1)).split(train=0.7)
    protocol = Protocol(warmup=4)
    whole = evaluate_baselines(data.train, data.test, protocol)
    assert whole[MEAN].training_rmse == pytest.approx(np.std(y[4:210]), rel=0.02)
    part = evaluate_baselines(data.train, data.test, protocol, own=data.train.split_at(100).train)
    assert part[MEAN].training_rmse == pytest.approx(np.std(y[4:100]), rel=0.02)
    monkeypatch.setattr("gpssm.evaluation.scoring._BASELINE_ROWS", 120)
    short = evaluate_baselines(data.train, data.test, protocol)
    assert [each.training_rmse for each in short.values()] == [None, None]


def test_scores_of_several_records_are_those_of_all_their_steps():
    rng = np.random.default_rng(0)
    y, particles = rng.standard_normal((50, 1)), rng.standard_normal((7, 50, 1))
    y[3] = np.nan
    noise = np.array([0.7])
    whole = Forecast(particles, noise)
    parts = [
        Scored(Forecast(particles[:, rows], noise), y[rows]) for rows in (slice(20), slice(20, 50))
    ]
    scores = score([each.forecast.sample(each.y) for each in parts])
    for name, value in whole.score(y).pooled.items():
        assert scores.pooled[name] == pytest.approx(value)
        np.testing.assert_allclose(scores[name], whole.score(y)[name])


def test_an_evaluation_leaves_out_what_is_not_scored():
    y = np.where(np.arange(10) < 4, 100.0, 2.0)
    data = Dataset.from_arrays(y)

    def zeros(u, seen, conditioned):
        return Forecast(np.zeros((1, len(u), 1)), np.ones(1), warmup=len(seen))

    after = evaluate_forecasts(zeros, data, Protocol(warmup=4))
    assert after.scores["rmse"] == 2.0
    whole = evaluate_forecasts(zeros, data, Protocol(warmup=4, scored_from=0))
    assert whole.scores["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(y))))


def test_a_baseline_sees_the_beginning_of_every_experiment_of_a_long_log():
    lengths = 3000, 50, 950
    arrays = [np.arange(n, dtype=float) for n in lengths]
    data = Dataset.from_arrays(arrays)
    short = beginning(data, most=400)
    assert [len(each) for each in short] == [300, 50, 100]  # a tenth, but not too few
    assert short[2].y[-1, 0] == 99.0
    assert [len(each) for each in beginning(data, most=4000)] == list(lengths)
