"""Choice of hyper-parameters without the test part: blocked cross-validation in the training part.

    python -m experiments.tune --datasets actuator --set training.inducing_kl=0.3,1,3 --seeds 2

Contiguous stretches of the training part are held out in turn; the rest trains, as two experiments
where the stretch was in the middle (with `--ahead` only what came before it), and the stretch is
forecast in open loop every `validate_steps`. Learning rates, weights of the inducing KL and seeds
train side by side in one program; the number of steps is read off the curves, which is why the
learning rate stays constant. Every other combination is a file, written when it is finished, and
none is computed twice. Without `--set` all searches of `configs/tune.toml` are made. A candidate
that wins is entered by hand into `configs/table1.toml`: it is a choice, not a result.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import gpssm
from gpssm.data import Dataset
from gpssm.errors import ConfigError
from gpssm.study import combinations
from gpssm.training import Dials
from gpssm.training.progress import ProgressFactory

from .config import CONFIGS, CellSettings, cell_settings, merge, plain, read_config
from .files import ROOT, provenance, read_json
from .grid import Job, add_cluster_option, run_jobs
from .overrides import Candidate, Grid, with_candidate
from .protocol import number
from .searches import Folds, Search, add_search_options, asked_for

_SHOWN = 12
_SCORES = ("rmse", "log_likelihood")


# ---------------------------------------------------------------------- the grid


def candidates(grid: Grid) -> list[Candidate]:
    """Every combination of the values of the grid."""
    return combinations({f"{t}.{key}": v for t, row in grid.items() for key, v in row.items()})


def split(grid: Grid) -> tuple[Grid, Grid]:
    """What needs a program of its own, and what can train side by side in it."""
    training = grid.get("training", {})
    side_by_side = {k: v for k, v in training.items() if k in Dials._fields}
    rest = {k: v for k, v in training.items() if k not in Dials._fields}
    return {**grid, "training": rest}, {"training": side_by_side}


def file_name(candidate: Candidate, beside: Grid, folds: Folds) -> str:
    parts = [f"{name.partition('.')[2]}={value}" for name, value in candidate.items()]
    parts += [f"{k}={'+'.join(map(str, v))}" for k, v in beside["training"].items()]
    return ",".join([folds.label, *parts]).replace("/", "_") + ".json"


# ---------------------------------------------------------------------- one program


def make_job(
    config: dict[str, Any],
    data: Dataset,
    method: str,
    candidate: Candidate,
    beside: Grid,
    folds: Folds,
    results: Path,
) -> Job:
    first = candidates(beside)[0]  # not what the file happens to say: that changes with a choice
    changed = with_candidate(config, data.name, method, {**candidate, **first})
    settings = cell_settings(changed, data, method)
    return Job(
        label=f"{data.name} {method} {candidate}",
        path=results / data.name / method / file_name(candidate, beside, folds),
        settings=settings,
        run=lambda progress: cross_validate(
            folds.of(settings.data.of(data)), settings, candidate, beside, progress
        ),
        rounds=folds.held,
    )


def cross_validate(
    parts: Sequence[Dataset],
    settings: CellSettings,
    candidate: Candidate,
    beside: Grid,
    progress: ProgressFactory,
) -> dict[str, Any]:
    """The scores of everything that trained side by side. The test part is never looked at."""
    assert settings.model is not None
    turned = candidates(beside)
    dials = [{k.partition(".")[2]: v for k, v in each.items()} for each in turned]
    curves = [fold_curves(part, settings, dials, progress) for part in parts]
    points = [
        {
            "candidate": {**candidate, **each, "training.steps": step},
            **{name: [number(c.at[step, (name, i)]) for c in curves] for name in _SCORES},
        }
        for i, each in enumerate(turned)
        for step in curves[0].index
    ]
    return {
        "dataset": parts[0].name,
        "method": settings.model.name,
        "settings": plain(settings),
        "points": points,
        "versions": provenance(),
    }


def fold_curves(
    part: Dataset,
    settings: CellSettings,
    dials: Sequence[dict[str, float]],
    progress: ProgressFactory,
) -> pd.DataFrame:
    """Scores of the held-out stretch, in normalised units, averaged over the seeds.

    One row for each step at which it was forecast, a column for each score and candidate.
    """
    model, training = settings.model, settings.training
    assert model is not None
    assert training is not None
    length = min(training.sequence_length, *(len(run) for run in part.train))
    names = set(type(training).model_fields) - set(Dials._fields)
    common = {name: getattr(training, name) for name in names} | {"sequence_length": length}
    found = gpssm.fit_candidates(
        model,
        part.train,
        dials,
        seeds=settings.seeds,
        progress=progress,
        validation=part.test,
        **common,
    )
    columns = {
        (name, i): pd.concat([_scores(run, name) for run in runs], axis=1).mean(
            axis=1, skipna=False
        )
        for i, runs in enumerate(found)
        for name in _SCORES
    }
    return pd.DataFrame(columns)


def _scores(run: gpssm.Run, name: str) -> pd.Series:
    """Of the steps after which there is one, counted from 1."""
    scores = run.history.table[f"validation_{name}"]
    due = (np.arange(len(scores)) + 1) % run.training.validate_steps == 0
    scores = scores[due]
    return scores.set_axis(scores.index + 1)


# ---------------------------------------------------------------------- the choice


def over_folds(point: dict[str, Any], ahead: bool = False) -> dict[str, Any]:
    """One score of all folds; none where one of them diverged.

    The median: a stretch unlike all the rest, to which a model must extrapolate, would decide an
    average. But `ahead` to extrapolate is the task: there it is the root mean square, each error
    in units of the spread of what came before.
    """
    if any(None in point[name] for name in _SCORES):
        return {**point, **dict.fromkeys(_SCORES)}
    rmse, log_likelihood = (np.asarray(point[name]) for name in _SCORES)
    if ahead:
        both = np.sqrt(np.mean(np.square(rmse))), np.mean(log_likelihood)
    else:
        both = np.median(rmse), np.median(log_likelihood)
    return {**point, **dict(zip(_SCORES, map(float, both), strict=True))}


def ranking(points: Sequence[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """The best candidate first; those that diverged last."""
    sign = 1.0 if by == "rmse" else -1.0
    return sorted(points, key=lambda p: (p[by] is None, sign * (p[by] or 0.0)))


def over_datasets(points: Sequence[dict[str, Any]]) -> dict[str, float]:
    """RMSE relative to the best of each data set, averaged geometrically: one default for all.

    Only candidates that have a score on every data set.
    """
    names = {point["dataset"] for point in points}
    scored = [point for point in points if point["rmse"] is not None]
    best = {n: min(p["rmse"] for p in scored if p["dataset"] == n) for n in names}
    relative: dict[str, list[float]] = {}
    for point in scored:
        share = point["rmse"] / best[point["dataset"]]
        relative.setdefault(_words(point["candidate"]), []).append(share)
    whole = {k: geometric_mean(v) for k, v in relative.items() if len(v) == len(names)}
    return dict(sorted(whole.items(), key=lambda pair: pair[1]))


def summarise(jobs: Sequence[Job], by: str, ahead: bool, console: Console) -> dict[str, Any]:
    """Prints a table per data set and method; the best of each, and those of all data sets."""
    records = [record for job in jobs if (record := read_json(job.path)) is not None]
    points = [
        {**over_folds(point, ahead), "dataset": record["dataset"], "method": record["method"]}
        for record in records
        for point in record["points"]
    ]
    summary: dict[str, Any] = {}
    for method in dict.fromkeys(point["method"] for point in points):
        mine = [point for point in points if point["method"] == method]
        for name in dict.fromkeys(point["dataset"] for point in mine):
            ranked = ranking([point for point in mine if point["dataset"] == name], by)
            console.print(_ranking_table(f"{name} {method}", ranked[:_SHOWN]))
            keys = "candidate", "rmse", "log_likelihood"
            summary.setdefault(method, {})[name] = {key: ranked[0][key] for key in keys}
        together = list(over_datasets(mine).items())[:_SHOWN]
        summary[method]["all, RMSE relative to the best"] = dict(together)
    return summary


def _ranking_table(title: str, ranked: Sequence[dict[str, Any]]) -> Table:
    table = Table("candidate", "RMSE", "log-likelihood", title=title)
    for point in ranked:
        numbers = point["rmse"], point["log_likelihood"]
        shown = ["diverged" if value is None else f"{value:.4g}" for value in numbers]
        table.add_row(_words(point["candidate"]), *shown)
    return table


def _words(candidate: Candidate) -> str:
    return ", ".join(f"{name.partition('.')[2]} {value}" for name, value in candidate.items())


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        searches = asked_for(options)
    except ConfigError as error:
        parser.error(str(error))
    gpssm.prepare(options.cores)
    config = read_config(options.config)
    jobs = [job for each in searches for job in make_jobs(each, config, options.results)]
    failed = run_jobs(jobs, options.cluster)
    for ahead in (False, True):
        mine = [job for job in jobs if job.path.name.startswith("ahead") == ahead]
        summarise(mine, options.by, ahead, Console())
    return 1 if failed else 0


def make_jobs(search: Search, config: dict[str, Any], results: Path) -> list[Job]:
    """A job for each program that a search needs."""
    config = merge(config, {"seeds": search.seeds, "seeds_at_once": search.seeds})
    programs, beside = split(search.grid)
    loaded = [gpssm.load_dataset(name) for name in search.datasets]
    return [
        make_job(config, data, method, candidate, beside, search.folds, results)
        for data, method, candidate in product(loaded, search.methods, candidates(programs))
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="experiments.tune", description=__doc__)
    add_search_options(parser)
    parser.add_argument("--cores", type=int, default=1, help="of this process; default: 1")
    add_cluster_option(parser)
    parser.add_argument("--by", choices=("rmse", "log_likelihood"), default="rmse")
    parser.add_argument("--config", type=Path, default=CONFIGS / "table1.toml")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "tune")
    return parser


if __name__ == "__main__":
    sys.exit(main())
