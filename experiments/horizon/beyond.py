"""Intervals beyond the training range: a simulated plant driven to twice its range.

    python -m experiments.horizon.beyond

A mass on a spring that hardens is pushed by a force of twice the size of training. What the model
forecasts there is extrapolation, and its interval should say so: it should be at least twice as
wide as inside, and cover the outputs. Every fit is a record in `results/horizon/beyond.json`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gpssm
from gpssm.data import Dataset

from ..common.files import ROOT, add_record, provenance, read_json, read_record, write_text
from ..common.tables import markdown_table
from .lengths import STEPS, VARIANTS
from .linear import LEVEL, WARMUP

ROWS, TEST_ROWS, SEEDS = 800, 400, 3
SENSOR = 0.02
NUMBERS = ("rmse", "coverage", "width")


def simulate(seed: int, rows: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Force and position: p'' = u − p − 0.6 p' − 0.3 p³ in steps of 0.3, steps of the force."""
    rng, step = np.random.default_rng(seed), 0.3
    u = np.repeat(size * rng.uniform(-1.0, 1.0, -(-rows // 8)), 8)[:rows]
    y, p, v = np.zeros(rows), 0.0, 0.0
    for t in range(rows):
        y[t] = p + SENSOR * rng.standard_normal()
        for _ in range(10):
            v += step / 10 * (u[t] - p - 0.6 * v - 0.3 * p**3)
            p += step / 10 * v
    return u, y


def run_seed(variant: str, seed: int) -> dict[str, Any]:
    """Width and coverage of the interval, inside of the training range and at twice of it."""
    u, y = simulate(seed, ROWS, 1.0)
    options = dict(VARIANTS[variant])
    model = gpssm.cbf_ssm(dim_x=2, linear_part=options.pop("linear_part", False))
    data = Dataset.from_arrays(y, u)
    run = gpssm.fit(model, data, steps=STEPS, seed=seed, quiet=True, tune_filter=False, **options)
    found: dict[str, Any] = {"versions": provenance()}
    for place, size in (("inside", 1.0), ("beyond", 2.0)):
        u, y = simulate(1000 + seed, TEST_ROWS, size)
        forecast = run.predict(u, y[:WARMUP]).after(WARMUP)
        low, high = (each[:, 0] for each in forecast.interval(LEVEL))
        found[place] = {
            "width": float(np.mean(high - low)),
            "coverage": float(np.mean((low <= y[WARMUP:]) & (y[WARMUP:] <= high))),
            "rmse": float(np.sqrt(np.mean(np.square(forecast.mean[:, 0] - y[WARMUP:])))),
        }
    return found


def page(results: dict[str, Any]) -> str:
    """Means over the seeds."""
    head = ["model", "RMSE inside", "beyond", "covers inside", "beyond", "width, relative"]
    rows = []
    for variant, records in results.items():
        inside, beyond = (
            {k: float(np.mean([r[place][k] for r in records.values()])) for k in NUMBERS}
            for place in ("inside", "beyond")
        )
        numbers = [
            f"{inside['rmse']:.3f}", f"{beyond['rmse']:.3f}", f"{inside['coverage']:.2f}",
            f"{beyond['coverage']:.2f}", f"{beyond['width'] / inside['width']:.2f}",
        ]  # fmt: skip
        rows.append([variant, *numbers])
    return markdown_table(head, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.horizon.beyond", description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "horizon")
    options = parser.parse_args(arguments)
    gpssm.prepare()
    path = options.results / "beyond.json"
    for seed in range(SEEDS):
        for variant in VARIANTS:
            if read_record(path, (variant, str(seed))) is None:
                add_record(path, (variant, str(seed)), run_seed(variant, seed))
                print(variant, seed, read_json(path)[variant][str(seed)], flush=True)
    write_text(options.results / "beyond.md", page(read_json(path)) + "\n")
    print(page(read_json(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
