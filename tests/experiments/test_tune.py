"""The search: folds of the training part only, one file per candidate, and a choice."""

import json
from dataclasses import replace

import numpy as np
import pytest
from experiments.config import cell_settings
from experiments.grid import run_jobs
from rich.console import Console

from experiments import tune
from gpssm.training.progress import silent


def test_the_grid_is_every_combination():
    grid = {"training": {"steps": [1, 2]}, "model": {"noise_draw": ["shared"]}}
    assert tune.candidates(grid) == [
        {"training.steps": 1, "model.noise_draw": "shared"},
        {"training.steps": 2, "model.noise_draw": "shared"},
    ]


def test_settings_of_the_command_line():
    assert tune.parse_set("training.steps=500,1000") == {"training": {"steps": [500, 1000]}}
    assert tune.parse_set("training.inducing_kl=0.5") == {"training": {"inducing_kl": [0.5]}}
    words = tune.parse_set("model.noise_draw=shared, independent")
    assert words == {"model": {"noise_draw": ["shared", "independent"]}}
    assert tune.parse_set("model.whitened=true") == {"model": {"whitened": [True]}}


def test_a_candidate_wins_over_every_layer(data, tiny):
    config = {**tiny, "datasets": {"furnace": {"methods": {"vcdt": {"training": {"steps": 9}}}}}}
    found = tune.with_candidate(config, "furnace", "vcdt", {"training.steps": 4})
    assert cell_settings(found, data, "vcdt").training.steps == 4


def test_the_test_part_is_never_looked_at(data, tiny):
    settings = cell_settings({**tiny, "seeds": 1, "seeds_at_once": 1}, data, "arx")
    runs = tuple(
        replace(run, y=np.full_like(run.y, 1e6)) if run.part == "test" else run for run in data
    )
    clean, spoilt = (
        tune.cross_validate(each, "arx", settings, {}, 3, silent)
        for each in (data, replace(data, experiments=runs))
    )
    assert clean["rmse"] == spoilt["rmse"]
    assert clean["folds"] == spoilt["folds"]
    assert len(clean["folds"]) == 3


def test_sequences_are_shortened_to_the_pieces_of_a_fold(data, tiny):
    settings = cell_settings(tiny, data, "pr-ssm")
    short = replace(data, experiments=(data[0].cut(0, 18, "train"),))
    assert tune.fitting(settings, short).training.sequence_length == 18
    assert tune.fitting(settings, data.train) == settings


def job(tiny, data, results, steps):
    return tune.make_job(tiny, data, "gru", {"gru.steps": steps}, 2, results)


def test_candidates_are_kept_and_not_computed_again(data, tiny, tmp_path):
    jobs = [job(tiny, data, tmp_path, steps) for steps in (1, 2)]
    assert run_jobs(jobs) == []
    assert jobs[0].path.name == "folds=2,steps=1.json"
    assert jobs[0].groups == 2  # one training of both seeds per fold
    before = jobs[0].path.stat().st_mtime_ns
    again = [job(tiny, data, tmp_path, steps) for steps in (1, 2)]
    assert all(each.is_done for each in again)
    assert run_jobs(again) == []
    assert jobs[0].path.stat().st_mtime_ns == before
    tune.summarise(jobs, "rmse", tmp_path, Console(quiet=True))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["gru"]["furnace"]["candidate"] in ({"gru.steps": 1}, {"gru.steps": 2})


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
    assert list(found) == ["training.steps 2", "training.steps 1"]
    assert found["training.steps 2"] == pytest.approx(2.0)  # of 4 and 1
