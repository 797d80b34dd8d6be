"""Does it pay to train from several starts, and to keep the one that simulates its data best?

    python -m experiments.starts

The rule was written down before anything was computed. For every small set and every method that
has targets, with the settings of `configs/table1.toml`: eight starts on each part of the training
part that is left when another is held out. Halves are held out in turn, so that a forecast is as
long as what was learned from, as in the test; of a plant that drifts, the futures by which its
settings were chosen. From these eight follows, without a further fit, what the best of any three
of them is worth on what was held out, on average over all choices of three. Where that error, as
a geometric mean over the parts and the three methods, is lower than that of one start by two per
cent or more, the data set gets `starts = 3` for all three methods, and keeps it, whatever the test
part then says. The test part is never looked at here.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from math import comb
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

import gpssm
from gpssm.data import Dataset
from gpssm.report import markdown_table
from gpssm.training import cut_stretches, long_stretches, open_loop_loss
from gpssm.training.progress import ProgressFactory

from .config import CONFIGS, DATASETS, CellSettings, cell_settings, merge, plain, read_config
from .files import ROOT, provenance, read_json
from .grid import Job, add_cluster_option, run_jobs
from .pages import DOCS, MISSING, TITLES, publish
from .protocol import number
from .searches import Folds

SMALL, METHODS = DATASETS[:-1], ("pr-ssm", "cbf-ssm-1", "cbf-ssm-50")
_STARTS, _KEPT_OF = 8, 3
_PAYS = 0.98  # of the error of one start
_HALVES = Folds(2, 2)
_FUTURES = {"dryer": Folds(5, 3, ahead=True), "ballbeam": Folds(5, 2, ahead=True)}


def make_job(config: dict[str, Any], data: Dataset, method: str, results: Path) -> Job:
    changes = {"seeds": _STARTS, "seeds_at_once": _STARTS}
    settings = cell_settings(merge(config, changes), data, method)
    folds = _FUTURES.get(data.name, _HALVES)
    return Job(
        label=f"{data.name} {method}",
        path=results / "starts" / data.name / f"{method}.json",
        settings=settings,
        run=lambda progress: compare(folds, data, settings, progress),
        rounds=folds.held,
    )


def compare(
    folds: Folds, data: Dataset, settings: CellSettings, progress: ProgressFactory
) -> dict[str, Any]:
    """The errors of all starts on the data that they were trained on, and on what was held out."""
    assert settings.model is not None
    return {
        "dataset": data.name,
        "method": settings.model.name,
        "settings": plain(settings),
        "judge": folds.label,
        "parts": [fit_part(part, settings, progress) for part in folds.of(data)],
        "versions": provenance(),
    }


def fit_part(
    part: Dataset, settings: CellSettings, progress: ProgressFactory
) -> dict[str, list[float | None]]:
    """Errors in normalised units, one for each start."""
    model, training = settings.model, settings.training
    assert model is not None
    assert training is not None
    length = min(training.sequence_length, *(len(run) for run in part.train))
    given = {name: getattr(training, name) for name in type(training).model_fields}
    given |= {"sequence_length": length, "calibrate": False}
    runs = gpssm.fit(model, part.train, seeds=settings.seeds, progress=progress, **given)
    own = long_stretches(part.train, runs[0].normalisation, runs[0].training)
    assert own is not None
    held = cut_stretches(part.test, runs[0].normalisation, runs[0].training)
    return {
        "own": [number(open_loop_loss(run.system, own)) for run in runs],
        "held_out": [number(open_loop_loss(run.system, held)) for run in runs],
    }


# ---------------------------------------------------------------------- what it says


def expected_error(own: Sequence[float], held_out: Sequence[float], kept_of: int) -> float:
    """Of the one with the lowest own error among `kept_of`, over all choices of so many.

    The start whose own error is the i-th lowest of n, counted from 0, is kept if it is chosen and
    the others come from the n - 1 - i above it: C(n - 1 - i, k - 1) of C(n, k) choices.
    """
    n = len(own)
    ordered = np.asarray(held_out, float)[np.argsort(own)]
    chances = [comb(n - 1 - i, kept_of - 1) / comb(n, kept_of) for i in range(n)]
    return float(np.dot(chances, ordered))


def gain(record: dict[str, Any], kept_of: int = _KEPT_OF) -> float | None:
    """The error of the best of several, relative to that of one; None where a start diverged."""
    shares = []
    for part in record["parts"]:
        if None in part["own"] or None in part["held_out"]:
            return None
        both = part["own"], part["held_out"]
        shares.append(expected_error(*both, kept_of) / expected_error(*both, 1))
    return geometric_mean(shares)


def pays(gains: Sequence[float | None]) -> bool:
    """The rule. A start that diverged is one that several starts would have saved."""
    return None in gains or geometric_mean([each for each in gains if each]) <= _PAYS


def starts_table(records: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Gains of all cells, and what follows for the data set."""
    header = ["data set", *(TITLES[method] for method in METHODS), "together", "starts"]
    rows = []
    for name, row in records.items():
        if set(METHODS) - row.keys():
            rows.append([name, *[MISSING] * (len(header) - 1)])
            continue
        gains = [gain(row[method]) for method in METHODS]
        known = [each for each in gains if each is not None]
        told = ["diverged" if each is None else f"{each:.3f}" for each in gains]
        decided = str(_KEPT_OF if pays(gains) else 1)
        rows.append([name, *told, f"{geometric_mean(known):.3f}", decided])
    return markdown_table(header, rows)


def read_records(results: Path) -> dict[str, dict[str, dict[str, Any]]]:
    paths = {(n, m): results / "starts" / n / f"{m}.json" for n, m in product(SMALL, METHODS)}
    records: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in SMALL}
    for (name, method), path in paths.items():
        if (record := read_json(path)) is not None:
            records[name][method] = record
    return records


def write_starts(results: Path) -> list[Path]:
    """Into the page of the table, if the results are those of the repository."""
    return publish(results, DOCS, starts_table(read_records(results)), "starts")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.starts", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=SMALL, default=SMALL, metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="NAME")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--cores", type=int, default=1, help="of this process; default: 1")
    add_cluster_option(parser)
    options = parser.parse_args(arguments)
    gpssm.prepare(options.cores)
    config = read_config(CONFIGS / "table1.toml")
    loaded = [gpssm.load_dataset(name) for name in options.datasets]
    jobs = [make_job(config, *each, options.results) for each in product(loaded, options.methods)]
    failed = run_jobs(jobs, options.cluster)
    for line in failed:
        print(f"FAILED {line}", file=sys.stderr)
    write_starts(options.results)
    print(starts_table(read_records(options.results)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
