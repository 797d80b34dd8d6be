"""Bias of the linear model on simulated plants, in standard errors of 50 simulations.

    python -m experiments.horizon.oracles

Poles and step responses are known. Every simulation is a record in `results/horizon/oracles.json`.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gpssm
from gpssm.linear import forecasting_linear

from ..common.files import ROOT, add_record, read_json, read_record, write_text
from ..common.tables import markdown_table
from .plants import PLANTS, Plant, step_response

ROWS, SIMULATIONS = 400, 50
SEVERAL = {"experiments": 2, "gaps": 0.1}
CASES: dict[str, tuple[Plant, dict[str, Any]]] = {
    **{name: (plant, {}) for name, plant in PLANTS.items()},
    "second order, two experiments with gaps": (PLANTS["second order"], SEVERAL),
}
AT = (2, 8, 20, 59)  # rows after the step


def simulate(case: str, seed: int) -> dict[str, Any]:
    """Radii and angles of the poles that are nearest to the true ones, and the step response."""
    plant, options = CASES[case]
    began = time.perf_counter()
    orders = (len(plant.A) + (plant.D != 0),)
    model = forecasting_linear(plant.data(seed, rows=ROWS, **options), orders=orders)
    poles = [min(model.poles, key=lambda z: abs(z - pole)) for pole in plant.poles]
    return {
        "radius": np.abs(poles).tolist(),
        "angle": np.angle(poles).tolist(),
        "step": step_response(model)[list(AT)].tolist(),
        "model": model.description,
        "alignment": list(model.alignment or ()),
        "seconds": time.perf_counter() - began,
    }


def truth(plant: Plant) -> dict[str, np.ndarray]:
    return {
        "radius": np.abs(plant.poles),
        "angle": np.angle(plant.poles),
        "step": plant.step_response()[list(AT)],
    }


def rows(case: str, records: dict[str, Any]) -> list[list[str]]:
    """Mean, standard deviation and bias in standard errors, for each quantity."""
    found = []
    for quantity, true in truth(CASES[case][0]).items():
        values = np.array([each[quantity] for each in records.values()])
        mean, std = values.mean(axis=0), values.std(axis=0, ddof=1)
        error = np.abs(mean - true) / np.maximum(std / np.sqrt(len(values)), 1e-12)
        cells = [" ".join(f"{v:.4f}" for v in each) for each in (true, mean, std)]
        found.append([case, quantity, *cells, f"{error.max():.1f}"])
    return found


def page(results: dict[str, Any]) -> str:
    head = ["plant", "quantity", "true", "mean", "standard deviation", "bias in standard errors"]
    table = [row for case in CASES if case in results for row in rows(case, results[case])]
    return markdown_table(head, table)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.horizon.oracles", description=__doc__)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "horizon")
    options = parser.parse_args(arguments)
    gpssm.prepare()
    path = options.results / "oracles.json"
    for seed in range(options.simulations):
        for case in CASES:
            if read_record(path, (case, str(seed))) is None:
                add_record(path, (case, str(seed)), simulate(case, seed))
    write_text(options.results / "oracles.md", page(read_json(path)) + "\n")
    print(page(read_json(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
