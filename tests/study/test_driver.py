"""The driver: nothing twice, nothing lost, nothing of another study; and what is best."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import gpssm
from gpssm import ConfigError, DataError, TrainingError, sweep
from gpssm.study import Search
from gpssm.study.proposals import propose
from gpssm.study.space import draw, grid
from gpssm.study.table import Trials
from gpssm.study.trials import make_batches
from support_study import MODEL, RATES, TRAINING, loss_of, make_data, make_study, pretend

PATIENCE = 240.0  # seconds: other tests may keep the machine busy
needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None,
    reason="optuna is not installed: pip install 'gpssm[cluster]'",
)


@pytest.fixture
def pretended(monkeypatch):
    """Fits that take no time; the batches that were asked for."""
    asked = []

    def note(study, data, batch, progress):
        asked.append(batch)
        return pretend(study, data, batch, progress)

    monkeypatch.setattr("gpssm.study.driver.fit_batch", note)
    return asked


def once(table, configurations, datasets=1, seeds=2):
    """Every trial has exactly one row."""
    keys = table[["configuration", "dataset", "seed"]]
    return len(table) == configurations * datasets * seeds and not keys.duplicated().any()


# ---------------------------------------------------------------------- going on


def test_every_trial_has_a_row_that_pandas_reads(tmp_path, pretended):
    found = sweep(make_study(), {"a": make_data(), "b": make_data(seed=1)}, out=tmp_path)
    assert once(found.table, 4, datasets=2)
    outside = pd.read_parquet(found.path).sort_values(["configuration", "dataset", "seed"])
    pd.testing.assert_frame_equal(outside.reset_index(drop=True), found.table)
    assert outside["training.learning_rate"].dtype == float


def test_a_second_start_fits_nothing(tmp_path, pretended, capsys):
    for _ in range(2):
        sweep(make_study(), {"lag": make_data()}, out=tmp_path)
    assert len(pretended) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "4 of 4 are there, 0 to do"


def test_quiet_is_quiet(tmp_path, pretended, capsys):
    sweep(make_study(), {"lag": make_data()}, out=tmp_path, quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["random", pytest.param("optuna", marks=needs_optuna)])
def test_a_study_may_go_further_and_the_old_part_stays(kind, tmp_path, pretended):
    few, more = (make_study(kind, search={"configurations": n, "at_once": 3}) for n in (4, 8))
    first = sweep(few, {"lag": make_data()}, out=tmp_path).table
    both = sweep(more, {"lag": make_data()}, out=tmp_path).table
    assert once(both, 8)
    pd.testing.assert_frame_equal(first, both[:8])


def test_another_study_is_refused_with_the_difference(tmp_path, pretended):
    data = {"lag": make_data()}
    sweep(make_study(), data, out=tmp_path)
    changed = make_study(training={**TRAINING, "steps": 4}, objective="log_likelihood")
    with pytest.raises(ConfigError, match=r"objective: was rmse, is log_likelihood.*steps: was 3"):
        sweep(changed, data, out=tmp_path)
    with pytest.raises(ConfigError, match=r"data\.lag"):
        sweep(make_study(), {"lag": make_data(seed=1)}, out=tmp_path)
    sweep(make_study(side_by_side=1), data, out=tmp_path)  # how the work is cut is no difference


def test_a_stop_while_writing_leaves_no_row(tmp_path, pretended, monkeypatch):
    data = {"lag": make_data()}
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *paths: _interrupt() if "parquet" in paths[1].name else
                      os.rename(*paths))  # fmt: skip
        with pytest.raises(KeyboardInterrupt):
            sweep(make_study(), data, out=tmp_path)
    assert Trials(tmp_path / "trials.parquet", make_study()).read().empty
    assert once(sweep(make_study(), data, out=tmp_path).table, 4)


def _interrupt():
    raise KeyboardInterrupt


def test_the_test_part_of_the_data_is_not_used(tmp_path, pretended, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "gpssm.study.driver.fit_batch",
        lambda study, data, batch, progress: seen.append(data) or pretend(study, data, batch, None),
    )
    sweep(make_study(), {"lag": make_data().split(train=0.7)}, out=tmp_path)
    assert [len(each[0]) for each in seen] == [42]


@pytest.mark.parametrize("data", [{}, {"a/b": make_data()}])
def test_data_need_a_name_that_can_be_a_file(data, tmp_path):
    with pytest.raises(DataError, match=r"at least one|names files"):
        sweep(make_study(), data, out=tmp_path)


# ---------------------------------------------------------------------- what is best


def test_the_best_is_that_of_all_data_sets_and_not_of_the_one_with_large_errors(
    tmp_path, pretended
):
    found = sweep(make_study(), {"easy": make_data(), "hard": make_data()}, out=tmp_path)
    best = found.best()
    assert (best.training["learning_rate"], best.training["inducing_kl"]) == (0.1, 3.0)
    assert found.ranking["score"].iloc[0] == pytest.approx(np.sqrt(10.0))  # of 1 and 10
    assert found.best("hard") == best
    assert found.ranking.index[0] == 3
    with pytest.raises(ConfigError, match="one of easy, hard"):
        found.best("heard")


def test_a_configuration_that_failed_once_is_never_the_best(tmp_path, monkeypatch):
    def fail(study, data, batch, progress):
        rows = pretend(study, data, batch, progress)
        for row in rows:
            if row["configuration"] == 3 and row["seed"] == 1:
                row.update(rmse=None, log_likelihood=None, error="no finite gradient")
        return rows

    monkeypatch.setattr("gpssm.study.driver.fit_batch", fail)
    found = sweep(make_study(), {"lag": make_data()}, out=tmp_path)
    assert found.best().training["inducing_kl"] == 1.0
    assert np.isnan(found.ranking["score"].iloc[-1])


def test_without_any_score_the_first_error_is_told(tmp_path, monkeypatch):
    nothing = {"rmse": None, "log_likelihood": None, "error": "no finite gradient"}
    monkeypatch.setattr(
        "gpssm.study.driver.fit_batch",
        lambda *arguments: [{**row, **nothing} for row in pretend(*arguments)],
    )
    with pytest.raises(TrainingError, match="no finite gradient"):
        sweep(make_study(), {"lag": make_data()}, out=tmp_path).best()


# ---------------------------------------------------------------------- Optuna


SPACE = {"learning_rate": {"low": 1e-4, "high": 10.0, "log": True}, "inducing_kl": [1.0, 3.0]}


@needs_optuna
def test_optuna_learns_from_what_it_is_told():
    search = Search(kind="optuna", training=SPACE)
    told = []
    for first in range(0, 48, search.at_once):
        told += [(each, loss_of(each)) for each in propose(search, told, first)]
    drawn = [loss_of(draw(search, number).chosen) for number in range(48)]
    assert np.median([loss for _, loss in told[24:]]) < 0.6 * np.median(drawn)


@needs_optuna
def test_optuna_keeps_away_from_what_failed():
    search = Search(kind="optuna", training=SPACE, at_once=20)
    large = lambda chosen: chosen["training.learning_rate"] > 0.1  # noqa: E731
    drawn = [draw(search, number).chosen for number in range(30)]
    told = [(each, np.inf if large(each) else 1.0) for each in drawn]
    assert sum(large(each) for each in propose(search, told, 30)) < 6  # of 20; by chance 8


@needs_optuna
def test_optuna_after_a_kill_asks_for_the_same_again(tmp_path, monkeypatch):
    data, calls = {"lag": make_data()}, []

    def until_killed(*arguments):
        calls.append(arguments)
        if len(calls) == 11:
            raise KeyboardInterrupt
        return pretend(*arguments)

    monkeypatch.setattr("gpssm.study.driver.fit_batch", pretend)
    study = make_study("optuna", search={"training": SPACE}, side_by_side=2)
    whole = sweep(study, data, out=tmp_path / "whole").table
    monkeypatch.setattr("gpssm.study.driver.fit_batch", until_killed)
    with pytest.raises(KeyboardInterrupt):
        sweep(study, data, out=tmp_path / "killed")
    again = sweep(study, data, out=tmp_path / "killed").table
    pd.testing.assert_frame_equal(again.drop(columns="finished"), whole.drop(columns="finished"))


# ---------------------------------------------------------------------- real fits


def test_fits_of_equal_shape_share_a_program_that_has_room_for_them():
    shapes = {"training": RATES, "model": {"dim_x": [2, 3]}}
    study = make_study(model={}, search=shapes, side_by_side=6)
    batches = make_batches(study, "lag", grid(study.search))
    sizes = [
        ({each.chosen["model.dim_x"] for each in batch.configurations}, len(batch.configurations))
        for batch in batches
    ]
    assert sizes == [({2}, 3), ({2}, 1), ({3}, 3), ({3}, 1)]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A study that is really fitted, on data that are split."""
    data = make_data().split(train=0.8)
    return sweep(make_study(), {"lag": data}, out=tmp_path_factory.mktemp("study"), quiet=True)


