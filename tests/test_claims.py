"""A folder belongs to what has started in it, also if somebody has broken its file."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import gpssm
from gpssm.claims import alone_in, claim
from gpssm.errors import ConfigError

HOLDER = """
import pathlib, sys, time
from gpssm.claims import alone_in
with alone_in(pathlib.Path(sys.argv[1]), "run_dir"):
    print("here", flush=True)
    time.sleep(600)
"""


def test_the_same_goes_on_and_another_is_refused(tmp_path):
    path = tmp_path / "run.json"
    claim(path, {"training": {"steps": 3}}, "run_dir")
    claim(path, {"training": {"steps": 3}}, "run_dir")
    with pytest.raises(ConfigError, match=r"training.steps: was 3, is 4"):
        claim(path, {"training": {"steps": 4}}, "run_dir")


def test_a_damaged_file_is_one_sentence(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"training": ')
    with pytest.raises(ConfigError, match=r"run_dir: got .*damaged.*Use another run_dir"):
        claim(path, {"training": {}}, "run_dir")


def test_one_at_a_time(tmp_path):
    with alone_in(tmp_path / "new", "--out"):
        taken = pytest.raises(ConfigError, match=r"--out: got .*in use.*another --out")
        with taken, alone_in(tmp_path / "new", "--out"):
            pass
        with alone_in(tmp_path / "other", "--out"):
            pass
    with alone_in(tmp_path / "new", "--out"):
        pass


def test_a_killed_process_lets_go(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "here\n"
        with pytest.raises(ConfigError, match="in use"), alone_in(tmp_path, "run_dir"):
            pass
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
    with alone_in(tmp_path, "run_dir"):
        pass


def test_a_disk_that_cannot_lock_is_no_obstacle(tmp_path, monkeypatch):
    def refuse(lock):
        raise OSError("no locks available")

    monkeypatch.setattr("gpssm.claims.FileLock.__enter__", refuse)
    with alone_in(tmp_path, "run_dir"):
        pass


def test_a_fit_is_alone_in_its_folder(tmp_path):
    y = np.sin(0.3 * np.arange(60))
    settings = {"y": y, "run_dir": tmp_path, "steps": 1, "quiet": True}
    with alone_in(tmp_path, "run_dir"), pytest.raises(ConfigError, match=r"run_dir: got .*in use"):
        gpssm.fit(gpssm.pr_ssm(dim_x=1), **settings)
    assert gpssm.fit(gpssm.pr_ssm(dim_x=1), **settings).seed == 0
