"""The sentences of the report say what the numbers are."""

import numpy as np
import pandas as pd
import pytest

from gpssm import Dataset, Forecast
from gpssm.prediction import Scored
from gpssm.prediction.calibration import HorizonBin
from gpssm.report import summary
from gpssm.report.evaluation import ARX, MEAN, Evaluation, beginning, newest, pooled


class Fake:
    """An evaluation of which only the scores are asked."""

    def __init__(self, rmse):
        self.scores = type("Scores", (), {"rmse": rmse})


def profile(*coverage):
    return [HorizonBin(40 * i + 1, 40 * i + 40, 40, 1.0, 4.0, c) for i, c in enumerate(coverage)]


@pytest.mark.parametrize(
    ("rmse", "verdict", "words"),
    [
        (0.5, "good", "50 % below the linear model"),
        (1.01, "caution", "no more accurate than the linear model"),
        (1.5, "caution", "the linear model is more accurate"),
        (5.0, "problem", "no better than predicting the mean"),
    ],
)
def test_accuracy_is_told_beside_the_baselines(rmse, verdict, words):
    found = summary.accuracy(Fake(rmse), {MEAN: Fake(4.0), ARX: Fake(1.0)}, " cm")
    assert found.verdict == verdict
    assert words in found.text


@pytest.mark.parametrize(
    ("coverage", "shares", "verdict", "words"),
    [
        (0.95, (0.95, 0.96, 0.94, 0.95), "good", "can be taken at their word"),
        (0.91, (0.95, 0.96, 0.95, 0.78), "caution", "slightly over-confident beyond step 120"),
        (0.60, (0.60, 0.60, 0.60, 0.60), "problem", "over-confident. Widen"),
        (1.00, (1.00, 1.00, 1.00, 1.00), "caution", "cautious"),
        (0.95, (1.00, 1.00, 0.70, 1.00), "caution", "but only 70 % in steps 81 to 120"),
    ],
)
def test_calibration_is_told_with_the_step_from_which_it_fails(coverage, shares, verdict, words):
    found = summary.calibration(coverage, profile(*shares))
    assert found.verdict == verdict
    assert words in found.text
    assert f"covers {100 * coverage:.0f} %" in found.text


def history(elbo, skipped=0):
    flags = np.arange(len(elbo)) < skipped
    return pd.DataFrame({"elbo": elbo, "skipped": flags, "rolled_back": np.zeros(len(elbo), bool)})


def test_training_that_has_not_come_to_rest_is_told():
    rising, flat = np.linspace(0, 10, 100), np.ones(100)
    assert "train longer" in summary.training(history(rising))[0].text
    assert summary.training(history(flat))[0].verdict == "good"
    assert "3 of 100 gradient steps" in summary.training(history(flat, skipped=3))[0].text


def test_inputs_beyond_the_training_range_are_told():
    u = np.concatenate([np.linspace(-1, 1, 80), np.linspace(0, 2, 20)])
    data = Dataset.from_arrays(u, u, input_names=["pump"]).split(train=0.8)
    assert summary.extrapolation(data)[0].text.startswith("50 % of the test values of pump")
    inside = Dataset.from_arrays(u, np.tile([0.0, 1.0], 50)).split(train=0.8)
    assert summary.extrapolation(inside) == []


def test_bias_and_growth_and_seeds():
    assert "lie below the measurements" in summary.bias(np.full(9, 0.9), "y").text
    assert "half_life" in summary.bias(np.full(9, 0.1), "y").text
    assert summary.bias(np.linspace(0, 1, 9), "y") is None
    grown = [b._replace(rmse=1.0 if b.first < 80 else 4.0) for b in profile(1, 1, 1, 1)]
    assert "the band only 1.0-fold" in summary.horizon(grown, "y").text
    assert "depends on the seed" in summary.seeds([1.0, 2.0]).text
    assert summary.seeds([1.0]) is None


def test_a_seed_that_cannot_simulate_its_own_rows_has_failed():
    rmses = {0: 0.118, 3: 0.078, 4: 0.084, 7: np.nan}
    assert list(summary.failed_seeds(rmses)) == [0, 7]
    failed = summary.own_rows(rmses, 0, rmse=0.12)
    assert failed.verdict == "problem"
    assert "with an RMSE of 0.118, by seed 3 with 0.078" in failed.text
    held = summary.own_rows(rmses, 4, rmse=0.09)
    assert (held.verdict, "no sign of over-fitting" in held.text) == ("good", True)
    assert "Over-fitted" in summary.own_rows(rmses, 4, rmse=0.17, linear=1.2).text
    changed = summary.own_rows(rmses, 4, rmse=0.17, linear=5.4)
    assert "A linear model, too, is 5.4 times worse" in changed.text


def test_a_single_seed_and_seeds_that_all_diverged_are_not_called_failed():
    assert summary.failed_seeds({5: 3.0}) == {}
    assert summary.failed_seeds({0: np.inf, 1: np.nan}) == {}


def test_the_newest_rows_are_those_of_the_last_experiments():
    arrays = [np.arange(n, dtype=float) for n in (30, 20, 10)]
    data = Dataset.from_arrays(arrays)
    assert [each.y[0, 0] for each in newest(data, most=25, longest=50)] == [5.0, 0.0]
    assert [len(each) for each in newest(data, most=25, longest=50)] == [15, 10]
    assert [len(each) for each in newest(data, most=100, longest=50)] == [30, 20, 10]
    assert [each.y[0, 0] for each in newest(data, most=100, longest=12)] == [18.0, 8.0, 0.0]


def test_scores_of_several_records_are_those_of_all_their_steps():
    rng = np.random.default_rng(0)
    y, particles = rng.standard_normal((50, 1)), rng.standard_normal((7, 50, 1))
    y[3] = np.nan
    noise = np.array([0.7])
    whole = Forecast(particles, noise)
    parts = [
        Scored(Forecast(particles[:, rows], noise), y[rows]) for rows in (slice(20), slice(20, 50))
    ]
    scores = pooled(parts)
    assert scores.rmse == pytest.approx(whole.rmse(y))
    assert scores.log_likelihood == pytest.approx(whole.log_likelihood(y))
    assert scores.coverage == pytest.approx(whole.coverage(y))


def test_an_evaluation_leaves_the_warm_up_out():
    forecast = Forecast(np.zeros((1, 10, 1)), np.ones(1), warmup=4)
    y = np.where(np.arange(10) < 4, 100.0, 2.0)[:, None]
    stretch = type("Stretch", (), {"scored": Scored(forecast, y)})
    assert Evaluation((stretch,)).scores.rmse == 2.0


def test_a_baseline_sees_the_beginning_of_every_experiment_of_a_long_log():
    lengths = 3000, 50, 950
    arrays = [np.arange(n, dtype=float) for n in lengths]
    data = Dataset.from_arrays(arrays)
    short = beginning(data, most=400)
    assert [len(each) for each in short] == [300, 50, 100]  # a tenth, but not too few
    assert short[2].y[-1, 0] == 99.0
    assert [len(each) for each in beginning(data, most=4000)] == list(lengths)
