"""Full disks, damaged checkpoints, foreign directories: the older checkpoints survive."""

import json
import shutil

import numpy as np
import orbax.checkpoint as ocp
import pandas as pd
import pytest
from trainee import fingerprint, fit

import gpssm
from gpssm import load
from gpssm.base.errors import ConfigError, GpssmWarning
from gpssm.training import History

STEPS = 60


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody disturbed."""
    run_dir = tmp_path_factory.mktemp("whole") / "run"
    return fingerprint(fit(run_dir, STEPS)), run_dir


def copy(whole, tmp_path):
    return shutil.copytree(whole[1], tmp_path / "run")


def test_a_finished_run_is_not_trained_again(whole, tmp_path, monkeypatch):
    run_dir = copy(whole, tmp_path)
    monkeypatch.setattr("gpssm.training.loop.run_chunk", None)  # calling it would fail
    assert fingerprint(fit(run_dir, STEPS)) == whole[0]


def test_a_model_without_hidden_states_is_saved_too(tmp_path, monkeypatch):
    """It has parameters of size zero, which Orbax refuses to write."""
    tiny = {"dim_x": 1, "inducing_points": 3, "particles": 2, "recognition": "output"}
    data = {"y": np.sin(np.arange(20.0)), "run_dir": tmp_path / "run", "quiet": True}
    first = gpssm.fit(gpssm.pr_ssm(**tiny), **data, steps=3)
    monkeypatch.setattr("gpssm.training.loop.run_chunk", None)  # calling it would fail
    assert fingerprint(gpssm.fit(gpssm.pr_ssm(**tiny), **data, steps=3)) == fingerprint(first)


@pytest.mark.parametrize("damage", ["truncated", "emptied", "removed"])
def test_a_damaged_newest_checkpoint_falls_back_to_an_older_one(whole, tmp_path, damage):
    run_dir = copy(whole, tmp_path)
    newest = run_dir / "checkpoints" / str(STEPS)
    for file in [p for p in newest.rglob("*") if p.is_file() and "d" in p.parent.parts]:
        if damage == "removed":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[: 10 if damage == "truncated" else 0])
    with pytest.warns(GpssmWarning, match=rf"checkpoint of step {STEPS} .*Trying an older one"):
        assert fingerprint(fit(run_dir, STEPS)) == whole[0]


def test_a_full_disk_costs_no_older_checkpoint(whole, tmp_path, monkeypatch):
    """Every save after step 20 fails, as on a full disk; training ends all the same."""
    save = ocp.CheckpointManager.save

    def failing(self, step, *args, **kwargs):
        if step > 20:
            raise OSError(28, "No space left on device")
        return save(self, step, *args, **kwargs)

    monkeypatch.setattr(ocp.CheckpointManager, "save", failing)
    run_dir = tmp_path / "run"
    with pytest.warns(GpssmWarning, match="No space left .*newest checkpoint is that of step 20"):
        assert fingerprint(fit(run_dir, STEPS)) == whole[0]
    monkeypatch.undo()
    assert sorted(p.name for p in (run_dir / "checkpoints").iterdir()) == ["20"]
    assert fingerprint(fit(run_dir, STEPS)) == whole[0]


def test_a_history_that_cannot_be_written_costs_nothing_else(whole, tmp_path, monkeypatch):
    def failing(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(History, "to_csv", failing)
    with pytest.warns(GpssmWarning, match="No space left"):
        assert fingerprint(fit(tmp_path / "run", STEPS)) == whole[0]
    assert str(STEPS) in [p.name for p in (tmp_path / "run" / "checkpoints").iterdir()]


def test_the_directory_holds_the_history(whole):
    """As a table for others to read, written with every checkpoint."""
    table = pd.read_csv(whole[1] / "history-seed-0.csv", index_col="step")
    ours = load(whole[1] / "seed-0.gpssm").history.table
    pd.testing.assert_frame_equal(table, ours, check_dtype=False, rtol=1e-9)
    assert np.flatnonzero(table["validation_rmse"].notna()).tolist() == [19, 39, 59]


def test_a_run_that_stopped_early_stays_stopped(tmp_path, monkeypatch):
    """At a learning rate of 3 nothing gets better; the best parameters are on disk."""
    stopping = {"learning_rate": 3.0, "schedule": "constant", "patience": 2}
    run = fit(tmp_path, 600, **stopping)
    table = run.history.table
    assert len(table) < 600
    losses = table["validation_rmse"].dropna()
    assert losses.idxmin() == losses.index[-3]
    monkeypatch.setattr("gpssm.training.loop.run_chunk", None)  # calling it would fail
    assert fingerprint(fit(tmp_path, 600, **stopping)) == fingerprint(run)


def test_other_settings_are_refused_with_the_difference(whole, tmp_path):
    run_dir = copy(whole, tmp_path)
    with pytest.raises(ConfigError, match=r"training.learning_rate: was 0.1, is 0.01"):
        fit(run_dir, STEPS, learning_rate=0.01)
    with pytest.raises(ConfigError, match=r"training.patience: was None, is 3"):
        fit(run_dir, STEPS, patience=3)
    with pytest.raises(ConfigError, match=r"seeds: was \[0\], is \[3\]"):
        fit(run_dir, STEPS, seed=3)
    assert fingerprint(fit(run_dir, STEPS)) == whole[0]


def test_other_data_are_refused(whole, tmp_path, monkeypatch):
    run_dir = copy(whole, tmp_path)
    u, y = np.random.default_rng(1).standard_normal((2, 300, 1))
    monkeypatch.setattr("trainee.record", lambda: (u, y))
    with pytest.raises(ConfigError, match=r"holds another run; different here: data: was"):
        fit(run_dir, STEPS)


def test_other_validation_data_are_refused(whole, tmp_path):
    run_dir = copy(whole, tmp_path)
    with pytest.raises(ConfigError, match=r"validation: was [0-9a-f]{64}, is None"):
        fit(run_dir, STEPS, validation=None)


def test_the_pace_of_checkpoints_is_no_part_of_a_run(whole, tmp_path):
    assert fingerprint(fit(copy(whole, tmp_path), STEPS, checkpoint_steps=10)) == whole[0]


def test_the_directory_says_what_it_is(whole):
    identity = json.loads((whole[1] / "run.json").read_text())
    assert identity["model"]["name"] == "cbf-ssm-50"
    assert identity["training"]["steps"] == STEPS
    assert len(identity["data"]) == len(identity["validation"]) == 64
