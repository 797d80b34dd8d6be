"""Which folders `--out` may name: no file of the user's is ever replaced."""

import os
from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.base.errors import ConfigError
from gpssm.base.locks import claim
from gpssm.workflow.folder import check_folder, check_own, mark, refuse_inputs

LEFT = ".data.npz.123.gpssm-tmp"  # by a process that was killed


def test_a_new_an_empty_and_an_own_folder_may_be_used(tmp_path):
    check_folder(tmp_path / "new")
    check_folder(tmp_path)
    (tmp_path / ".lock").touch()
    (tmp_path / LEFT).touch()  # killed before the marker had its name
    check_folder(tmp_path)
    mark(tmp_path, "run")
    (tmp_path / "data.npz").touch()
    check_folder(tmp_path)


def test_the_folder_of_an_older_version_may_be_used(tmp_path):
    """It has an identity, but no marker."""
    for name in ("run.json", "data.npz"):
        (tmp_path / name).touch()
    check_folder(tmp_path)


@pytest.mark.parametrize(
    "name", ["data.npz", "config.toml", "report.html", "run.tmp", "checkpoints"]
)
def test_a_folder_of_the_user_is_refused(name, tmp_path):
    (tmp_path / name).write_text("of the user")
    (tmp_path / LEFT).touch()
    with pytest.raises(ConfigError, match="holds other files"):
        check_folder(tmp_path)
    assert (tmp_path / name).read_text() == "of the user"


@pytest.mark.skipif(os.name == "nt", reason="devices of Unix")
def test_a_device_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"--out: got /dev/null, which is a device or a pipe"):
        check_own(Path("/dev/null"), False, "a folder")


@pytest.fixture
def run(tmp_path):
    """The folder of a run, in which somebody has put a log."""
    folder = tmp_path / "runs" / "tank"
    mark(folder, "run")
    (folder / "deep").mkdir()
    for path in (folder / "log.csv", folder / "deep" / "log.csv", tmp_path / "log.csv"):
        path.write_text("t,y\n")
    (folder / "link.csv").symlink_to(tmp_path / "log.csv")
    (tmp_path / "outside.csv").symlink_to(folder / "log.csv")
    (tmp_path / "same").symlink_to(folder, target_is_directory=True)
    return folder


INSIDE = {
    "in it": "runs/tank/log.csv",
    "in a folder of it": "runs/tank/deep/log.csv",
    "a link in it to elsewhere": "runs/tank/link.csv",
    "a link elsewhere into it": "outside.csv",
    "by another name of the folder": "same/log.csv",
    "by a way round": "runs/../runs/tank/log.csv",
}


@pytest.mark.parametrize("file", INSIDE.values(), ids=INSIDE)
@pytest.mark.parametrize("out", ["runs/tank", "same", "runs/tank/../tank"])
def test_a_folder_with_an_input_is_refused(file, out, run, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"--out: got .*, which holds the input \w+\.csv"):
        check_folder(tmp_path / out, [tmp_path / file])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="holds the input"):
        check_folder((tmp_path / out).relative_to(tmp_path), [file])


def test_inputs_beside_the_folder_are_no_obstacle(run, tmp_path):
    before = sorted(run.rglob("*"))
    refuse_inputs(run, [tmp_path / "log.csv", tmp_path / "runs" / "tank.csv"])
    assert sorted(run.rglob("*")) == before


# ---------------------------------------------------------------------- without the command line

Y = np.sin(0.3 * np.arange(40))
TINY = {"dim_x": 1, "inducing_points": 3, "particles": 2, "recognition": "output"}


@pytest.mark.parametrize("name", ["checkpoints/7/weights", "seed-0.gpssm", "history-seed-0.csv"])
def test_fit_leaves_what_it_would_overwrite(name, tmp_path):
    """Orbax would delete a checkpoint that it cannot read, and all but the newest three."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("of the user")
    with pytest.raises(ConfigError, match=r"run_dir: got .*which holds .* but no run\.json"):
        gpssm.fit(gpssm.pr_ssm(**TINY), y=Y, run_dir=tmp_path, steps=1, quiet=True)
    assert path.read_text() == "of the user"
    assert not (tmp_path / "run.json").exists()


def test_fit_goes_on_where_it_was_killed_before_anything_was_saved(tmp_path):
    """Earlier versions made the folder of checkpoints first."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / ".run.json.123.gpssm-tmp").write_text("{")
    gpssm.fit(gpssm.pr_ssm(**TINY), y=Y, run_dir=tmp_path, steps=1, quiet=True)
    assert sorted(os.listdir(tmp_path)) == [
        ".lock", "checkpoints", "history-seed-0.csv", "run.json", "seed-0.gpssm",
    ]  # fmt: skip


def test_half_a_checkpoint_is_removed(tmp_path):
    """Else a later one of the same step would be written into it."""
    settings = {"y": Y, "run_dir": tmp_path, "steps": 1, "quiet": True}
    gpssm.fit(gpssm.pr_ssm(**TINY), **settings)
    half = tmp_path / "checkpoints" / "2.orbax-checkpoint-tmp"
    (half / "default").mkdir(parents=True)
    gpssm.fit(gpssm.pr_ssm(**TINY), **settings)
    assert os.listdir(half.parent) == ["1"]


def test_a_checkpoint_is_on_disk_before_training_goes_on(tmp_path, monkeypatch):
    """Orbax itself does not wait for the disk; a power cut would leave empty files."""
    flushed, fsync = set(), os.fsync

    def watched(descriptor):
        flushed.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    gpssm.fit(gpssm.pr_ssm(**TINY), y=Y, run_dir=tmp_path, steps=1, quiet=True)
    written = [tmp_path / "checkpoints" / "1", *(tmp_path / "checkpoints" / "1").rglob("*")]
    assert len(written) > 3
    assert {path.stat().st_ino for path in written} <= flushed


def test_the_identity_is_written_before_anything_else(tmp_path, monkeypatch):
    def killed(run_dir):
        raise KeyboardInterrupt

    monkeypatch.setattr("gpssm.training.checkpoints._manager", killed)
    with pytest.raises(KeyboardInterrupt):
        gpssm.fit(gpssm.pr_ssm(**TINY), y=Y, run_dir=tmp_path, steps=1, quiet=True)
    assert sorted(os.listdir(tmp_path)) == [".lock", "run.json"]


@pytest.mark.parametrize("text", ['{"mine": 1}', "[1, 2]", '{"model": 3}', "7"])
def test_an_identity_of_another_program_is_refused(text, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(text)
    identity, known = {"model": {"k": 1}, "seeds": [0]}, {"model": {"k": 1}}
    with pytest.raises(ConfigError, match="run_dir: got"):
        claim(path, identity, "run_dir", known)
    assert path.read_text() == text
