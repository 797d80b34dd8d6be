"""Several starts of a seed: each is a training of its own, and one is kept that has not failed."""

import json
import signal
from contextlib import nullcontext
from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest
from test_validation import MODEL, SETTINGS, TRAIN, UNSEEN, fit, scores

import gpssm
from gpssm.base.errors import GpssmWarning
from gpssm.fitted import fitting
from gpssm.training import (
    Failure,
    History,
    TrainingResult,
    cut_stretches,
    keep_one,
    long_stretches,
    loop,
    open_loop_loss,
    start_keys,
)
from gpssm.training.loop_state import Track
from gpssm.training.signals import StopRequest
from gpssm.training.starts import first_to_hold


@pytest.fixture(scope="module")
def runs():
    """Four runs that differ, two of them hardly trained."""
    trained = fit(validation=None, seeds=2, steps=40)
    return trained + fit(validation=None, seeds=2, seed=2, steps=1)


def results(runs, gave_up=()):
    failure = Failure(3, ("kernel",))
    return [
        TrainingResult(run.system, run.system, run.history, failure if i in gave_up else None)
        for i, run in enumerate(runs)
    ]


def kept(runs, starts, judge, metric="rmse", gave_up=()):
    """Which of the runs are kept, by data that were held out, by their own, or by the ELBO."""
    with jax.enable_x64(True):
        stretches = cut_stretches(UNSEEN, runs[0].normalisation, runs[0].training)
        own, held_out = (stretches if judge == each else None for each in ("own", "held out"))
        found = keep_one(results(runs, gave_up), starts, own, held_out, metric)
    return [next(i for i, r in enumerate(runs) if r.history is each.history) for each in found]


@pytest.mark.parametrize(("metric", "column", "sign"), [("rmse", 0, 1), ("log_likelihood", 1, -1)])
def test_of_what_was_held_out_the_best_forecast_is_kept(runs, metric, column, sign):
    losses = [sign * scores(run, UNSEEN[0])[column] for run in runs]
    order = np.argsort(losses)
    assert kept(runs, 4, "held out", metric) == [order[0]]
    worst_first = [runs[i] for i in reversed(order)]
    assert kept(worst_first, 2, "held out", metric) == [1, 3]  # of every two, one
    assert kept(runs, 1, "held out", metric) == [0, 1, 2, 3]


def test_of_its_own_data_the_first_that_has_not_failed_is_kept(runs):
    """The two that were hardly trained fail, and come first here."""
    errors = [scores(run, UNSEEN[0])[0] for run in runs]
    assert max(errors[:2]) < 1.2 * min(errors)
    assert min(errors[2:]) > 1.3 * min(errors)
    assert kept(runs, 4, "own") == [0]
    assert kept([runs[1], runs[0], *runs[2:]], 4, "own") == [0]  # not the lowest, the first
    assert kept([*runs[2:], *runs[:2]], 4, "own") == [2]
    assert kept([runs[2], runs[1], runs[0], runs[3]], 2, "own") == [1, 2]


@pytest.mark.parametrize(
    ("errors", "first"),
    [([1.25, 1.0], 0), ([1.26, 1.0], 1), ([3.0, 2.0, 1.0, 1.1], 2), ([np.inf, 4.0], 1),
     ([np.inf, np.inf], 0)],
)  # fmt: skip
def test_a_quarter_above_the_lowest_error_has_failed(errors, first):
    assert first_to_hold(errors) == first


