"""Which fitted models are mean-square stable: those of the car, a dryer and a furnace.

    python -m experiments.stability

Every finished plant is a record in `results/stability.json`; at the end the table is written
again. The benchmarks train as in Table 1, the car as in its length study.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import gpssm
from gpssm.data import Dataset
from gpssm.training.progress import ProgressFactory

from ..car.figure3a import CONFIG as CAR
from ..car.figure3a import QUICK_SHARE, fit_runs, settings_for
from ..common.config import CellSettings, gpssm_settings, merge, plain, quick, read_config
from ..common.files import ROOT, provenance, read_json, write_text
from ..common.grid import Job, run_jobs
from ..common.pages import publish
from ..common.tables import markdown_table

TABLE1 = ROOT / "experiments" / "table1" / "table1.toml"
UNSTABLE = ROOT / "docs" / "unstable.md"

PLANTS = ("dubins", "dryer", "furnace")
HORIZON, CAR_LENGTH = 300, 50


def plant_settings(plant: str, data: Dataset, short: bool) -> CellSettings:
    """One seed."""
    config = read_config(CAR if plant == "dubins" else TABLE1)
    config = merge(quick(config, QUICK_SHARE) if short else config, {"seeds": 1})
    if plant == "dubins":
        return settings_for(config, data, "cbf-ssm-1", CAR_LENGTH)
    return gpssm_settings(config, data.name, "cbf-ssm-50")


def make_job(plant: str, results: Path, short: bool = False) -> Job:
    data = gpssm.load_dataset(plant)
    settings = plant_settings(plant, data, short)
    return Job(
        label=plant,
        path=results / "stability.json",
        key=(plant,),
        settings=settings,
        run=lambda progress: run_plant(data, settings, progress),
    )


def run_plant(data: Dataset, settings: CellSettings, progress: ProgressFactory) -> dict[str, Any]:
    data = settings.data.of(data)
    (run,) = fit_runs(data, settings, progress)
    found = gpssm.stability(run, data.train, horizon=HORIZON)
    return {
        "plant": data.name,
        "stable": found.stable,
        "states": list(found.state_names),
        "exponent": found.exponent.tolist(),
        "growing": list(found.growing),
        "final_std": np.sqrt(found.variance[-1]).tolist(),
        "suggestion": asdict(found.suggest()),
        "settings": plain(settings),
        "versions": provenance(),
    }


def read_plants(results: Path) -> list[dict[str, Any]]:
    """The records of the plants that are there."""
    found = read_json(results / "stability.json") or {}
    return [found[name] for name in PLANTS if name in found]


def page(records: Sequence[dict[str, Any]]) -> str:
    """One row per plant."""
    head = ["plant", "verdict", "fastest growth of a variance", "k", "state_kl", "lag", "length"]
    return "\n\n".join([
        f"Spread of many copies of one state, {HORIZON} steps of open loop, by `gpssm.stability`. "
        "A variance that grows as t^p with p near 0 has settled.",
        markdown_table(head, [_row(record) for record in records]),
    ])  # fmt: skip


def _row(record: dict[str, Any]) -> list[str]:
    suggestion = record["suggestion"]
    worst = int(np.argmax(record["exponent"]))
    return [
        record["plant"],
        "mean-square stable" if record["stable"] else "not mean-square stable",
        f"t^{record['exponent'][worst]:.2f} ({record['states'][worst]})",
        *(f"{suggestion[name]:g}" for name in ("k", "state_kl", "lag", "sequence_length")),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.stability", description=__doc__)
    parser.add_argument("--plants", nargs="+", choices=PLANTS, default=PLANTS, metavar="NAME")
    parser.add_argument("--results", type=Path, help="default: results, with --quick runs/quick")
    parser.add_argument("--cores", type=int, default=1, help="of this process; default: 1")
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    options = parser.parse_args(arguments)
    gpssm.prepare(options.cores)
    results = options.results or ROOT / ("runs/quick" if options.quick else "results")
    failed = run_jobs([make_job(plant, results, options.quick) for plant in options.plants])
    there = read_plants(results)
    write_text(results / "stability.md", page(there) + "\n")
    for path in [results / "stability.md", *publish(results, UNSTABLE, page(there), "stability")]:
        print(path)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
