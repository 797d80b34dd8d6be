"""The sentences of the report word by word, from both sides of every limit."""

import numpy as np
import pandas as pd
import pytest
from test_summary import GOOD, own_rows, with_rmse

from gpssm import Dataset
from gpssm.evaluation.scoring import ARX, MEAN
from gpssm.metrics.reliability import HorizonBin
from gpssm.report import summary
from gpssm.report.findings import Finding, caution, good, inconclusive, problem
from gpssm.report.verdict import Whiteness


def bins(coverage, known=25, rmse=None, width=None):
    """Four bins of forty steps, or as many as there are values."""
    count = len(coverage if rmse is None else rmse)
    values = zip(rmse or [1.0] * count, width or [4.0] * count, coverage, strict=True)
    return [HorizonBin(40 * i + 1, 40 * i + 40, known, *each) for i, each in enumerate(values)]


# ---------------------------------------------------------------------- accuracy

AGAINST = "against 4 of a constant mean and 2 of a linear ARX"


@pytest.mark.parametrize(
    ("rmse", "wanted"),
    [
        (0.5, good("accuracy", f"RMSE 0.5 cm, {AGAINST}: 75 % below the linear model.")),
        (1.98, good("accuracy", f"RMSE 1.98 cm, {AGAINST}: 1 % below the linear model.")),
        (2.0, caution("accuracy", f"RMSE 2 cm, {AGAINST}: no more accurate than the linear "
                      "model.")),
        (2.1, caution("accuracy", f"RMSE 2.1 cm, {AGAINST}: no more accurate than the linear "
                      "model.")),
        (2.11, problem("accuracy", f"RMSE 2.11 cm, {AGAINST}: the linear model is more accurate "
                       "here. Prefer it.")),
        (4.0, problem("accuracy", f"RMSE 4 cm, {AGAINST}: the linear model is more accurate here. "
                      "Prefer it.")),
        (4.01, problem("accuracy", f"RMSE 4.01 cm, {AGAINST}: worse than predicting the mean. Do "
                       "not use this model.")),
    ],
)  # fmt: skip
def test_the_error_is_told_beside_both_baselines(rmse, wanted):
    assert summary.accuracy(GOOD._replace(rmse=rmse, linear=2.0)) == wanted


def test_why_an_error_is_neither_good_nor_bad():
    start = "RMSE 0.5 cm, against 4 of a constant mean and 1 of a linear ARX"
    found = summary.accuracy(GOOD._replace(constant=("a", "b")))
    text = f"{start}: a, b is constant in training, so nothing could be learned of it."
    assert found == caution("accuracy", text)
    found = summary.accuracy(GOOD._replace(measured=29))
    text = f"{start}: 29 measurements are too few to tell which is better."
    assert found == inconclusive("accuracy", text)
    assert summary.accuracy(GOOD._replace(measured=30)).mark == "good"
    found = summary.accuracy(GOOD._replace(linear=np.inf))
    text = "RMSE 0.5 cm, against 4 of a constant mean and inf of a linear ARX, which diverges."
    assert found == good("accuracy", text)


def test_an_output_without_a_score_is_named_and_makes_nothing_better():
    label = "normalised RMSE of all outputs"
    found = summary.accuracy(GOOD._replace(label=label, unit=""), ["a", "b"])
    assert found.text == (
        "Normalised RMSE of all outputs 0.5, against 4 of a constant mean and 1 of a linear ARX: "
        "50 % below the linear model. a, b was not measured in the test part: it has no score."
    )
    assert found.mark == "caution"
    assert summary.accuracy(GOOD._replace(rmse=9.0), ["a"]).mark == "problem"


# ---------------------------------------------------------------------- intervals

COVERS = "The 95 % band of level covers"


