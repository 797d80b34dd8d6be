"""What longer sequences and a linear model inside do to forecasts of held-out thirds.

    make horizon                               # all twelve sets; goes on where it stopped
    make horizon ARGS="--datasets emps tank"

Every third of a training part is forecast by models that were trained on the rest. Today's default
is trained beside the two new candidates in the same run. Which candidate counts in a third is
chosen by the errors in the other thirds. Every fit is a record in `results/horizon/lengths.json`
as soon as it is there; none is computed twice. The models stay in `results/horizon/models`, outside
of the repository, for other studies of the same folds. Test parts stay closed.
"""

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..common.files import ROOT, add_record, read_json, read_record, write_text
from ..common.tables import markdown_table
from .linear import FOLDS, LEVEL, SETS, WARMUP, training_part

STEPS, LONGER = 1000, 3
DEFAULT, CANDIDATES = "default", ("growing", "inside")
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "growing": {"grow": True},
    "inside": {"grow": True, "linear_part": True},
}
PATH = ROOT / "results" / "horizon"


class Job(NamedTuple):
    """One fit: its data set, variant, number of steps, and the third that is held out."""

    name: str
    variant: str
    steps: int
    fold: int

    @property
    def key(self) -> tuple[str, ...]:
        return self.name, f"{self.variant} {self.steps}", str(self.fold)

    def model(self, folder: Path) -> Path:
        """The file of the fitted model."""
        return folder / "models" / f"{self.name}-{self.variant}-{self.steps}-{self.fold}.gpssm"


def run_job(job: Job, folder: Path) -> dict[str, Any]:
    """Fit to the rest of the fold, forecast it from a warm-up, and score what follows."""
    import gpssm
    from gpssm.data import DataWarning, Normalisation
    from gpssm.data.folds import cut_blocks
    from gpssm.inference.presets import default_dim_x

    from ..common.files import provenance

    warnings.simplefilter("ignore", DataWarning)
    gpssm.prepare(cores=1)  # the other one has a fit of its own
    data = training_part(job.name)
    part, spread = cut_blocks(data, FOLDS)[job.fold], Normalisation.of(data).y_std
    options = dict(VARIANTS[job.variant])
    states = default_dim_x(data.dim_y)
    model = gpssm.cbf_ssm(dim_x=states, linear_part=options.pop("linear_part", False))
    began = time.perf_counter()
    run = gpssm.fit(model, part.train, steps=job.steps, quiet=True, tune_filter=False, **options)
    seconds = time.perf_counter() - began
    job.model(folder).parent.mkdir(parents=True, exist_ok=True)
    run.save(job.model(folder))
    squares, inside, crps = [], [], []
    for experiment in part.test:
        forecast = run.predict(experiment.u, experiment.y[:WARMUP]).after(WARMUP)
        y = experiment.y[WARMUP:]
        known = ~np.isnan(y)
        squares.append(np.square((forecast.mean - y) / spread)[known])
        low, high = forecast.interval(LEVEL)
        inside.append(((low <= y) & (y <= high))[known])
        crps.append(forecast.score(y)["crps"] / float(np.mean(spread)))
    return {
        "mean_square": float(np.mean(np.concatenate(squares))),
        "coverage": float(np.mean(np.concatenate(inside))),
        "crps": float(np.mean(crps)),
        "seconds": seconds,
        "sequence_length": run.training.sequence_length,
        "input_delays": run.model.input_delays,
        "versions": provenance(),
    }


def chosen(records: dict[str, Any], fold: int, steps: int = STEPS) -> str:
    """The candidate with the least error in the other thirds."""

    def error(variant: str) -> float:
        found = records[f"{variant} {steps}"]
        return float(np.sum([each["mean_square"] for k, each in found.items() if k != str(fold)]))

    return min(CANDIDATES, key=error)


class Row(NamedTuple):
    """The errors of one set in spreads, over all thirds, and what 95 % intervals cover."""

    name: str
    default: float
    growing: float
    inside: float
    chosen: float
    covers: tuple[float, float]  # default, chosen
    longer: float | None  # error after three times the steps, relative

    @property
    def ratio(self) -> float:
        return self.chosen / self.default


