"""Calibration: coverage, probability integral transform, error over the horizon.

Everything here gets the open-loop part alone, without the warm-up.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.base.extremes import root_mean_square

from .forecast import Forecast

LEVELS = np.round(np.arange(0.05, 1.0, 0.05), 2)
_LIMIT = 1.96  # standard errors of a 95 % limit


class Scored(NamedTuple):
    """A forecast and its measurements, step by step."""

    forecast: Forecast
    y: Float[np.ndarray, "time outputs"]

    def after(self, steps: int) -> "Scored":
        """Without its first steps."""
        return Scored(self.forecast.after(steps), self.y[steps:])


def pit_values(scored: Sequence[Scored], output: int) -> Float[np.ndarray, " known"]:
    """P(Y < y) of every measurement of one output: uniform if the forecast is calibrated."""
    values = [each.forecast.probability_below(each.y)[:, output] for each in scored]
    known = [~np.isnan(each.y[:, output]) for each in scored]
    return np.concatenate([v[k] for v, k in zip(values, known, strict=True)])


def coverage_curve(
    pit: Float[np.ndarray, " known"], levels: Float[np.ndarray, " levels"] = LEVELS
) -> Float[np.ndarray, " levels"]:
    """Share of the measurements inside the central band of each level."""
    distance = np.abs(pit - 0.5)
    return np.mean(distance[None, :] <= 0.5 * levels[:, None], axis=1)


def pit_histogram(
    pit: Float[np.ndarray, " known"], bins: int = 10
) -> tuple[Float[np.ndarray, " bins"], float]:
    """The density in equal bins, which is 1 if calibrated, and the 95 % limit around that 1.

    The limit is that of independent measurements, which those of a long forecast are not.
    """
    counts = np.histogram(pit, bins=bins, range=(0.0, 1.0))[0]
    return counts * bins / len(pit), _LIMIT * float(np.sqrt((bins - 1) / len(pit)))


class HorizonBin(NamedTuple):
    """Steps `first` to `last` after the warm-up (counted from 1), with RMSE, width, coverage."""

    first: int
    last: int
    known: int
    rmse: float
    width: float
    coverage: float


def horizon_profile(
    scored: Sequence[Scored], output: int, bins: int = 12, level: float = 0.95
) -> list[HorizonBin]:
    """Error, band width and coverage against the number of steps since the warm-up."""
    longest = max(len(each.y) for each in scored)
    edges = np.unique(np.linspace(0, longest, min(bins, longest) + 1).round().astype(int))
    columns = [_columns(each, output, level) for each in scored]
    found = [_bin(columns, int(first), int(last)) for first, last in pairwise(edges)]
    return [each for each in found if each.known]


def _columns(
    scored: Scored, output: int, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Error, band width and whether the measurement is in the band, at every step."""
    low, high = (bound[:, output] for bound in scored.forecast.interval(level))
    y = scored.y[:, output]
    inside = np.where(np.isnan(y), np.nan, (low <= y) & (y <= high))
    return y - scored.forecast.mean[:, output], high - low, inside


def _bin(
    columns: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], first: int, last: int
) -> HorizonBin:
    error, width, inside = (
        np.concatenate([each[i][first:last] for each in columns]) for i in range(3)
    )
    known = ~np.isnan(error)
    if not known.any():
        return HorizonBin(first + 1, last, 0, np.nan, np.nan, np.nan)
    scores = root_mean_square(error[known]), float(np.mean(width)), float(np.mean(inside[known]))
    return HorizonBin(first + 1, last, int(known.sum()), *scores)
