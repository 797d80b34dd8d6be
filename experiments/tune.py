"""Choice of hyper-parameters without the test part: blocked cross-validation in the training part.

    python -m experiments.tune --datasets actuator --set training.steps=500,1000 --seeds 2

Contiguous stretches of the training part are held out in turn; the rest trains, as two experiments
where the stretch was in the middle, and the stretch is forecast in open loop by the protocol
`paper`. Every candidate is one file, written when it is finished, and none is computed twice. A
candidate that wins is entered by hand into `configs/table1.toml`: it is a choice, not a result.
"""

import argparse
import sys
import tomllib
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

from rich.console import Console
from rich.table import Table

import gpssm
from gpssm.data import Dataset
from gpssm.prediction import blocked_folds
from gpssm.training.progress import ProgressFactory

from .cells import run_cell
from .config import (
    CONFIGS,
    DATASETS,
    METHODS,
    CellSettings,
    cell_settings,
    merge,
    plain,
    read_config,
)
from .files import ROOT, read_json, write_json
from .grid import Job, run_jobs

Candidate = dict[str, Any]  # "training.steps" → 500
_PROTOCOL, _FOLDS, _SEEDS = "paper", 3, 2


# ---------------------------------------------------------------------- the grid


def candidates(grid: dict[str, dict[str, list[Any]]]) -> list[Candidate]:
    """Every combination of the values of the grid."""
    lists = {f"{table}.{key}": v for table, row in grid.items() for key, v in row.items()}
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def parse_set(text: str) -> dict[str, dict[str, list[Any]]]:
    """`training.steps=500,1000` as a grid of one setting."""
    name, _, values = text.partition("=")
    table, _, key = name.partition(".")
    return {table: {key: tomllib.loads(f"values = [{_quoted(values)}]")["values"]}}


def _quoted(values: str) -> str:
    """Words need no quotes on the command line; numbers and booleans stay what they are."""
    words = (word.strip() for word in values.split(","))
    bare = lambda w: w in ("true", "false", "inf") or not w[:1].isalpha()  # noqa: E731
    return ", ".join(word if bare(word) else f'"{word}"' for word in words)


def with_candidate(
    config: dict[str, Any], dataset: str, method: str, candidate: Candidate
) -> dict[str, Any]:
    """The configuration with the candidate on top of all that it says itself."""
    own: dict[str, Any] = {}
    for name, value in candidate.items():
        table, _, key = name.partition(".")
        own.setdefault(table, {})[key] = value
    return merge(config, {"datasets": {dataset: {"methods": {method: own}}}})


def file_name(candidate: Candidate, folds: int) -> str:
    parts = [f"{name.partition('.')[2]}={value}" for name, value in candidate.items()]
    return ",".join([f"folds={folds}", *parts]).replace("/", "_") + ".json"


# ---------------------------------------------------------------------- one candidate


def make_job(
    config: dict[str, Any],
    data: Dataset,
    method: str,
    candidate: Candidate,
    folds: int,
    results: Path,
) -> Job:
    settings = cell_settings(with_candidate(config, data.name, method, candidate), data, method)
    return Job(
        label=f"{data.name} {method} {candidate}",
        path=results / data.name / method / file_name(candidate, folds),
        settings=settings,
        run=lambda progress: cross_validate(data, method, settings, candidate, folds, progress),
        rounds=folds,
    )


def cross_validate(
    data: Dataset,
    method: str,
    settings: CellSettings,
    candidate: Candidate,
    folds: int,
    progress: ProgressFactory,
) -> dict[str, Any]:
    """The scores of all folds and seeds, and their means. The test part is never looked at."""
    parts = blocked_folds(data.train, folds)
    cells = [run_cell(part, method, fitting(settings, part.train), progress) for part in parts]
    scores = [[seed[_PROTOCOL] for seed in cell["seeds"]] for cell in cells]
    return {
        "dataset": data.name,
        "method": method,
        "candidate": candidate,
        "settings": plain(settings),
        "rmse": _mean(scores, lambda s: s["rmse"]),
        "log_likelihood": _mean(scores, lambda s: s["log_likelihood"]),
        "coverage": _mean(scores, lambda s: s["coverage"]["95%"]),
        "folds": scores,
        "wall_seconds": sum(cell["wall_seconds"] for cell in cells),
        "versions": cells[0]["versions"],
    }