def test_a_batch_gives_what_single_fits_give(fitted):
    row = fitted.table.iloc[-1]
    settings = {**TRAINING, "learning_rate": 0.1, "inducing_kl": 3.0}
    train = make_data().split(train=0.8).train
    settings |= {"calibrate": False, "validation": 0.2, "quiet": True}
    run = gpssm.fit(gpssm.pr_ssm(**MODEL), train, seed=1, **settings)
    scores = run.history.table["validation_rmse"]
    assert (row["configuration"], row["seed"], row["best_step"]) == (3, 1, 3)
    assert row["rmse"] == pytest.approx(scores.iloc[-1], rel=1e-3)
    assert fitted.table["rmse"].nunique() == 8


def test_one_that_diverges_fails_alone(tmp_path):
    study = make_study(search={"training": {"learning_rate": [0.1, 1e3]}}, seeds=1)
    table = sweep(study, {"lag": make_data()}, out=tmp_path, quiet=True).table
    assert np.isfinite(table["rmse"][0])
    assert "finite" in table["error"][1]
    assert pd.isna(table["rmse"][1])


PROGRAM = """
import sys, gpssm
from support_study import make_data, make_study
gpssm.prepare()
study = make_study(side_by_side=1, search={"training": {"learning_rate": [0.01, 0.02, 0.03, 0.04]}})
gpssm.sweep(study, {"lag": make_data()}, out=sys.argv[1])
"""


def test_a_driver_that_is_killed_loses_the_trials_in_flight_and_no_other(tmp_path):
    out = tmp_path / "study"
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", PROGRAM, str(out)]
    parts = lambda: {p: p.stat().st_mtime_ns for p in out.glob("trials.parquet/*.parquet")}  # noqa: E731
    driver = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE
    while not parts() and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    before = parts()
    assert 0 < len(before) < 4
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=PATIENCE)
    assert once(pd.read_parquet(out / "trials.parquet"), 4)
    assert before.items() <= parts().items(), "a finished trial was fitted again"