def test_where_nothing_can_be_simulated_the_elbo_decides(runs):
    elbos = [run.history.table["elbo"].iloc[-max(len(run.history.table) // 10, 1) :].mean()
             for run in runs]  # fmt: skip
    assert kept(runs, 4, "elbo") == [np.argmax(elbos)]
    assert runs[0].history.final_elbo == pytest.approx(elbos[0])


def test_a_start_that_gave_up_is_kept_only_where_all_did(runs):
    assert kept(runs, 4, "own", gave_up=[0]) == [1]
    assert kept(runs, 4, "own", gave_up=[0, 1, 2]) == [3]
    assert kept(runs, 4, "own", gave_up=range(4)) == [0]


def test_an_elbo_that_was_never_finite_is_the_worst(runs):
    lost = History.from_columns({"elbo": np.full(20, np.nan)})
    assert lost.final_elbo == -np.inf
    assert kept([replace(runs[0], history=lost), *runs[1:]], 4, "elbo") != [0]


def test_the_first_start_is_the_seed_alone_and_the_others_are_other_trainings(tmp_path):
    alone = fit()
    run = fit(starts=3, run_dir=tmp_path)
    paths = [tmp_path / f"history-seed-0-start-{start}.csv" for start in range(3)]
    told = [pd.read_csv(path, index_col="step") for path in paths]
    assert sorted(p.name for p in tmp_path.glob("*.gpssm")) == ["seed-0.gpssm"]
    np.testing.assert_allclose(told[0]["elbo"], alone.history.table["elbo"], rtol=1e-9)
    assert len({round(each["elbo"].iloc[-1], 9) for each in told}) == 3
    # with validation data these decide, at the best step of each start
    best = [each["validation_rmse"].min() for each in told]
    assert run.history.table["validation_rmse"].min() == pytest.approx(min(best))
    assert scores(run, UNSEEN[0])[0] == pytest.approx(min(best), rel=1e-6)
    own = pd.read_csv(tmp_path / "history-seed-0.csv", index_col="step")
    np.testing.assert_allclose(own["elbo"], run.history.table["elbo"])
    np.testing.assert_allclose(own["elbo"], told[int(np.argmin(best))]["elbo"])


def test_without_validation_data_those_that_were_trained_on_decide():
    """Where another start than the first one is kept, it simulates them better."""
    once, several = (fit(validation=None, seeds=6, starts=n) for n in (1, 3))
    with jax.enable_x64(True):
        own = long_stretches(TRAIN, once[0].normalisation, once[0].training)
        before, after = (
            np.array([open_loop_loss(run.system, own) for run in runs]) for runs in (once, several)
        )
    same = np.isclose(before, after, rtol=1e-6)
    assert 0 < same.sum() < 6
    assert (after < before)[~same].all()


def test_keys_differ_by_seed_and_start():
    keys = [jax.random.key_data(k).tolist() for seed in (0, 1) for k in start_keys(seed, 3)]
    assert len(set(map(tuple, keys))) == 6
    assert keys[0] == jax.random.key_data(jax.random.key(0)).tolist()


def test_candidates_have_starts_of_their_own():
    settings = {**SETTINGS, "steps": 2, "validation": UNSEEN}
    found = gpssm.fit_candidates(
        MODEL,
        TRAIN,
        [{"learning_rate": 0.1}, {"learning_rate": 0.2}],
        seeds=2,
        starts=2,
        **settings,
    )
    rates = [[run.training.learning_rate for run in each] for each in found]
    assert rates == [[0.1, 0.1], [0.2, 0.2]]
    told = [run.history.table["learning_rate"].iloc[-1] for each in found for run in each]
    np.testing.assert_allclose(told, [0.1, 0.1, 0.2, 0.2])
    assert [run.seed for each in found for run in each] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("gave_up", "ended"), [([], False), ([1], False), ([0, 3], False), ([2, 3], True)]
)
def test_training_ends_where_all_starts_of_a_seed_have_given_up(runs, gave_up, ended):
    """Two seeds with two starts each."""
    training = runs[0].training.replace(starts=2)
    with jax.enable_x64(True):
        track = Track.begin([run.system for run in runs], training)
        failed = np.where(np.isin(np.arange(4), gave_up), 5, -1)
        recovery = track.state.recovery._replace(failed_at=failed)
        track.state = track.state._replace(recovery=recovery)
        assert track.ended(training) is ended


def test_starts_are_at_least_one():
    with pytest.raises(gpssm.ConfigError, match="starts"):
        gpssm.Training(starts=0)


def test_a_start_that_gives_up_costs_nothing_but_its_time(monkeypatch):
    """The first start is not finite from the beginning; what is shown is of the others."""
    made, shown = [], []
    fresh = fitting._fresh_system

    def spoilt(*arguments):
        made.append(fresh(*arguments))
        return jax.tree.map(lambda leaf: leaf * np.nan, made[0]) if len(made) == 1 else made[-1]

    class Watch:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, step, terms):
            shown.append(terms["elbo"])

    monkeypatch.setattr(fitting, "_fresh_system", spoilt)
    with pytest.warns(GpssmWarning, match="1 of 2 starts diverged"):
        run = fit(validation=None, starts=2, steps=75, quiet=False, progress=lambda *_: Watch())
    assert np.isfinite(run.history.table["elbo"]).all()
    assert np.isfinite(shown[-1])
    made.clear()
    with pytest.raises(gpssm.TrainingError, match="seed 0"):
        fit(validation=None, starts=1, steps=75)


def test_a_run_from_before_there_were_starts_goes_on(tmp_path):
    fit(validation=None, run_dir=tmp_path)
    identity = json.loads((tmp_path / "run.json").read_text())
    del identity["training"]["starts"]
    (tmp_path / "run.json").write_text(json.dumps(identity))
    fit(validation=None, run_dir=tmp_path)
    with pytest.raises(gpssm.ConfigError, match=r"training\.starts: was 1, is 2"):
        fit(validation=None, run_dir=tmp_path, starts=2)


def test_a_signal_during_the_last_steps_is_not_lost(tmp_path, monkeypatch):
    """Another fit may be about to follow: all is saved, and the same call ends at once."""
    request = StopRequest()
    request.number = signal.SIGINT
    monkeypatch.setattr(loop, "watch_signals", lambda: nullcontext(request))
    with pytest.raises(gpssm.training.TrainingStopped) as stopped:
        fit(validation=None, run_dir=tmp_path)
    assert stopped.value.code == 130
    monkeypatch.undo()
    again, whole = fit(validation=None, run_dir=tmp_path), fit(validation=None)
    for ours, theirs in zip(*map(jax.tree.leaves, (again.system, whole.system)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
