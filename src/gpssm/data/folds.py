"""Cross-validation: contiguous blocks of the training data, held out in turn."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpssm.base.errors import DataError, expected

from . import Dataset, Experiment
from .experiment import MIN_ROWS


def blocked_folds(data: Dataset, folds: int, ahead: bool = False) -> list[Dataset]:
    """The parts of `cut_blocks`; trends and drifts are fitted to the training rows only."""
    return [part.refitted() for part in cut_blocks(data, folds, ahead)]


def cut_blocks(data: Dataset, folds: int, ahead: bool = False) -> list[Dataset]:
    """The data `folds` times, each time with another contiguous block held out.

    Where there are at least as many experiments as folds, whole experiments are held out;
    otherwise a stretch of each of them, and what is left on its two sides trains as two
    experiments, so that no window reaches across the gap.

    With `ahead` only what came before the stretch trains, as in use: a plant that drifts shows it
    here only. Experiments follow each other in their order, and a stretch may begin in one and end
    in the next. The first stretch has nothing before it, so there is one fold less.
    """
    if folds < 2:
        raise DataError(expected("folds", folds, "at least 2, so that something is left to train"))
    runs = data.experiments
    whole = len(runs) >= folds
    if ahead:
        cut, first = _before_experiment if whole else _before_row, 1
    else:
        cut, first = _by_experiment if whole else _by_rows, 0
    return [replace(data, experiments=cut(runs, fold, folds)) for fold in range(first, folds)]


def _by_experiment(runs: Sequence[Experiment], fold: int, folds: int) -> tuple[Experiment, ...]:
    first, last = _borders(len(runs), fold, folds)
    return tuple(
        replace(run, part="test" if first <= i < last else "train") for i, run in enumerate(runs)
    )


def _before_experiment(runs: Sequence[Experiment], fold: int, folds: int) -> tuple[Experiment, ...]:
    return _by_experiment(runs, fold, folds)[: _borders(len(runs), fold, folds)[1]]


def _by_rows(runs: Sequence[Experiment], fold: int, folds: int) -> tuple[Experiment, ...]:
    found = []
    for run in runs:
        first, last = _borders(len(run), fold, folds)
        spans = (0, first, "train"), (first, last, "test"), (last, len(run), "train")
        found += [run.cut(begin, end, part) for begin, end, part in spans if end > begin]
    return tuple(found)


def _before_row(runs: Sequence[Experiment], fold: int, folds: int) -> tuple[Experiment, ...]:
    """A fold that trains only on rows before its block; pieces that are too short are dropped."""
    first, last = _borders(sum(len(run) for run in runs), fold, folds)
    found, offset = [], 0
    for run in runs:
        # where the stretch begins and ends among the rows of this experiment
        begin, end = (min(max(border - offset, 0), len(run)) for border in (first, last))
        spans = (0, begin, "train"), (begin, end, "test")
        found += [run.cut(a, b, part) for a, b, part in spans if b - a >= MIN_ROWS]
        offset += len(run)
    return tuple(found)


def _borders(count: int, fold: int, folds: int) -> tuple[int, int]:
    edges = np.linspace(0, count, folds + 1).round().astype(int)
    return int(edges[fold]), int(edges[fold + 1])
