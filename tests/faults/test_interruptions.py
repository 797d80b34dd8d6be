"""Killed, interrupted, terminated: a run that is started again ends as if nothing had happened."""

import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

TRAINEE = Path(__file__).with_name("trainee.py")
STEPS = 800


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """Starts a trainee. All of them, those of other workers too, share what was compiled."""
    compiled = tmp_path_factory.getbasetemp().parent / "trainee-xla"
    return partial(_launch, compiled)


def _launch(compiled: Path, run_dir: Path) -> subprocess.Popen:
    command = [sys.executable, str(TRAINEE), str(run_dir), str(STEPS), str(compiled)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def checkpoint_steps(run_dir: Path) -> list[int]:
    folder = run_dir / "checkpoints"
    return sorted(int(p.name) for p in folder.glob("*") if p.name.isdigit())


def wait_for_progress(process: subprocess.Popen, run_dir: Path, beyond: int) -> bool:
    """Until a checkpoint later than `beyond` exists, or the process has ended."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if any(step > beyond for step in checkpoint_steps(run_dir)):
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    raise TimeoutError("no checkpoint was written")


def finish(launch, run_dir: Path) -> str:
    out, err = launch(run_dir).communicate(timeout=600)
    assert out.startswith("ready"), err
    return out.split()[1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, launch) -> str:
    return finish(launch, tmp_path_factory.mktemp("undisturbed") / "run")


def test_four_kills_at_random_moments_end_bitwise_equal(tmp_path, launch, undisturbed):
    """`make torture` kills a hundred times."""
    rng, run_dir, reached = random.Random(4), tmp_path / "run", 0
    for _ in range(4):
        process = launch(run_dir)
        assert wait_for_progress(process, run_dir, reached), "it ended before it could be killed"
        time.sleep(rng.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        reached = max(checkpoint_steps(run_dir))
    assert 0 < reached < STEPS
    assert finish(launch, run_dir) == undisturbed


def test_a_signal_saves_and_leaves_with_its_code(tmp_path, launch, undisturbed):
    run_dir, reached = tmp_path / "run", 0
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = launch(run_dir)
        assert wait_for_progress(process, run_dir, reached)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        assert process.returncode == code
        reached = max(checkpoint_steps(run_dir))
        assert f"Stopped at step {reached} by {number.name}" in err
        assert "Run the same command again to resume" in err
        assert "Traceback" not in err
    assert finish(launch, run_dir) == undisturbed