def fitting(settings: CellSettings, data: Dataset) -> CellSettings:
    """The same settings with sequences no longer than the shortest piece of the data."""
    shortest = min(len(run) for run in data)
    own = settings.training or settings.gru
    if own is None or own.sequence_length <= shortest:
        return settings
    short = own.replace(sequence_length=shortest, stride=min(own.stride, shortest))
    return settings.replace(**{"training" if settings.training else "gru": short})


def _mean(
    scores: Sequence[Sequence[dict[str, Any]]], value: Callable[[dict[str, Any]], float | None]
) -> float | None:
    """Over folds and seeds; none where one of them diverged."""
    values = [value(seed) for fold in scores for seed in fold]
    known = [each for each in values if each is not None]
    return fmean(known) if len(known) == len(values) else None


# ---------------------------------------------------------------------- the choice


def ranking(records: Sequence[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """The best candidate first; those that diverged last."""
    sign = 1.0 if by == "rmse" else -1.0
    return sorted(records, key=lambda r: (r[by] is None, sign * (r[by] or 0.0)))


def over_datasets(records: Sequence[dict[str, Any]]) -> dict[str, float]:
    """RMSE relative to the best of each data set, averaged geometrically: one default for all.

    Only candidates that have a score on every data set.
    """
    names = {record["dataset"] for record in records}
    scored = [record for record in records if record["rmse"] is not None]
    best = {n: min(r["rmse"] for r in scored if r["dataset"] == n) for n in names}
    relative: dict[str, list[float]] = {}
    for record in scored:
        share = record["rmse"] / best[record["dataset"]]
        relative.setdefault(_words(record["candidate"]), []).append(share)
    whole = {k: geometric_mean(v) for k, v in relative.items() if len(v) == len(names)}
    return dict(sorted(whole.items(), key=lambda pair: pair[1]))


def summarise(jobs: Sequence[Job], by: str, results: Path, console: Console) -> None:
    """A table per data set and method, one over all data sets, and the same as JSON."""
    records = [record for job in jobs if (record := read_json(job.path)) is not None]
    summary: dict[str, Any] = {}
    for method in dict.fromkeys(record["method"] for record in records):
        mine = [record for record in records if record["method"] == method]
        for name in dict.fromkeys(record["dataset"] for record in mine):
            ranked = ranking([record for record in mine if record["dataset"] == name], by)
            console.print(_ranking_table(f"{name} {method}", ranked))
            summary.setdefault(method, {})[name] = {
                key: ranked[0][key] for key in ("candidate", "rmse", "log_likelihood", "coverage")
            }
        summary[method]["all, RMSE relative to the best"] = over_datasets(mine)
    write_json(results / "summary.json", summary)


def _ranking_table(title: str, ranked: Sequence[dict[str, Any]]) -> Table:
    table = Table("candidate", "RMSE", "log-likelihood", "95 % band", "seconds", title=title)
    for r in ranked:
        numbers = [r["rmse"], r["log_likelihood"], r["coverage"], r["wall_seconds"]]
        shown = ["diverged" if value is None else f"{value:.4g}" for value in numbers]
        table.add_row(_words(r["candidate"]), *shown)
    return table


def _words(candidate: Candidate) -> str:
    return ", ".join(f"{name} {value}" for name, value in candidate.items())


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    gpssm.prepare(options.cores)
    count = {"seeds": options.seeds, "seeds_at_once": options.seeds}
    config = merge(read_config(options.config), count)
    grid = {} if options.set else read_config(options.grid)
    for text in options.set:
        grid = merge(grid, parse_set(text))
    loaded = [gpssm.load_dataset(name) for name in options.datasets]
    jobs = [
        make_job(config, data, method, candidate, options.folds, options.results)
        for data, method, candidate in product(loaded, options.methods, candidates(grid))
    ]
    failed = run_jobs(jobs)
    summarise(jobs, options.by, options.results, Console())
    return 1 if failed else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.tune", description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=DATASETS[:-1], metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["cbf-ssm-50"])
    parser.add_argument("--grid", type=Path, default=CONFIGS / "tune.toml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=V1,V2",
        help="in place of the grid of the file; may be given more than once",
    )
    parser.add_argument("--folds", type=int, default=_FOLDS)
    parser.add_argument("--seeds", type=int, default=_SEEDS)
    parser.add_argument("--cores", type=int, default=1, help="of this process; default: 1")
    parser.add_argument("--by", choices=("rmse", "log_likelihood"), default="rmse")
    parser.add_argument("--config", type=Path, default=CONFIGS / "table1.toml")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "tune")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
