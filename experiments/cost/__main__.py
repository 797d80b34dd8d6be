"""What a gradient step and a forecast cost, by method (the paper's paragraph on performance).

    python -m experiments.cost

Three claims are looked at: the time of a step grows in proportion to the length of the sequences,
the backward pass makes training slower by a factor (3.7 in the paper's code), and all methods
forecast equally fast. Every time is the least of several, because other programs may use the
machine; the ratios are what counts. `results/cost.json` has the numbers, `results/cost.md` the
page.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np

import gpssm
from gpssm.training.loop import CHUNK

from ..common.files import ROOT, provenance, write_json, write_text
from ..common.pages import TITLES
from ..common.tables import markdown_table

LENGTHS, CHUNKS, FORECAST, REPEATS, WARMUP = (50, 100, 200, 400), 6, 500, 5, 16
QUICK = {"lengths": (25, 50), "chunks": 2}
SIZES = {"dim_x": 4, "inducing_points": 20, "particles": 50}  # those of Table 1
BATCH = 10
BASE = "pr-ssm"  # no backward pass: what the others are compared to


@dataclass(frozen=True)
class Variant:
    """A row of the table."""

    title: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)


VARIANTS = (
    *(Variant(TITLES[name], name) for name in ("pr-ssm", "vcdt", "cbf-ssm-1", "cbf-ssm-50")),
    Variant("CBF-SSM-50, backward pass in one piece", "cbf-ssm-50", {"lag": None}),
    Variant(TITLES["cbf-ssm-1s"], "cbf-ssm-1s"),
)
METHODS = tuple(dict.fromkeys(variant.method for variant in VARIANTS))


class Stopwatch(AbstractContextManager["Stopwatch"]):
    """Notes when each chunk of steps was done."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, step: int, terms: dict[str, float]) -> None:
        del step, terms
        self.times.append(time.perf_counter())

    @property
    def seconds_per_step(self) -> float:
        """Of the fastest chunk but the first, which compiles."""
        return float(np.diff(self.times).min()) / CHUNK


def measure(variant: Variant, length: int, chunks: int) -> dict[str, Any]:
    """Train for some chunks of steps, then forecast."""
    data, watch = gpssm.load_dataset("two_tanks"), Stopwatch()
    run = gpssm.fit(
        gpssm.method(variant.method, **SIZES, **variant.settings),
        data.train,
        steps=CHUNK * (1 + chunks),
        sequence_length=length,
        batch_size=BATCH,
        calibrate=False,
        progress=lambda *_: watch,
    )
    u, y = data.test[0].u[:FORECAST], data.test[0].y[:WARMUP]
    return {
        "variant": variant.title,
        "length": length,
        "seconds per step": watch.seconds_per_step,
        "seconds per forecast": least(lambda: run.predict(u, y)),
    }


def least(call: Callable[[], object]) -> float:
    """Seconds of the fastest call but the first, which compiles."""
    times = []
    for _ in range(1 + REPEATS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


# ---------------------------------------------------------------------- the page


def page(records: Sequence[dict[str, Any]], versions: dict[str, Any]) -> str:
    lengths = sorted({record["length"] for record in records})
    titles = list(dict.fromkeys(record["variant"] for record in records))
    base = _steps(records, TITLES[BASE])
    header = ["method", *(f"T = {length}" for length in lengths), f"/ {TITLES[BASE]}", "growth"]
    rows = []
    for title in titles:
        steps = _steps(records, title)
        ratio = np.median([steps[length] / base[length] for length in lengths])
        times = [f"{1e3 * steps[length]:.1f}" for length in lengths]
        power = f"T^{growth(steps):.2f}" if len(lengths) > 1 else "–"
        rows.append([title, *times, f"{ratio:.2f}", power])
    forecasts = [[title, f"{1e3 * _forecast(records, title):.0f}"] for title in titles]
    sizes = ", ".join(f"{name} {value}" for name, value in SIZES.items())
    return "\n".join([
        "# What it costs",
        "",
        f"Written by `make cost`: {sizes}, batches of {BATCH}; JAX {versions['jax']} on",
        f"{versions['machine']}. Least time of several; other programs may have run.",
        "",
        f"Milliseconds per gradient step against the length T of the sequences; the ratio to "
        f"{TITLES[BASE]}, median over the lengths; the power of T with which the time grows.",
        "",
        markdown_table(header, rows),
        "",
        f"Milliseconds per forecast of {FORECAST} steps.",
        "",
        markdown_table(["method", "forecast"], forecasts),
        "",
    ])  # fmt: skip


def growth(steps: dict[int, float]) -> float:
    """The power p of T in time ∝ T^p, by a straight line through the logarithms."""
    lengths = sorted(steps)
    times = [steps[length] for length in lengths]
    return float(np.polyfit(np.log(lengths), np.log(times), 1)[0])


def _steps(records: Sequence[dict[str, Any]], title: str) -> dict[int, float]:
    return {r["length"]: r["seconds per step"] for r in records if r["variant"] == title}


def _forecast(records: Sequence[dict[str, Any]], title: str) -> float:
    return min(r["seconds per forecast"] for r in records if r["variant"] == title)


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    gpssm.prepare(options.cores)
    results = options.results or ROOT / ("runs/quick" if options.quick else "results")
    lengths = options.lengths or (QUICK["lengths"] if options.quick else LENGTHS)
    chunks = QUICK["chunks"] if options.quick else CHUNKS
    records = []
    for length, variant in product(lengths, VARIANTS):
        if variant.method not in (BASE, *options.methods):
            continue
        records.append(measure(variant, length, chunks))
        seconds = records[-1]["seconds per step"]
        print(f"{variant.title}, T = {length}: {seconds:.4f} s", file=sys.stderr, flush=True)
        jax.clear_caches()  # programs are not needed twice
    content = {"rows": records, "versions": provenance()}
    write_json(results / "cost.json", content)
    write_text(results / "cost.md", page(records, content["versions"]))
    print(results / "cost.md")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.cost", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="NAME")
    parser.add_argument("--lengths", nargs="+", type=int, metavar="STEPS")
    parser.add_argument("--results", type=Path, help="default: results, with --quick runs/quick")
    parser.add_argument("--cores", type=int, default=1, help="of this process; default: 1")
    parser.add_argument("--quick", action="store_true", help="two short lengths, few steps")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
