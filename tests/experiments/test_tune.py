"""The search: folds of the training part only, one file per candidate, and a choice."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.grid import run_jobs
from experiments.searches import Folds, make_folds
from rich.console import Console

import gpssm
from experiments import tune
from gpssm.prediction import blocked_folds
from gpssm.training.progress import silent


def test_the_grid_is_every_combination():
    grid = {"training": {"steps": [1, 2]}, "model": {"noise_draw": ["shared"]}}
    assert tune.candidates(grid) == [
        {"training.steps": 1, "model.noise_draw": "shared"},
        {"training.steps": 2, "model.noise_draw": "shared"},
    ]


def test_learning_rates_and_weights_share_a_program():
    grid = {"training": {"steps": [9], "inducing_kl": [1.0, 3.0]}, "model": {"lag": [4, 8]}}
    programs, beside = tune.split(grid)
    assert programs == {"training": {"steps": [9]}, "model": {"lag": [4, 8]}}
    assert beside == {"training": {"inducing_kl": [1.0, 3.0]}}


BESIDE = {"training": {"inducing_kl": [0.5, 2.0], "learning_rate": [0.05]}}
SHORT = {"training.steps": 4, "training.validate_steps": 2, "training.schedule": "constant"}


def job(tiny, data, results):
    return tune.make_job(tiny, data, "cbf-ssm-1", SHORT, BESIDE, Folds(2, 2), results)


@pytest.fixture(scope="module")
def record(data, tiny):
    return job(tiny, data, Path()).run(silent)


def test_every_candidate_has_a_point_for_each_step_at_which_it_was_scored(record):
    steps = [
        (p["candidate"]["training.inducing_kl"], p["candidate"]["training.steps"])
        for p in record["points"]
    ]
    assert steps == [(0.5, 2), (0.5, 4), (2.0, 2), (2.0, 4)]
    assert all(
        len(point["rmse"]) == len(point["log_likelihood"]) == 2 for point in record["points"]
    )
    assert len({tuple(point["rmse"]) for point in record["points"]}) == 4


def test_the_score_of_all_folds_is_not_that_of_the_worst():
    point = {"rmse": [1.0, 2.0, 40.0], "log_likelihood": [-1.0, 0.5, -90.0]}
    assert tune.over_folds(point) == {"rmse": 2.0, "log_likelihood": -1.0}
    lost = tune.over_folds({"rmse": [1.0, None], "log_likelihood": [0.0, 1.0]})
    assert lost == {"rmse": None, "log_likelihood": None}


def test_ahead_all_that_is_forecast_counts_alike():
    point = {"rmse": [1.0, 7.0], "log_likelihood": [-1.0, 0.5]}
    assert tune.over_folds(point, ahead=True) == {"rmse": 5.0, "log_likelihood": -0.25}


def test_a_point_is_what_a_fit_of_as_many_steps_on_the_fold_gives(record, data, tiny):
    """The last point of the second candidate on the second fold, from both seeds."""
    settings = job(tiny, data, Path()).settings
    fold = blocked_folds(data.train, 2)[1]
    shortest = min(len(run) for run in fold.train)
    given = {
        name: getattr(settings.training, name) for name in type(settings.training).model_fields
    }
    given |= {"inducing_kl": 2.0, "learning_rate": 0.05}
    given |= {"sequence_length": min(given["sequence_length"], shortest)}
    runs = gpssm.fit(settings.model, fold.train, seeds=2, quiet=True, validation=fold.test, **given)
    alone = np.mean([run.history.table["validation_rmse"].iloc[-1] for run in runs])
    assert record["points"][-1]["rmse"][1] == pytest.approx(alone, rel=1e-3)


def test_of_many_folds_the_last_ones_can_do(data):
    folds = Folds(4, 1)
    (only,) = folds.of(data)
    wanted = blocked_folds(data.train, 4)[3]
    assert [len(run) for run in only.test] == [len(run) for run in wanted.test]
    assert only.test[0].y[0] == wanted.test[0].y[0]
    assert folds.label == "folds=1of4" != Folds(4, 4).label


def test_ahead_nothing_trains_that_came_later(data):
    folds = make_folds(4, None, ahead=True)
    assert (folds.held, folds.label) == (3, "ahead=3of4")
    assert len(folds.of(data)) == 3
    for fold in folds.of(data):
        (past,), (future,) = fold.train, fold.test
        assert past.start + len(past) == future.start
    assert make_folds(4, None, ahead=False) == Folds(4, 4)


def test_the_test_part_is_never_looked_at(record, data, tiny):
    runs = tuple(
        replace(run, y=np.full_like(run.y, 1e6)) if run.part == "test" else run for run in data
    )
    spoilt = job(tiny, replace(data, experiments=runs), Path()).run(silent)
    assert record["points"] == spoilt["points"]


def test_candidates_are_kept_and_not_computed_again(data, tiny, tmp_path):
    first = job(tiny, data, tmp_path)
    assert run_jobs([first]) == []
    assert "inducing_kl=0.5+2.0" in first.path.name
    before = first.path.stat().st_mtime_ns
    assert job(tiny, data, tmp_path).is_done
    assert run_jobs([job(tiny, data, tmp_path)]) == []
    assert first.path.stat().st_mtime_ns == before
    summary = tune.summarise([first], "rmse", False, Console(quiet=True))
    assert summary["cbf-ssm-1"]["furnace"]["candidate"]["training.steps"] in (2, 4)


def test_the_best_comes_first_and_what_diverged_last():
    records = [
        {"rmse": value, "log_likelihood": ll} for value, ll in ((2, -1), (None, None), (1, -3))
    ]
    assert [r["rmse"] for r in tune.ranking(records, "rmse")] == [1, 2, None]
    assert [r["rmse"] for r in tune.ranking(records, "log_likelihood")] == [2, 1, None]


def test_one_default_for_all_is_judged_relative_to_the_best_of_each():
    scores = {("a", 1): 1.0, ("a", 2): 2.0, ("b", 1): 40.0, ("b", 2): 10.0, ("a", 3): 0.5}
    records = [
        {"dataset": name, "candidate": {"training.steps": steps}, "rmse": rmse}
        for (name, steps), rmse in scores.items()
    ]
    found = tune.over_datasets(records)
    assert list(found) == ["steps 2", "steps 1"]
    assert found["steps 2"] == pytest.approx(2.0)  # of 4 and 1
