"""Does it pay to train from several starts, and to keep one that simulates its training data?

    python -m experiments.starts

The rule was written down before anything was computed. For every small set and every method that
has targets, with the settings of `configs/table1.toml`: eight starts on each part of the training
part that is left when another is held out. Halves are held out in turn, so that a forecast is as
long as what was learned from, as in the test; of a plant that drifts, the futures by which its
settings were chosen. From these eight follows, without a further fit, what the one that is kept of
any three of them is worth on what was held out, on average over all choices of three. Where that
error, as a geometric mean over the parts and the three methods, is lower than that of one start by
two per cent or more, or where a start has diverged, the data set gets `starts = 3` for all three
methods, and keeps it, whatever the test part then says. The test part is never looked at here.

First the one with the lowest error on its own data was to be kept. The first results, those of
drive and of one method on tank, showed that where all starts do well there, the lowest error is
that of over-fitting. So the library keeps the first one that has not failed, and so does this
study; the other way stands beside it.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations, product
from operator import or_
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import jax
import numpy as np

import gpssm
from gpssm.data import Dataset
from gpssm.report import markdown_table, mean_std
from gpssm.training import FAILED, cut_stretches, long_stretches, open_loop_loss
from gpssm.training.progress import ProgressFactory

from .changes import CHANGES
from .config import CONFIGS, DATASETS, CellSettings, cell_settings, merge, plain, read_config
from .files import ROOT, provenance, read_json
from .grid import Job, add_cluster_option, run_jobs
from .overrides import with_candidate
from .pages import DIVERGED, DOCS, MISSING, TITLES, Cells, publish, read_cells
from .protocol import number
from .searches import Folds

Records = dict[str, dict[str, dict[str, Any]]]  # data set → method → record
Keep = Callable[[np.ndarray, np.ndarray], float]  # errors on own and on other data → that of one

SMALL, METHODS = DATASETS[:-1], ("pr-ssm", "cbf-ssm-1", "cbf-ssm-50")
_STARTS, _KEPT_OF = 8, 3
_PAYS = 0.98  # of the error of one start
_HALVES = Folds(2, 2)
_FUTURES = {"dryer": Folds(5, 3, ahead=True), "ballbeam": Folds(5, 2, ahead=True)}


def make_job(config: dict[str, Any], data: Dataset, method: str, results: Path) -> Job:
    many = merge(config, {"seeds": _STARTS, "seeds_at_once": _STARTS})
    alone = with_candidate(many, data.name, method, {"training.starts": 1})
    settings = cell_settings(alone, data, method)
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
        "parts": [fit_part(part, settings, progress) for part in folds.of(settings.data.of(data))],
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
    with jax.enable_x64(True):  # in which `fit` looks at them, too
        own = long_stretches(part.train, runs[0].normalisation, runs[0].training)
        assert own is not None
        held_out = cut_stretches(part.test, runs[0].normalisation, runs[0].training)
        return {
            name: [number(open_loop_loss(run.system, stretches)) for run in runs]
            for name, stretches in (("own", own), ("held_out", held_out))
        }


# ---------------------------------------------------------------------- what it says


def lowest(own: np.ndarray, held_out: np.ndarray) -> float:
    """What the start with the lowest error on its own data has on others."""
    return float(held_out[np.argmin(own)])


def first_to_hold(own: np.ndarray, held_out: np.ndarray) -> float:
    """What the first that has not failed has there, on average over all orders of them."""
    return float(np.mean(held_out[own <= FAILED * own.min()]))


_WAYS: dict[str, Keep] = {"lowest error": lowest, "first to hold": first_to_hold}


def expected_error(part: dict[str, list[float]], kept_of: int, keep: Keep) -> float:
    """Of the one that is kept of so many, on average over all choices of them."""
    own, held_out = (np.asarray(part[name], float) for name in ("own", "held_out"))
    choices = map(list, combinations(range(len(own)), kept_of))
    return float(np.mean([keep(own[each], held_out[each]) for each in choices]))


def gain(record: dict[str, Any], keep: Keep = first_to_hold) -> float | None:
    """The error with several starts, relative to that with one; None where a start diverged."""
    if any(None in errors for part in record["parts"] for errors in part.values()):
        return None
    errors = [
        (expected_error(part, _KEPT_OF, keep), expected_error(part, 1, keep))
        for part in record["parts"]
    ]
    return geometric_mean([several / one for several, one in errors])


def pays(gains: Sequence[float | None]) -> bool:
    """The rule. A start that diverged is one that several starts would have saved."""
    known = [each for each in gains if each is not None]
    return len(known) < len(gains) or geometric_mean(known) <= _PAYS


def starts_table(records: Records) -> str:
    """Gains of all cells, by both ways to keep one, and what follows for the data set."""
    header = ["data set", "kept", *(TITLES[method] for method in METHODS), "together", "starts"]
    rows = []
    for name, row in records.items():
        for words, keep in _WAYS.items():
            if set(METHODS) - row.keys():
                rows.append([name, words, *[MISSING] * (len(METHODS) + 1), ""])
                continue
            gains = [gain(row[method], keep) for method in METHODS]
            known = [each for each in gains if each is not None]
            told = [DIVERGED if each is None else f"{each:.3f}" for each in gains]
            together = f"{geometric_mean(known):.3f}" if known else DIVERGED
            decided = str(_KEPT_OF if pays(gains) else 1) if keep is first_to_hold else ""
            rows.append([name, words, *told, together, decided])
    return markdown_table(header, rows, words=2)


def read_records(results: Path) -> Records:
    paths = {(n, m): results / "starts" / n / f"{m}.json" for n, m in product(SMALL, METHODS)}
    records: Records = {name: {} for name in SMALL}
    for (name, method), path in paths.items():
        if (record := read_json(path)) is not None:
            records[name][method] = record
    return records


def tested_table(cells: Cells, alone: Cells) -> str:
    """What it has done to the test errors: of five seeds with one start each, and with several.

    `alone` are the cells as they were before, from `results/one_start`.
    """
    header = ["data set", "method", "one start", "lowest to highest", "three", "lowest to highest"]
    rows = [
        [name, TITLES[method], *_tested(alone[name][method]), *_tested(cells[name][method])]
        for name, method in product(SMALL, METHODS)
        if method in alone[name] and method in cells[name]
    ]
    return markdown_table(header, rows, words=2)


def _tested(record: dict[str, Any]) -> tuple[str, str]:
    rmses = [seed["paper"]["rmse"] for seed in record["seeds"]]
    if None in rmses:
        return DIVERGED, DIVERGED
    return mean_std(rmses), f"{min(rmses):.3f} to {max(rmses):.3f}"


def read_tested(results: Path) -> tuple[Cells, Cells]:
    """The cells of the table, and the same ones with one start.

    Where the table has other settings by now, the cells of then: nothing else is to differ.
    """
    folders = (".", *(change.folder for change in CHANGES.values()), "one_start")
    cells, *then, alone = (read_cells(results / name / "table1") for name in folders)
    return {name: reduce(or_, (each[name] for each in then), cells[name]) for name in cells}, alone


def write_starts(results: Path) -> list[Path]:
    """Into the page of the table, if the results are those of the repository."""
    written = publish(results, DOCS, starts_table(read_records(results)), "starts")
    return written + publish(results, DOCS, tested_table(*read_tested(results)), "tested")


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
