"""Noise by cross-validation: what is repeated on the folds, and what comes of it."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import gpssm
from gpssm import Dataset, recalibrate
from gpssm.base.errors import DataError
from gpssm.evaluation import recalibration as held_out
from gpssm.evaluation.recalibration import cut_folds
from gpssm.training import loop
from gpssm.training.calibration import HELD_OUT_FACTORS, LEVELS

MODEL = gpssm.cbf_ssm(dim_x=2, inducing_points=5, particles=6, lag=4, output_variance=1e-4)
SETTINGS = {"steps": 3, "sequence_length": 20, "batch_size": 4, "calibrate": False, "quiet": True}


@pytest.fixture(scope="module")
def data() -> Dataset:
    """A random walk with a leak: its forecasts must become wide."""
    rng = np.random.default_rng(2)
    u, y = rng.standard_normal(180), np.zeros(180)
    for t in range(179):
        y[t + 1] = 0.95 * y[t] + 0.2 * u[t] + 0.3 * rng.standard_normal()
    return Dataset.from_arrays(y, u)


@pytest.fixture(scope="module")
def runs(data):
    """One after the other: the folds, which have one seed, share their program."""
    return [gpssm.fit(MODEL, data, seed=seed, **SETTINGS) for seed in range(2)]


@pytest.fixture(scope="module")
def wider(runs, data):
    return recalibrate(runs, data, folds=3, quiet=True)


def noise(run) -> tuple[np.ndarray, np.ndarray]:
    model = run.system.model
    return np.asarray(model.transition.noise), np.asarray(model.emission.noise)


def test_all_runs_get_the_same_more_noise(runs, wider):
    for before, after in zip(runs, wider, strict=True):
        added = noise(after)[0] - noise(before)[0]
        assert np.abs(LEVELS - added[0]).min() < 1e-9
        assert added[0] > 1e-4
        np.testing.assert_allclose(added, added[0], rtol=1e-6)
        factor = noise(after)[1] / noise(before)[1]
        assert np.abs(HELD_OUT_FACTORS - factor).min() < 1e-6


def test_a_call_that_was_stopped_goes_on(runs, data, wider, tmp_path, monkeypatch):
    """What is done of the folds is kept: the second call trains the third one alone."""
    again = held_out.fit
    fitted = []

    def stopping(*arguments, **settings):
        if len(fitted) == 2:
            raise KeyboardInterrupt
        fitted.append(settings["run_dir"].name)
        return again(*arguments, **settings)

    monkeypatch.setattr(held_out, "fit", stopping)
    with pytest.raises(KeyboardInterrupt):
        recalibrate(runs, data, folds=3, quiet=True, run_dir=tmp_path)
    assert fitted == ["fold-0", "fold-1"]
    monkeypatch.setattr(held_out, "fit", again)
    trained = []
    monkeypatch.setattr("gpssm.training.loop._advance", spy(loop._advance, trained))
    found = recalibrate(runs, data, folds=3, quiet=True, run_dir=tmp_path)
    assert len(trained) == 1  # three steps are one chunk
    for ours, theirs in zip(noise(found[0]), noise(wider[0]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def spy(function, calls):
    def called(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return called


def test_nothing_else_changes(runs, wider):
    for before, after in zip(runs, wider, strict=True):
        assert (after.training, after.seed, after.model) == (before.training, before.seed, MODEL)
        pairs = zip(jax.tree.leaves(before.system), jax.tree.leaves(after.system), strict=True)
        assert sum(not np.array_equal(a, b) for a, b in pairs) <= 2


def test_unseen_data_are_covered_better(runs, wider, data):
    u, y = data[0].u, data[0].y
    before, after = (run.predict(u, y[:16]).after(16).coverage(y[16:], 0.95)
                     for run in (runs[0], wider[0]))  # fmt: skip
    assert before < 0.8
    assert before + 0.1 < after


def test_a_sensor_that_was_believed_too_poor_gets_better(data):
    """Three steps leave Σy where it starts, far above the errors that the folds see."""
    poor = MODEL.replace(output_variance=100.0)
    run = gpssm.fit(poor, data, **SETTINGS)
    better = recalibrate(run, data, folds=3, quiet=True)
    assert noise(better)[1] < 0.2 * noise(run)[1]


def test_one_run_gives_one_run_and_every_fold_trains_once(runs, wider, data):
    titles = []

    def progress(title, total):
        titles.append((title, total))
        return gpssm.training.silent(title, total)

    alone = recalibrate(runs[0], data, folds=3, progress=progress)
    assert titles == [("cbf-ssm-50", 3)] * 3
    np.testing.assert_array_equal(noise(alone)[0], noise(wider[0])[0])


def test_the_calibration_within_folds_is_shown_unless_quiet(runs, data, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "gpssm.fitted.fitting.calibrate_all",
        lambda systems, _, quiet: asked.append(quiet) or systems,
    )
    run = replace(runs[0], training=runs[0].training.replace(calibrate=True))
    recalibrate(run, data, folds=3)
    recalibrate(run, data, folds=3, quiet=True)
    assert asked == [False] * 3 + [True] * 3


def test_other_channels_and_no_runs_are_refused(runs, data):
    other = Dataset.from_arrays(np.zeros((90, 2)), np.zeros((90, 3)))
    with pytest.raises(DataError, match="3 inputs and 2 outputs, expected"):
        recalibrate(runs, other)
    with pytest.raises(DataError, match="runs: got none"):
        recalibrate([], data)


def test_folds_without_a_measurement_have_no_say():
    y = np.arange(100.0)[:, None]
    y[40:60] = np.nan
    data = Dataset.from_arrays(y, np.ones((100, 1)))
    firsts = [part.test[0].start for part in cut_folds(data, 5, False, 4)]
    assert firsts == [0, 20, 60, 80]
    with_trend = cut_folds(data.detrend(1), 5, False, 4)
    assert [part.test[0].start for part in with_trend] == firsts
    y[:] = np.nan
    y[:2] = 1.0
    with pytest.raises(DataError, match="none of which has measurements"):
        cut_folds(Dataset.from_arrays(y, np.ones((100, 1))), 5, False, 4)


def test_noise_of_data_without_their_drift_is_set_on_futures():
    """And only those of which enough is known: the drift of the others is not even looked for."""
    rng = np.random.default_rng(0)
    y = 0.01 * np.arange(60.0)[:, None] + rng.standard_normal((60, 1))
    data = Dataset.from_arrays(y, rng.standard_normal((60, 1))).remove_drift(0.5)
    parts = cut_folds(data, 5, data.has_drift, 4)
    assert [(len(part.train[0]), part.test[0].start) for part in parts] == [(36, 36), (48, 48)]
    ends = [part.test[0].removed(np.array([59]))[0, 0] for part in parts]
    assert ends[0] != ends[1] != data[0].removed(np.array([59]))[0, 0]
