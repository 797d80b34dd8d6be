"""Throughput of one and two devices, and of one and two processes, in turns in one run.

`make scale` runs this and writes `benchmarks/scale.md`. Every way of running is a process of its
own, or two on loopback; all of them are started and compiled first, and then take turns, so that
whatever else the machine does meanwhile hits all alike. The ratios are what counts.
"""

import argparse
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
CORES = 2


class Way(NamedTuple):
    """Some processes, each with as many devices."""

    processes: int
    devices: int

    def __str__(self) -> str:
        return f"{_counted(self.processes, 'process')}, {_counted(self.devices, 'device')} each"


WAYS = (Way(1, 1), Way(1, CORES), Way(CORES, 1))
SIZES = {"small": 5, "sarcos": 1}  # workload: seeds


def _counted(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"


# ---------------------------------------------------------------------- one process


def work(workload: str, seeds: int, way: Way, process: int, port: int) -> None:
    """Compiles the training program, then does some steps for every line that comes in."""
    import jax

    import gpssm

    gpssm.prepare(way.devices)
    if way.processes > 1:
        gpssm.connect(f"127.0.0.1:{port}", way.processes, process)
    from run import Case, training_chunk
    from workloads import WORKLOADS

    from gpssm.training.loop import Together, run_chunk

    with jax.enable_x64(True):
        total = way.processes * way.devices
        case = Case(WORKLOADS[workload], devices=total, seeds=seeds)
        arguments, count, used = training_chunk(case)
        assert used == total, f"{used} of {total} devices"
        run = Together() if way.processes > 1 else run_chunk
        jax.block_until_ready(run(*arguments))
        print("ready", flush=True)
        for _ in sys.stdin:
            begin = time.perf_counter()
            jax.block_until_ready(run(*arguments))
            print((time.perf_counter() - begin) / count, flush=True)


class Team:
    """The processes of one way of running, waiting for their turn."""

    def __init__(self, workload: str, seeds: int, way: Way) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        numbers = [seeds, *way]
        self._workers = [
            subprocess.Popen(
                [sys.executable, __file__, "--worker", workload, *map(str, (*numbers, i, port))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for i in range(way.processes)
        ]

    def hear(self) -> list[str]:
        """The next line of each process, but for what gloo tells of its connections."""
        return [next(self._lines(worker)) for worker in self._workers]

    def _lines(self, worker: subprocess.Popen) -> Iterator[str]:
        while line := worker.stdout.readline():
            if not line.startswith("[Gloo]"):
                yield line
        raise SystemExit("a process has ended; its message is above")

    def seconds_per_step(self) -> float:
        """One turn; the slowest process counts."""
        for worker in self._workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return max(float(line) for line in self.hear())

    def leave(self) -> None:
        for worker in self._workers:
            worker.stdin.close()
        for worker in self._workers:
            worker.wait()


# ---------------------------------------------------------------------- all of them


def measure(workload: str, seeds: int, rounds: int) -> list[str]:
    """The rows of the table for one workload."""
    teams = {way: Team(workload, seeds, way) for way in WAYS}
    for team in teams.values():
        team.hear()  # that it is ready
    times: dict[Way, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, team in teams.items():
            times[way].append(team.seconds_per_step())
    for team in teams.values():
        team.leave()
    label, base = f"{workload}, {_counted(seeds, 'seed')}", _summary(times[WAYS[0]])
    rows = []
    for way, each in times.items():
        median, least = _summary(each)
        ratios = f"{base[0] / median:.2f} | {base[1] / least:.2f}"
        rows.append(f"| {label} | {way} | {1e3 * median:.1f} | {1e3 * least:.1f} | {ratios} |")
    return rows


def _summary(times: list[float]) -> tuple[float, float]:
    """The median, and the minimum: what a disturbed and what an undisturbed machine does."""
    return statistics.median(times), min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it run, not how fast")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--workloads", default=",".join(SIZES))
    parser.add_argument("--out", type=Path, default=HERE / "scale.md")
    parser.add_argument("--worker", nargs=6, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        workload, *numbers = arguments.worker
        seeds, processes, devices, process, port = map(int, numbers)
        work(workload, seeds, Way(processes, devices), process, port)
        return
    rows: list[str] = []
    for workload in ["small"] if arguments.quick else arguments.workloads.split(","):
        seeds = 2 if arguments.quick else SIZES[workload]
        rows += measure(workload, seeds, 1 if arguments.quick else arguments.rounds)
        print("\n".join(rows), flush=True)
    if not arguments.quick:
        arguments.out.write_text(page(rows), encoding="utf-8")


def page(rows: list[str]) -> str:
    from timing import machine

    head = "| workload | way | median ms per step | min ms | times as fast | by the minima |"
    text = (
        f"# More devices, more processes\n\nWritten by `make scale`. {machine()}. What else a "
        "machine does slows two cores down more often than one: the minima are free of it.\n"
    )
    return "\n".join([text, head, "|---|---|---:|---:|---:|---:|", *rows, ""])


if __name__ == "__main__":
    main()