@pytest.mark.parametrize(
    ("coverage", "shares", "wanted"),
    [
        (0.95, [0.95, 0.81], good("interval", f"{COVERS} 95 % of its measurements: the prediction "
                                  "intervals are calibrated.")),
        (0.95, [0.95, 0.79], caution("growing", f"{COVERS} 95 % of its measurements: correct on "
                                     "average, but only 79 % in steps 41 to 80.")),
        (0.921, [0.9] * 2, good("interval", f"{COVERS} 92 % of its measurements: the prediction "
                                "intervals are calibrated.")),
        (0.981, [1.0] * 2, caution("wide", f"{COVERS} 98 % of its measurements: under-confident. "
                                   "The errors are smaller than the band suggests.")),
        (0.919, [0.93] * 2, caution("narrow", f"{COVERS} 92 % of its measurements: slightly "
                                    "over-confident.")),
        (0.85, [0.93, 0.8, 0.8], caution("narrow", f"{COVERS} 85 % of its measurements: slightly "
                                         "over-confident beyond step 40.")),
        (0.849, [0.8, 0.93, 0.8], caution("narrow", f"{COVERS} 85 % of its measurements: "
                                          "over-confident beyond step 80. Widen the band before "
                                          "you rely on it.")),
        (0.70, [0.7] * 2, caution("narrow", f"{COVERS} 70 % of its measurements: over-confident. "
                                  "Widen the band before you rely on it.")),
        (0.699, [0.7] * 2, problem("narrow", f"{COVERS} 70 % of its measurements: over-confident. "
                                   "Widen the band before you rely on it.")),
    ],
)  # fmt: skip
def test_the_band_is_told_with_the_steps_where_it_fails(coverage, shares, wanted):
    assert summary.calibration(coverage, bins(shares, known=100), "level") == wanted


def test_a_hundred_measurements_are_enough_to_call_a_band_calibrated():
    assert summary.calibration(0.95, bins([0.95] * 4, known=25), "level").mark == "good"
    short = [each._replace(known=24 + (i < 3)) for i, each in enumerate(bins([0.95] * 4))]
    text = f"{COVERS} 95 % of its measurements, but 99 of them are too few to tell."
    assert summary.calibration(0.95, short, "level") == inconclusive("interval", text)
    assert summary.calibration(0.85, short, "level").kind == "few rows"
    assert summary.calibration(0.849, short, "level").kind == "narrow"


def test_the_middle_of_the_forecasts():
    assert summary.middle(0.62, 30) is None
    assert summary.middle(0.38, 30) is None
    words = "than the model expects."
    text = f"The 50 % band covers 63 %: errors are mostly smaller {words}"
    assert summary.middle(0.63, 30) == caution("middle", text)
    text = f"The 50 % band covers 37 %: errors are mostly larger {words}"
    assert summary.middle(0.37, 30) == caution("middle", text)
    assert summary.middle(0.37, 29) is None


def test_a_bias_is_told_from_a_tenth_on():
    words = "the measurements on average. If the plant drifts, set half_life to give new rows more "
    words += "weight, or call data.remove_drift() in Python."
    text = f"Forecasts of level lie below {words}"
    assert summary.bias(np.full(30, 0.61), "level") == caution("bias", text)
    text = f"Forecasts of level lie above {words}"
    assert summary.bias(np.full(30, 0.39), "level") == caution("bias", text)
    assert summary.bias(np.full(30, 0.59), "level") is None
    assert summary.bias(np.full(30, 0.41), "level") is None
    assert summary.bias(np.full(29, 0.61), "level") is None


@pytest.mark.parametrize(
    ("rmse", "width", "text"),
    [
        ([2.0, 2.0, 2.9, 2.9], [1.0] * 4, "The error of level does not grow with the horizon: step "
         "160 is forecast as well as the first ones."),
        ([2.0, 2.0, 3.0, 3.0], [1.0] * 4, "The error of level grows 1.5-fold from the first to the "
         "second half, the band only 1.0-fold: late intervals are too narrow."),
        ([1.0, 3.0, 4.0, 12.0], [1.0, 2.0, 3.0, 5.3], "The error of level grows 4.0-fold from the "
         "first to the second half, the band only 2.8-fold: late intervals are too narrow."),
        ([1.0, 3.0, 4.0, 12.0], [1.0, 2.0, 3.0, 5.5], "The error of level grows 4.0-fold from the "
         "first to the second half, and the band grows with it."),
        ([1.0, 1.0, 3.0, 3.0, 3.0], [1.0] * 5, "The error of level grows 3.0-fold from the first "
         "to the second half, the band only 1.0-fold: late intervals are too narrow."),
        ([0.0, 0.0, 4e-300, 4e-300], [0.0, 0.0, 2e-300, 2e-300], "The error of level grows "
         "4.0-fold from the first to the second half, the band only 2.0-fold: late intervals are "
         "too narrow."),
    ],
)  # fmt: skip
def test_the_growth_of_the_error_is_told_beside_that_of_the_band(rmse, width, text):
    found = summary.horizon(bins([0.95] * len(rmse), 10, rmse, width), "level")
    narrow = "narrow" in text
    assert found == (caution("growing", text) if narrow else good("interval", text))


