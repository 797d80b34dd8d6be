"""Two processes on loopback give the result of one, and outlive the death of one of them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gpssm import ConfigError, connect
from gpssm.base.startup import STOP_SECONDS

WORKER = Path(__file__).with_name("worker.py")
STEPS, LONG = 30, 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Arrays on disk; the runs and what they compile go beside them."""
    folder, rng = tmp_path_factory.mktemp("processes"), np.random.default_rng(0)
    u = rng.standard_normal((300, 1))
    y = np.convolve(u[:, 0], 0.7 ** np.arange(20))[:300, None] + 0.1 * rng.standard_normal((300, 1))
    np.save(folder / "u.npy", u)
    np.save(folder / "y.npy", y)
    return folder


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(processes: int, run_dir: Path, steps: int) -> list[subprocess.Popen]:
    port = free_port()
    return launch(
        [WORKER, *map(str, (i, processes, port, run_dir, steps))] for i in range(processes)
    )


def launch(
    arguments: Iterable[list[object]], scheduler: Callable[[int], dict[str, str]] = lambda _: {}
) -> list[subprocess.Popen]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [
        subprocess.Popen([sys.executable, *each], env=os.environ | scheduler(i), **pipes)
        for i, each in enumerate(arguments)
    ]


def outputs(workers: list[subprocess.Popen]) -> list[str]:
    """What each has printed, after all of them have done their work."""
    told = [worker.communicate(timeout=600) for worker in workers]
    for worker, (_, errors) in zip(workers, told, strict=True):
        assert worker.returncode == 0, errors[-3000:]
    return [out for out, _ in told]


def finish(workers: list[subprocess.Popen]) -> list[dict]:
    return [json.loads(out.splitlines()[-1]) for out in outputs(workers)]


def assert_close(ours: dict, theirs: dict) -> None:
    for name in ("elbo", "parameters"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=2e-3, atol=2e-3)


def test_two_processes_equal_one_and_each_reads_its_share(folder):
    (one,) = finish(start(1, folder / "one", STEPS))
    first, second = finish(start(2, folder / "two", STEPS))
    assert_close(first, one)
    assert first["elbo"] == second["elbo"]
    assert first["parameters"] == second["parameters"]
    assert one["widths"] == [4]
    assert first["widths"] == second["widths"] == [2]
    written = sorted(path.name for path in (folder / "two").iterdir())
    assert written == sorted(path.name for path in (folder / "one").iterdir())


def slurm(job: int) -> Callable[[int], dict[str, str]]:
    """What `srun --ntasks 2` says to each of them."""
    shared = {"SLURM_JOB_ID": str(job), "SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_NTASKS": "2"}
    return lambda i: {**shared, "SLURM_PROCID": str(i), "SLURM_LOCALID": str(i)}


def open_mpi(job: int) -> Callable[[int], dict[str, str]]:
    """What `mpirun -n 2` says to each of them."""
    address = f"{job << 12}.0;tcp://127.0.0.1:34911"
    shared = {"OMPI_MCA_orte_hnp_uri": address, "OMPI_COMM_WORLD_SIZE": "2"}
    ranks = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
    return lambda i: {**shared, **dict.fromkeys(ranks, str(i))}


@pytest.mark.parametrize("scheduler", [slurm, open_mpi])
def test_a_scheduler_says_who_is_who(folder, scheduler):
    job = os.getpid() % 4096  # which JAX makes a port of, as a scheduler numbers its jobs
    command = [WORKER, "0", "2", "0", folder / scheduler.__name__, "3"]
    first, second = finish(launch([command, command], scheduler(job)))
    assert first["parameters"] == second["parameters"]
    assert first["widths"] == second["widths"] == [2]


def checkpoints(run_dir: Path) -> list[int]:
    return [int(path.name) for path in (run_dir / "checkpoints").glob("*") if path.name.isdigit()]


def start_and_wait(run_dir: Path) -> list[subprocess.Popen]:
    """Two processes that have written a checkpoint and have much left to do."""
    workers = start(2, run_dir, LONG)
    deadline = time.monotonic() + 300
    while not checkpoints(run_dir):
        assert all(worker.poll() is None for worker in workers)
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return workers


def test_a_signal_to_one_process_saves_and_stops_both_at_the_same_step(folder):
    run_dir = folder / "stopped"
    workers = start_and_wait(run_dir)
    workers[1].send_signal(signal.SIGTERM)
    errors = [worker.communicate(timeout=300)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [143, 143]
    assert f"Stopped at step {max(checkpoints(run_dir))} by SIGTERM" in errors[0]
    assert "Stopped at step" not in errors[1]


@pytest.fixture(scope="module")
def undisturbed(folder) -> dict:
    """One process that nobody stops."""
    return finish(start(1, folder / "whole", LONG))[0]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_dead_process_stops_the_other_and_a_restart_goes_on(folder, undisturbed, victim):
    run_dir = folder / f"killed-{victim}"
    workers = start_and_wait(run_dir)
    workers[victim].send_signal(signal.SIGKILL)
    died = time.monotonic()
    _, errors = workers[1 - victim].communicate(timeout=4 * STOP_SECONDS)
    assert time.monotonic() - died < 2 * STOP_SECONDS
    assert workers[1 - victim].returncode != 0
    assert "no answer from another process" in errors or "another task died" in errors
    workers[victim].communicate()
    reached = max(checkpoints(run_dir))
    assert 0 < reached < LONG
    first, second = finish(start(2, run_dir, LONG))
    assert len(first["elbo"]) == LONG
    assert first["parameters"] == second["parameters"]
    assert_close(first, undisturbed)


CONFIG = """
method = "vcdt"
[data]
files = ["log.parquet"]
on_disk = true
inputs = ["u"]
outputs = ["y"]
[forecast]
warmup = 2
horizon = 20
particles = 4
[model]
dim_x = 1
recognition = "output"
inducing_points = 4
particles = 4
warmup = 1
[training]
steps = 5
batch_size = 4
sequence_length = 8
calibrate = false
"""


def test_the_command_line_fits_in_two_processes_and_one_of_them_reports(folder):
    columns = np.concatenate([np.load(folder / f"{name}.npy") for name in "uy"], axis=1)
    pd.DataFrame(columns, columns=["u", "y"]).to_parquet(folder / "log.parquet")
    (folder / "config.toml").write_text(CONFIG)
    out, address = folder / "run", f"127.0.0.1:{free_port()}"
    gpssm = ["-c", "from gpssm.cli import main; main()"]
    command = [*gpssm, "fit", "--config", folder / "config.toml", "--out", out, "--json"]
    several = [*command, "--distributed", "--coordinator", address, "--processes", "2"]
    own_cache = {"XDG_CACHE_HOME": str(folder / "cache")}
    first, second = outputs(
        launch(([*several, "--process", str(i)] for i in range(2)), lambda _: own_cache)
    )
    told = first[first.index("{") :]
    assert json.loads(told)["run"] == str(out)
    assert "{" not in second
    assert {"seed-0.gpssm", "report.html", "scores.json"} <= {path.name for path in out.iterdir()}


def test_half_an_address_is_refused():
    with pytest.raises(ConfigError, match="no processes and no process, expected all three"):
        connect("127.0.0.1:1234")
