"""Choices without the test part: stretches of the training data, held out in turn."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpssm.data import Dataset, Experiment
from gpssm.errors import DataError, expected


def blocked_folds(data: Dataset, folds: int, ahead: bool = False) -> list[Dataset]:
    """The same data `folds` times, each time with another contiguous stretch as its test part.

    Where there are at least as many experiments as folds, whole experiments are held out;
    otherwise a stretch of each of them, and what is left on its two sides trains as two
    experiments, so that no window reaches across the gap.

    With `ahead` only what came before the stretch trains, as in use, where a forecast tells the
    future: a plant that drifts shows it here only. The first stretch has nothing before it, so
    there is one fold less.
    """
    if folds < 2:
        raise DataError(expected("folds", folds, "at least 2, so that something is left to train"))
    runs = data.experiments
    cut = _by_experiment if len(runs) >= folds else _by_rows
    first = 1 if ahead else 0
    return [
        replace(data, experiments=cut(runs, fold, folds, ahead)) for fold in range(first, folds)
    ]


def _by_experiment(
    runs: Sequence[Experiment], fold: int, folds: int, ahead: bool
) -> tuple[Experiment, ...]:
    first, last = _borders(len(runs), fold, folds)
    used = runs[:last] if ahead else runs
    return tuple(
        replace(run, part="test" if first <= i < last else "train") for i, run in enumerate(used)
    )


def _by_rows(
    runs: Sequence[Experiment], fold: int, folds: int, ahead: bool
) -> tuple[Experiment, ...]:
    return tuple(piece for run in runs for piece in _pieces(run, fold, folds, ahead))


def _pieces(run: Experiment, fold: int, folds: int, ahead: bool) -> list[Experiment]:
    first, last = _borders(len(run), fold, folds)
    before, held, after = (0, first, "train"), (first, last, "test"), (last, len(run), "train")
    spans = (before, held) if ahead else (before, held, after)
    return [run.cut(begin, end, part) for begin, end, part in spans if end > begin]


def _borders(count: int, fold: int, folds: int) -> tuple[int, int]:
    edges = np.linspace(0, count, folds + 1).round().astype(int)
    return int(edges[fold]), int(edges[fold + 1])
