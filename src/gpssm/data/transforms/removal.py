"""Removal of trends and drifts that are fitted to the training rows.

A trend is a polynomial in time, whatever made the outputs follow it; a drift is what the inputs do
not explain. Both are functions of the row, so that they go on where the training part ends.
"""

from collections.abc import Sequence

import numpy as np

from gpssm.base.errors import DataError, expected
from gpssm.data.experiment import Experiment
from gpssm.data.steps import Trend, fit_trend

from .drift import Drift, find_drifts, no_drift

Experiments = tuple[Experiment, ...]


def without_trend(runs: Experiments, order: int, names: Sequence[str]) -> Experiments:
    """The experiments without a polynomial in time, one for all of them."""
    if order < 0 or order != int(order):
        raise DataError(expected("detrend", f"order {order}", "a whole number from 0"))
    seen = _trains(runs, "detrend")
    rows, y = (np.concatenate(each) for each in zip(*((r.rows, r.y) for r in seen), strict=True))
    trend = fit_trend(rows, y, int(order), names)
    return tuple(run.without(trend) for run in runs)


def without_drift(runs: Experiments, size: float, names: Sequence[str]) -> Experiments:
    """Subtract the drift of each record; records without training rows stay as they are."""
    found = find_drifts(_trains(runs, "remove_drift"), size, names)
    none = no_drift(size, len(names))
    return tuple(run.without(found.get(run.name, none)) for run in runs)


def without_again(runs: Experiments, names: Sequence[str]) -> Experiments:
    """Fit every removed step again to the current training rows."""
    before, runs = runs[0].trends, tuple(run.original() for run in runs)
    for trend in before:
        if isinstance(trend, Trend):
            runs = without_trend(runs, len(trend.coefficients) - 1, names)
        elif isinstance(trend, Drift):
            runs = without_drift(runs, trend.size, names)
    return runs


def _trains(runs: Experiments, step: str) -> Experiments:
    """Rows to fit a step to: the training part, or all rows if there is none."""
    if any(run.is_on_disk for run in runs):
        remedy = "Take this step before you write the arrays."
        raise DataError(expected(step, "data on disk", "data in memory", remedy))
    return tuple(run for run in runs if run.part == "train") or runs