def make_row(name: str, records: dict[str, Any]) -> Row:
    picks = [records[f"{chosen(records, f)} {STEPS}"][str(f)] for f in range(FOLDS)]
    plain = [list(records[f"{v} {STEPS}"].values()) for v in (DEFAULT, *CANDIDATES)]
    covers = tuple(float(np.mean([e["coverage"] for e in each])) for each in (plain[0], picks))
    longer = None
    again = [
        (records[f"{v} {STEPS}"][fold], found)
        for v in CANDIDATES
        for fold, found in records.get(f"{v} {LONGER * STEPS}", {}).items()
    ]
    if again:
        longer = _error([after for _, after in again]) / _error([before for before, _ in again])
    return Row(name, *map(_error, [*plain, picks]), (covers[0], covers[1]), longer)


def _error(records: Sequence[dict[str, Any]]) -> float:
    return float(np.sqrt(np.mean([each["mean_square"] for each in records])))


def page(results: dict[str, Any]) -> str:
    """The table, and the figures that sum it up."""
    complete = [name for name in SETS if _is_complete(results.get(name, {}))]
    rows = [make_row(name, results[name]) for name in complete]
    head = [
        "data set", "default", "growing", "linear inside", "chosen", "chosen / default",
        "95 % covers, default", "chosen", f"{LONGER} × the steps",
    ]  # fmt: skip
    table = markdown_table(head, [_cells(row) for row in rows])
    return f"{_intro()}\n\n{table}\n\n{_summary(rows)}"


def _intro() -> str:
    return (
        f"RMSE of forecasts of held-out thirds after a warm-up of {WARMUP} rows, in spreads of the "
        f"training part. Last column: error after {LONGER} times the steps, relative."
    )


def _cells(row: Row) -> list[str]:
    errors = [f"{each:.3f}" for each in row[1:5]]
    longer = "" if row.longer is None else f"{row.longer:.2f}"
    covers = [f"{each:.2f}" for each in row.covers]
    return [row.name, *errors, f"{row.ratio:.2f}", *covers, longer]


def _summary(rows: Sequence[Row]) -> str:
    if not rows:
        return "No set is complete yet."
    mean = np.exp(np.mean([np.log(row.ratio) for row in rows]))
    rest = [np.log(row.ratio) for row in rows if row.name != "emps"]
    without = f", {np.exp(np.mean(rest)):.2f} without EMPS" if rest else ""
    fallen = [row.name for row in rows if row.covers[1] < row.covers[0] - 0.05]
    worse = [row.name for row in rows if row.ratio > 1.1]
    return (
        f"{len(rows)} sets: geometric mean of the ratio {mean:.2f}{without}. "
        f"Above 1.10: {', '.join(worse) or 'none'}. "
        f"Coverage down by more than 0.05: {', '.join(fallen) or 'none'}."
    )


def _is_complete(records: dict[str, Any]) -> bool:
    return all(len(records.get(f"{v} {STEPS}", {})) == FOLDS for v in VARIANTS)


def jobs(names: Sequence[str]) -> list[Job]:
    """All sets at the usual number of steps, one third after the other."""
    return [Job(n, v, STEPS, f) for f in range(FOLDS) for n in names for v in VARIANTS]


def longer_jobs(names: Sequence[str], results: dict[str, Any]) -> list[Job]:
    """The chosen candidate of the middle third, with more steps."""
    fold = FOLDS // 2
    return [
        Job(name, chosen(results[name], fold), LONGER * STEPS, fold)
        for name in names
        if _is_complete(results.get(name, {}))
    ]


def compute(wanted: Sequence[Job], path: Path, workers: int) -> None:
    """Every job that has no record yet, in processes of their own."""
    missing = [job for job in wanted if read_record(path, job.key) is None]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        running = {pool.submit(run_job, job, path.parent): job for job in missing}
        for future in as_completed(running):
            job, found = running[future], future.result()
            add_record(path, job.key, found)
            error = found["mean_square"] ** 0.5
            print(*job, f"{error:.3f}, {found['seconds']:.0f} s", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.horizon", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=SETS, metavar="NAME")
    parser.add_argument("--results", type=Path, default=PATH)
    parser.add_argument("--workers", type=int, default=2, help="processes side by side")
    options = parser.parse_args(arguments)
    path = options.results / "lengths.json"
    compute(jobs(options.datasets), path, options.workers)
    compute(longer_jobs(options.datasets, read_json(path)), path, options.workers)
    text = page(read_json(path))
    write_text(options.results / "lengths.md", text + "\n")
    print(text)
    return 0
