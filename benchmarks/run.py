"""Speed and memory of one training step, side by side with what one would write instead.

`make bench` runs this and writes `benchmarks/results.md` and `benchmarks/results.json`. Times are
those of this run on this machine; the ratios are what counts. A step is what `gpssm.fit` runs:
noise, gradient, Adam, average, while a thread gathers the batches to come. Every number of devices
is a process of its own, which begins as a user's would, with `gpssm.prepare(cores)`: one device is
one core. In it all cases take turns. The peers are given the gradient alone, and all cores.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from timing import (
    Program,
    Timing,
    compile_program,
    compile_twice,
    machine,
    machine_peaks,
    measure,
    measure_in_turn,
)
from workloads import WORKLOADS, Workload, arithmetic, configure, make_training_windows

import gpssm
from gpssm.inference import build
from gpssm.inference.sequences import from_batch_first
from gpssm.training.batches import CHUNK, Chunk, first_rows, gather
from gpssm.training.devices import everywhere, make_mesh
from gpssm.training.loop import Runs, run_chunk
from gpssm.training.step import BatchedSettings, start, without_batched

HERE = Path(__file__).parent
OURS, BASE = "cbf-ssm-50", "pr-ssm"
PEERS = ("GPJax in a scan", "PyTorch + GPyTorch")
STEPS_OF_A_CALL = {"small": CHUNK, "sarcos": 10}  # `fit` does CHUNK; of the others two take seconds


@dataclass(frozen=True)
class Case:
    """One way to train one workload, and what of it the table names."""

    workload: Workload
    preset: str = OURS
    devices: int = 1
    seeds: int = 1
    settings: dict = field(default_factory=dict)
    named: dict = field(default_factory=dict)


def training_chunk(case: Case):
    """The program that `fit` runs, its arguments, and how many steps one call of it does."""
    workload, seeds = case.workload, case.seeds
    model, training = configure(workload, case.preset, **case.settings)
    training = without_batched(training)
    windows = make_training_windows(workload, training)
    examples = from_batch_first(*windows.read(windows.starts[:8], workload.steps))
    systems = [build(jax.random.key(seed), model, examples) for seed in range(seeds)]
    state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(start(s, training) for s in systems))
    count = STEPS_OF_A_CALL.get(workload.name, 2)
    mesh = make_mesh(workload.batch, workload.particles, jax.devices()[: case.devices])
    weights = training.weights(model, windows.num_rows)
    keys = jax.random.split(jax.random.key(1), seeds)
    chunk = Chunk(windows, workload.batch, workload.steps, mesh)
    batches = gather(first_rows(keys, 0, chunk), chunk)
    batched = jax.tree.map(lambda leaf: jnp.full(seeds, leaf), BatchedSettings.of(training))
    state, runs = everywhere(state, mesh), Runs(keys, batched)
    arguments = (state, batches, runs, jnp.asarray(count), training, weights, mesh)
    return arguments, count, mesh.size


def measure_gpssm(cases: Sequence[Case]) -> list[dict]:
    """A row for each, measured in turn."""
    programs, used = [], []
    for case in cases:
        arguments, count, devices = training_chunk(case)
        programs.append(compile_program(run_chunk, *arguments, calls=count))
        used.append(devices)
    rows = []
    for case, program, devices, timing in zip(
        cases, programs, used, measure_in_turn(programs), strict=True
    ):
        flops, exps = arithmetic(
            case.workload, configure(case.workload, case.preset, **case.settings)[0]
        )
        work = {"Gflop": case.seeds * flops / 1e9, "Mexp": case.seeds * exps / 1e6}
        found = row(case.workload, case.preset, timing, program, devices, case.named)
        rows.append({**found, **work})
    return rows


def row(workload, method, timing: Timing, program: Program, devices, settings) -> dict:
    return {
        "workload": workload.name,
        "method": method,
        "devices": devices,
        "settings": settings,
        **asdict(timing),
        "compile": program.compilation,
        "temporary_MB": program.memory / 1e6,
        "Gflop": 0.0,
        "Mexp": 0.0,
    }


def measure_peers(workload: Workload) -> list[dict]:
    import peer_gpjax
    import peer_gpytorch

    function, arguments = peer_gpjax.gradient_step(workload)
    ours = compile_program(function, *arguments)
    theirs = Program(peer_gpytorch.gradient_step(workload))
    times = measure(ours.run), measure(theirs.run, seconds=15.0, most=10)
    return [
        row(workload, name, timing, program, 1, {})
        for name, timing, program in zip(PEERS, times, (ours, theirs), strict=True)
    ]


def measure_small(devices: int) -> list[dict]:
    """The small workload in all the ways that a user can run it, and twice its size each way."""
    small = WORKLOADS["small"]
    if devices > 1:
        five = Case(small, devices=devices, seeds=5, named={"seeds": 5})
        return measure_gpssm([Case(small, devices=devices), five])
    whole = {"lag": None}
    cases = [Case(small), Case(small, BASE), Case(small, settings=whole, named=whole)]
    changes = {"steps": 100}, {"batch": 20}, {"particles": 100}
    cases += [Case(replace(small, **change), named=change) for change in changes]
    return measure_gpssm(cases)


def measure_large(name: str, devices: int) -> list[dict]:
    presets = (OURS, BASE) if devices == 1 else (OURS,)
    return measure_gpssm([Case(WORKLOADS[name], preset, devices) for preset in presets])


def measure_grown(name: str, devices: int) -> list[dict]:
    """Few long sequences: with and without a linear model inside."""
    inside = {"linear_part": True}
    return measure_gpssm([
        Case(WORKLOADS[name], devices=devices, settings=settings, named=settings)
        for settings in ({}, inside)[: 2 if devices == 1 else 1]
    ])  # fmt: skip


def measure_long(devices: int) -> list[dict]:
    """For its memory."""
    return measure_gpssm([Case(WORKLOADS["long"])]) if devices == 1 else []


def compilation_times() -> dict[str, float]:
    """Seconds to compile the small training program: cold, and from the cache on disk."""
    arguments, _, _ = training_chunk(Case(WORKLOADS["small"]))
    cold, cached = compile_twice(run_chunk, *arguments)
    return {"cold": cold, "cached": cached}


# ---------------------------------------------------------------------- what is written


def label(r: dict) -> str:
    return r["method"] + "".join(f", {k}={v}" for k, v in r["settings"].items())


def table(rows: list[dict], peaks: dict) -> str:
    """Markdown; the share of the peak is the least time that the arithmetic needs / the time."""
    lines = [
        "| workload | method | devices | median s | min s | compile s | temporary MB | Gflop "
        "| share of peak |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        least = r["Gflop"] * 1e9 / peaks["flops"] + r["Mexp"] * 1e6 / peaks["exps"]
        share = f"{least / r['devices'] / r['minimum']:.0%}" if least else "–"
        lines.append(
            f"| {r['workload']} | {label(r)} | {r['devices']} | {r['median']:.4f} "
            f"| {r['minimum']:.4f} | {r['compile']:.1f} | {r['temporary_MB']:.1f} "
            f"| {r['Gflop']:.2f} | {share} |"
        )
    return "\n".join(lines)


def ratios(rows: list[dict]) -> list[str]:
    """Each comparison of the table as a sentence."""
    lines = []
    for name in dict.fromkeys(r["workload"] for r in rows):
        mine = [r for r in rows if r["workload"] == name]
        ours = next(r for r in mine if r["method"] == OURS and not r["settings"])
        for r in mine:
            if r is not ours:
                ratio = r["minimum"] / ours["minimum"]
                devices = f" on {r['devices']} devices" if r["devices"] > 1 else ""
                lines.append(
                    f"- `{name}`: {label(r)}{devices} takes {ratio:.2f} times as long as {OURS} "
                    f"on one device (by the minima)."
                )
    return lines


MEASURED: dict[str, Callable[[int], object]] = {
    "peaks": lambda _: machine_peaks(),
    "small": measure_small,
    "sarcos": lambda devices: measure_large("sarcos", devices),
    "car": lambda devices: measure_large("car", devices),
    "grown": lambda devices: measure_grown("grown", devices),
    "longest": lambda devices: measure_grown("longest", devices),
    "long": measure_long,
    "compilation": lambda _: compilation_times(),
}


def measure_here(name: str, devices: int, out: Path) -> None:
    """One part, in this process, which does nothing else."""
    if name == "peers":  # in float32 and with all cores, which is what favours them
        found: object = measure_peers(WORKLOADS["small"])
    else:
        with tempfile.TemporaryDirectory() as cache:  # so that compiling takes its time
            gpssm.prepare(devices, cache)
            with jax.enable_x64(True):
                found = MEASURED[name](devices)
    out.write_text(json.dumps(found))


def measure_apart(name: str, devices: int = 1) -> Any:
    """One part, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "found.json")
        command = [sys.executable, __file__, "--part", name, str(devices), str(out)]
        subprocess.run(command, check=True)
        return json.loads(out.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", default="small,sarcos,car,grown,longest,long")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--devices", type=int, default=2, help="host devices to cut batches over")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        name, devices, out = arguments.part
        measure_here(name, int(devices), Path(out))
        return
    peaks, rows = measure_apart("peaks"), []
    for name in arguments.workloads.split(","):
        for devices in sorted({1, arguments.devices}):
            rows += measure_apart(name, devices)
        print(table(rows, peaks), flush=True)
    compilation = measure_apart("compilation")
    if not arguments.no_peers:
        rows += measure_apart("peers")
    write(arguments.out, peaks, rows, compilation)


def write(out: Path, peaks: dict, rows: list[dict], compilation: dict) -> None:
    content = {"machine": machine(), "peaks": peaks, "compilation": compilation, "rows": rows}
    (out / "results.json").write_text(json.dumps(content, indent=1) + "\n")
    peak_line = f"{peaks['flops'] / 1e9:.0f} Gflop/s in products, {peaks['exps'] / 1e9:.2f} Gexp/s"
    text = [
        "# One training step",
        "",
        f"Written by `make bench`. {machine()}: {peak_line}, float32, on one core.",
        "",
        table(rows, peaks),
        "",
        *ratios(rows),
        f"- Compilation of the `small` training program: {compilation['cold']:.1f} s cold, "
        f"{compilation['cached']:.1f} s from the cache on disk.",
        "",
    ]
    (out / "results.md").write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main()