def test_growth_is_told_of_four_bins_with_forty_measurements():
    shares = [0.95] * 4
    assert summary.horizon(bins(shares, 10), "y") is not None
    assert summary.horizon([*bins(shares[:3], 10), bins(shares, 9)[3]], "y") is None
    assert summary.horizon(bins(shares[:3], 40), "y") is None


# ---------------------------------------------------------------------- dynamics and training


def test_one_step_errors_are_told_with_their_size():
    white = Whiteness(0.25, 0.1)
    text = "One-step errors of level are white (largest autocorrelation 0.10, p = 0.25): nothing "
    assert summary.innovations(white, 100, "level") == good(
        "dynamics", f"{text}predictable is left."
    )
    text = "99 one-step errors of level are too few to tell more."
    assert summary.innovations(white, 99, "level") == inconclusive("dynamics", text)
    text = "One-step errors of level are not white (largest autocorrelation 0.50, p < 0.001): "
    text += "short-term forecasts could be better; more states or a smaller k may help."
    found = summary.innovations(Whiteness(0.0009, 0.5), 99, "level")
    assert found == caution("coloured", text)


def test_an_input_explains_errors_from_a_tenth_of_the_lags_on():
    assert summary.unexplained_input(2, 20, "level", "pump") is None
    text = "pump still explains errors of level at 3 of 20 lags: more states, longer sequences or "
    found = summary.unexplained_input(3, 20, "level", "pump")
    assert found == caution("input", f"{text}more steps may help.")


def told_of(elbo, skipped=0, rolled_back=0):
    """Of a training with these terms, and so many steps that were not finite."""
    place = np.arange(len(elbo))
    flags = {"skipped": place < skipped, "rolled_back": place < rolled_back}
    return summary.training(pd.DataFrame({"elbo": elbo, **flags}))


def rise(size):
    text = (
        f"The ELBO still rose by {size} per step in the last tenth of the training: train longer."
    )
    return caution("rising", text)


def test_what_is_told_of_the_training():
    level = np.concatenate([np.full(80, 9.0), np.full(10, 1.0), np.full(10, 1.5)])
    assert told_of(level) == [rise(0.5)]
    level[-1] = level[-11] = np.nan
    assert told_of(level) == [rise(0.5)]
    assert told_of(np.array([0.0, 0.5])) == [rise(0.5)]
    assert told_of(np.r_[np.zeros(9), 0.0201]) == [rise(0.02)]
    few = inconclusive("training", "10 training steps are too few to tell convergence.")
    assert told_of(np.r_[np.zeros(9), 0.02]) == [few]
    assert told_of(np.array([7.0]))[0].text.startswith("1 training steps are too few")
    fine = good("training", "Training has converged, and all its steps were finite.")
    assert told_of(np.ones(50)) == [fine]
    assert told_of(np.ones(49))[0].kind == "few rows"


@pytest.mark.parametrize(("skipped", "rolled"), [(3, 2), (3, 0), (0, 2)])
def test_steps_that_were_not_finite_are_counted(skipped, rolled):
    text = f"{skipped} of 60 gradient steps were not finite, {rolled} roll-backs: lower the "
    lost = caution("skipped", f"{text}learning rate.")
    assert told_of(np.ones(60), skipped, rolled) == [lost]
    rising = np.r_[np.zeros(54), np.ones(6)]
    assert told_of(rising, skipped, rolled) == [rise(1), lost]


def test_channels_beyond_the_training_range_are_told_the_furthest_first():
    y, u = np.tile([0.0, 1.0], 100), np.tile([0.0, 1.0], (3, 100)).T
    u[[150, 160], 0] = u[[150, 160, 170], 1] = u[150, 2] = 9.0
    data = Dataset.from_arrays(y, u, input_names=["a", "b", "c"]).split_at(100)
    words = "lie outside the training range: there the model extrapolates."
    assert summary.extrapolation(data) == [
        caution("outside", f"3 % of the test values of b {words}"),
        caution("outside", f"2 % of the test values of a {words}"),
    ]


# ---------------------------------------------------------------------- seeds

OWN = "Rows of the training part are simulated with an RMSE of"


