"""Rows per second of a belief: one plant, and ten thousand at once, with the memory they take.

`python benchmarks/beliefs.py` prints a table. A row of one plant is a call of `Belief.update` as a
controller makes it, from NumPy arrays to a state that is ready; it is compiled before the clock
starts. One core: XLA's further threads would cost more than they bring at this size.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gpssm

ROWS_ONE, ROWS_MANY = 2000, 5


@dataclass(frozen=True)
class Case:
    """One belief."""

    kind: str
    plants: int | None
    particles: int = 200


CASES = (
    Case("ensemble", None),
    Case("particle", None),
    Case("gaussian", None),
    Case("ensemble", 10_000),
    Case("gaussian", 10_000),
)


def make_run(dim_x: int = 4, inducing: int = 20) -> gpssm.Run:
    """A model of the benchmark's size; how well it fits does not matter."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((1200, 1))
    y = np.convolve(u[:, 0], 0.9 ** np.arange(60))[:1200]
    model = gpssm.cbf_ssm(dim_x=dim_x, inducing_points=inducing)
    return gpssm.fit(model, u=u, y=y, steps=20, quiet=True, calibrate=False)


def measure(run: gpssm.Run, case: Case) -> dict:
    """Median time of an update."""
    rows, rng = ROWS_ONE if case.plants is None else ROWS_MANY, np.random.default_rng(1)
    lead = () if case.plants is None else (case.plants,)
    u, y = (rng.standard_normal((rows + 1, *lead, 1)) for _ in range(2))
    belief = run.belief(case.kind, particles=case.particles, plants=case.plants)
    compiling = timed(lambda: belief.update(u[0], y[0]).log_likelihood)
    took = [timed(lambda i=i: belief.update(u[i], y[i]).log_likelihood) for i in range(1, rows + 1)]
    return {
        "kind": case.kind, "plants": case.plants or 1, "compile": compiling,
        "median": float(np.median(took)), "p95": float(np.quantile(took, 0.95)),
    }  # fmt: skip


def timed(call: Callable[[], object]) -> float:
    """Seconds; the call waits for its result."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak_memory() -> float:
    """Largest memory of this process so far, in MB (Linux; `ru_maxrss` has that of its parent)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e3


def report(path: str, case: Case) -> None:
    """One line of the table; memory beside that of the process before it has a belief."""
    gpssm.prepare(cores=1)
    run = gpssm.load(path)
    before, found = peak_memory(), measure(run, case)
    ms, slow = 1e3 * found["median"], 1e3 * found["p95"]
    per_second = found["plants"] / found["median"]
    print(
        f"| {found['kind']} | {found['plants']} | {ms:.3g} ({slow:.3g}) | {per_second:.3g} "
        f"| {found['compile']:.2g} | {peak_memory():.0f} ({before:.0f} before) |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=int, choices=range(len(CASES)), help="one of the cases")
    parser.add_argument("--model", help="a saved run; None: one that is fitted now")
    given = parser.parse_args()
    if given.case is not None and given.model:
        report(given.model, CASES[given.case])
        return
    print("| filter | plants | ms per update (95 %) | rows/s | compile, s | peak memory, MB |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = given.model or str(make_run().save(Path(folder) / "run.gpssm"))
        for case in range(len(CASES)):  # each in a process of its own, whose memory it is
            arguments = ["--case", str(case), "--model", path]
            subprocess.run([sys.executable, __file__, *arguments], check=True)


if __name__ == "__main__":
    main()
