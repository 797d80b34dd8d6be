"""A folder belongs to what has started in it, also if somebody has broken its file."""

import errno
import signal
import subprocess
import sys

import numpy as np
import pytest

import gpssm
from gpssm.base.errors import ConfigError
from gpssm.base.locks import alone_in, claim

HOLDER = """
import pathlib, sys, time
from gpssm.base.locks import alone_in
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


def is_free(folder):
    try:
        with alone_in(folder, "run_dir"):
            return True
    except ConfigError:
        return False


@pytest.fixture
def elsewhere():
    """Starts a process that works in a folder, and says when it does."""
    started = []

    def hold(folder):
        command = [sys.executable, "-c", HOLDER, str(folder)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "here\n"
        return started[-1]

    yield hold
    for process in started:
        process.kill()
        process.wait(60)


def test_one_process_at_a_time(tmp_path, elsewhere):
    elsewhere(tmp_path / "taken")
    refused = pytest.raises(ConfigError, match=r"--out: got .*in use.*another --out")
    with refused, alone_in(tmp_path / "taken", "--out"):
        pass
    with alone_in(tmp_path / "other", "--out"):
        pass


def test_a_killed_process_lets_go(tmp_path, elsewhere):
    holder = elsewhere(tmp_path)
    assert not is_free(tmp_path)
    holder.send_signal(signal.SIGKILL)
    holder.wait(60)
    assert is_free(tmp_path)


def test_a_process_that_is_there_may_come_in_again(tmp_path):
    with alone_in(tmp_path, "--out"):
        with alone_in(tmp_path, "run_dir"):
            pass
        command = [sys.executable, "-c", HOLDER, str(tmp_path)]
        other = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "in use" in other.stderr, "the inner one has let go for the outer one"


@pytest.mark.skipif(sys.platform == "win32", reason="flock is of Unix")
@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_that_cannot_lock_is_no_obstacle(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, "no locks here")

    monkeypatch.setattr("fcntl.flock", refuse)
    assert is_free(tmp_path)
    assert is_free(tmp_path), "the file that an earlier one has left is no lock"


def test_a_fit_is_alone_in_its_folder(tmp_path, elsewhere):
    y = np.sin(0.3 * np.arange(60))
    settings = {"y": y, "run_dir": tmp_path, "steps": 1, "quiet": True}
    holder = elsewhere(tmp_path)
    with pytest.raises(ConfigError, match=r"run_dir: got .*in use"):
        gpssm.fit(gpssm.pr_ssm(dim_x=1), **settings)
    holder.kill()
    holder.wait(60)
    assert gpssm.fit(gpssm.pr_ssm(dim_x=1), **settings).seed == 0