def test_a_seed_has_failed_above_a_multiple_of_the_best():
    assert summary.failed_seeds({0: 2.0, 1: 2.0 * summary.FAILED, 2: 2.01 * summary.FAILED}) == {
        2: 2.01 * summary.FAILED
    }
    assert summary.failed_seeds({0: 2.0, 1: np.nan}) == pytest.approx({1: np.nan}, nan_ok=True)
    assert summary.best_seed({0: np.nan}) is None


def test_what_is_told_of_a_model_on_its_own_rows():
    advice = "train with a smaller learning_rate."
    assert own_rows(1, {1: 0.3}, np.inf) == problem("diverged", f"Forecasts diverge: {advice}")
    text = f"Even rows of the training part diverge: {advice}"
    assert own_rows(1, {1: np.nan}, np.inf) == problem("diverged", text)
    text = f"{OWN} 9 cm, by seed 2 with 1: this fit has failed, even if its ELBO is high. Set "
    found = own_rows(1, {1: 9.0, 2: 1.0}, 9.0)
    assert found == problem("failed", f"{text}`starts` to 3: failed restarts are discarded.")
    text = f"{OWN} 3 cm, by their mean with 3: nothing was learned."
    assert own_rows(1, {1: 3.0}, 9.0, mean=3.0) == problem("nothing learned", text)
    text = f"{OWN} 2.01 cm, by a linear ARX with 1: not yet learned. Train longer, with several "
    found = own_rows(1, {1: 2.01}, 2.0, arx=(1.0, 1.0), mean=3.0)
    assert found == caution("unlearned", f'{text}`starts`, or from `start = "linear"`.')
    assert own_rows(1, {1: 2.0}, 2.0, arx=(1.0, 1.0), mean=None).mark == "good"


@pytest.mark.parametrize(
    ("test", "linear", "kind", "end"),
    [
        (2.0, 1.0, "fine", ": no sign of overfitting."),
        (2.01, 1.99, "overfitting", ": overfitting. Use fewer steps, or a larger inducing_kl."),
        (3.0, 2.0, "changed", ". The error of a linear model also grows 2.0-fold: the plant or its "
         "operation has changed. If it drifts, set half_life to give new rows more weight."),
        (10.0, 4.99, "overfitting", ": overfitting. Use fewer steps, or a larger inducing_kl."),
        (10.0, 5.0, "changed", ". The error of a linear model also grows 5.0-fold: the plant or "
         "its operation has changed. If it drifts, set half_life to give new rows more weight."),
    ],
)  # fmt: skip
def test_an_error_that_doubles_in_the_test_part_needs_a_reason(test, linear, kind, end):
    found = own_rows(1, {1: 1.0}, test, arx=(linear, 1.0))
    assert (found.kind, found.text) == (kind, f"{OWN} 1 cm, the test part with {test:.3g}{end}")


def test_thirty_measurements_are_enough_to_compare():
    text = f"{OWN} 1 cm, the test part with 2: 29 measurements are too few to compare."
    assert own_rows(1, {1: 1.0}, 2.0, measured=29) == inconclusive("training", text)
    assert own_rows(1, {1: 1.0}, 2.0, measured=30).mark == "good"
    assert own_rows(1, {1: 1.0}, 2.01, measured=29).kind == "overfitting"


def test_what_is_not_known_of_a_baseline_says_nothing():
    seeds = {1: with_rmse(9.0, 1.0)}
    baselines = {MEAN: with_rmse(9.0), ARX: with_rmse(9.0)}
    assert summary.own_rows(1, seeds, baselines, "", 99).kind == "overfitting"
    assert summary.own_rows(2, seeds, baselines, "", 99) is None


def test_seeds_agree_within_a_fifth():
    text = "RMSE over 2 seeds: 1 to 1.4: the result depends on the seed."
    assert summary.seeds([1.4, 1.0]) == caution("seeds", text)  # 0.236 of their mean apart
    text = "RMSE over 3 seeds: 1 to 1.4: the result does not depend on the seed."
    assert summary.seeds([1.2, 1.0, 1.4]) == good("training", text)  # 0.167
    assert summary.seeds([1.0, 1.3]) is None


def test_a_finding_knows_its_cause():
    assert good("data", "a") == Finding("good", "a", "fine", "data")
    assert inconclusive("data", "a") == Finding("caution", "a", "few rows", "data")
    assert caution("middle", "a") == Finding("caution", "a", "middle", "interval")
    assert problem("seeds", "a") == Finding("problem", "a", "seeds", "training")
