"""`gpssm fit` as a program of its own: Ctrl-C in the middle, then the same command once more."""

import os
import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from support_cli import CONFIG, write_csv

STEPS = 300  # so many that the signal comes long before the last one
PROGRAM = "from gpssm.cli import main; main()"
PATIENCE = 120.0  # seconds: other tests may keep the machine busy


@pytest.fixture
def command(tmp_path):
    """A fit that leaves a checkpoint after every chunk of steps."""
    log, config = write_csv(tmp_path / "log.csv"), tmp_path / "tiny.toml"
    settings = CONFIG.replace("steps = 6", f"steps = {STEPS}")
    config.write_text(f"{settings}checkpoint_seconds = 0.0\ncalibrate = false\n")
    words = ["fit", log, "--inputs", "pump", "--outputs", "level", "--config", config]
    return [sys.executable, "-c", PROGRAM, *map(str, words), "--out", str(tmp_path / "run")]


def start(command, folder):
    """What is compiled for the first call is there for the second."""
    cache = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.Popen(
        command, env=cache, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def checkpoints(run):
    """The steps of those that are there."""
    names = [path.name for path in (run / "checkpoints").glob("*")]
    return {int(name) for name in names if name.isdigit()}


def watch(process, run, until):
    """Every step that a checkpoint was seen of, until a condition on them holds, or the end."""
    seen, deadline = set(), time.monotonic() + PATIENCE
    while process.poll() is None and not until(seen) and time.monotonic() < deadline:
        seen |= checkpoints(run)
        time.sleep(0.02)
    return seen


def test_ctrl_c_stops_a_fit_and_the_same_command_goes_on(command, tmp_path):
    run = tmp_path / "run"
    process = start(command, tmp_path)
    watch(process, run, until=bool)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert said.rstrip().endswith("Run the same command again to resume.")
    assert said.count("Run the same") == 1
    stopped = int(re.search(r"Stopped at step (\d+) by SIGINT", said)[1])
    assert stopped < STEPS
    assert not (run / "seed-0.gpssm").exists()

    before = checkpoints(run)
    assert max(before) == stopped
    process = start(command, tmp_path)
    later = watch(process, run, until=lambda seen: max(seen, default=0) == STEPS) - before
    printed, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert min(later) > stopped, "it began anew"
    assert "linear ARX" in printed
    assert f"report  {run / 'report.html'}" in printed
    assert len(pd.read_csv(run / "history-seed-0.csv")) == STEPS
