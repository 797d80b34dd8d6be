"""Which plants are mean-square stable, in the eyes of a fitted model: the car, a dryer, a furnace.

    python -m experiments.stability

Every finished plant is `results/stability/<plant>.json`, with a figure of its spread; at the end
the table is written anew. The benchmarks train as in Table 1, the car as in its length study.
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
from gpssm.report import markdown_table
from gpssm.training.progress import ProgressFactory

from .config import CONFIGS, CellSettings, cell_settings, merge, plain, quick, read_config
from .files import ROOT, provenance, read_json, write_text
from .grid import Job, run_jobs
from .length_pages import UNSTABLE
from .pages import publish
from .sequence_length import QUICK_SHARE, fit_runs, settings_for

PLANTS = ("dubins", "dryer", "furnace")
HORIZON, CAR_LENGTH = 300, 50


def plant_settings(plant: str, data: Dataset, short: bool) -> CellSettings:
    """One seed."""
    config = read_config(CONFIGS / ("dubins.toml" if plant == "dubins" else "table1.toml"))
    config = merge(quick(config, QUICK_SHARE) if short else config, {"seeds": 1})
    if plant == "dubins":
        return settings_for(config, data, "cbf-ssm-1", CAR_LENGTH)
    return cell_settings(config, data, "cbf-ssm-50")


def make_job(plant: str, folder: Path, short: bool = False) -> Job:
    data = gpssm.load_dataset(plant)
    settings = plant_settings(plant, data, short)
    return Job(
        label=plant,
        path=folder / f"{plant}.json",
        settings=settings,
        run=lambda progress: run_plant(data, settings, progress, folder / f"{plant}.png"),
    )


def run_plant(
    data: Dataset, settings: CellSettings, progress: ProgressFactory, figure: Path
) -> dict[str, Any]:
    made_by = provenance()  # before the figure is written: that makes a clean tree a changed one
    data = settings.data.of(data)
    (run,) = fit_runs(data, settings, progress)
    found = gpssm.stability(run, data.train, horizon=HORIZON)
    figure.parent.mkdir(parents=True, exist_ok=True)
    found.plot(path=figure, title=data.name)
    return {
        "plant": data.name,
        "stable": found.stable,
        "states": list(found.state_names),
        "exponent": found.exponent.tolist(),
        "growing": list(found.growing),
        "final_std": np.sqrt(found.variance[-1]).tolist(),
        "suggestion": asdict(found.suggest()),
        "settings": plain(settings),
        "versions": made_by,
    }


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
    folder = results / "stability"
    failed = run_jobs([make_job(plant, folder, options.quick) for plant in options.plants])
    there = [record for name in PLANTS if (record := read_json(folder / f"{name}.json"))]
    write_text(results / "stability.md", page(there) + "\n")
    for path in [results / "stability.md", *publish(results, UNSTABLE, page(there), "stability")]:
        print(path)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
