"""Table 1: eight benchmarks, five methods and four baselines, five seeds.

    python -m experiments.table1 --datasets furnace --methods cbf-ssm-50 arx

All cells are in `results/table1.json`, which is written after each of them. A second start goes on
where the first stopped. It computes a cell again if its settings in `table1.toml` have changed.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import gpssm
from gpssm.data import Dataset

from ..common.config import quick
from ..common.files import ROOT
from ..common.grid import Job, add_cluster_option, run_jobs
from . import pages
from .cells import run_cell
from .config import DATASETS, FOLDER, METHODS, cell_settings, gru_cost, read_config
from .overrides import parse_candidate, with_candidate

_DRAWN = "cbf-ssm-50"  # its first forecast of every data set is the figure


def make_job(config: dict[str, Any], data: Dataset, method: str, results: Path) -> Job:
    settings = cell_settings(config, data, method)
    figure = results / "figures" / f"{data.name}.png" if method == _DRAWN else None
    return Job(
        label=f"{data.name} {method}",
        path=results / "table1.json",
        key=(data.name, method),
        settings=settings,
        run=lambda progress: run_cell(data, method, settings, progress, figure),
        extra_cost=gru_cost(settings),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    results = options.results or ROOT / ("runs/quick" if options.quick else "results")
    failed = [] if options.pages else _compute(options, results)
    for line in failed:
        print(f"FAILED {line}", file=sys.stderr)
    for path in dict.fromkeys(pages.write_pages(results)):
        print(path)
    return 1 if failed else 0


def _compute(options: argparse.Namespace, results: Path) -> list[str]:
    gpssm.prepare(options.cores)
    config = read_config(options.config)
    config = quick(config) if options.quick else config
    changes = parse_candidate(options.set)
    loaded = [gpssm.load_dataset(name) for name in options.datasets]
    jobs = [
        make_job(with_candidate(config, data.name, method, changes), data, method, results)
        for data, method in product(loaded, options.methods)
    ]
    return run_jobs(jobs, options.cluster)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.table1", description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="NAME")
    parser.add_argument("--config", type=Path, default=FOLDER / "table1.toml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="a setting for all cells, on top of the file; needs --results",
    )
    parser.add_argument("--results", type=Path, help="default: results, with --quick runs/quick")
    parser.add_argument("--cores", type=int, help="to train on; default: all, at most eight")
    parser.add_argument("--quick", action="store_true", help="one seed, a tenth of the steps")
    add_cluster_option(parser)
    parser.add_argument("--pages", action="store_true", help="only write the pages again")
    options = parser.parse_args(arguments)
    if options.set and options.results is None:
        parser.error(
            "--set: got no --results, expected a folder other than that of the file's cells"
        )
    return options


if __name__ == "__main__":
    sys.exit(main())
