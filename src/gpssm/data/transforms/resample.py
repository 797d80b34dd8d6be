"""Irregular or fast samples as rows at equal steps.

A new row k stands at t[k] = t[0] + k·dt. Its inputs are held: u[k] is the mean over [t[k], t[k+1])
of the last value sent, which is what drives the system from y[k] to y[k+1]. Its outputs are
measured: y[k] is the mean of the samples within half a step around t[k], so that what is faster
than the new steps is damped. The mean stands at the mean time of its samples, and a straight line
to the next mean takes it to t[k]. A row without samples is missing, unless it lies between two
samples that are less than 1.5 steps apart.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import DataError, expected
from gpssm.data.experiment import MIN_ROWS, Experiment

_EDGE = 1e-6  # of a step; a sample at the border of two rows belongs to both, half to each
_NEAR = 1.5  # steps between samples, below which a row between them is filled
_MOST = 100  # new rows for each sample


class Rows(NamedTuple):
    """Inputs and outputs at equal steps."""

    times: Float[np.ndarray, " rows"]
    u: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, "rows outputs"]


def resample_rows(
    times: Float[np.ndarray, " time"],
    u: Float[np.ndarray, "time inputs"],
    y: Float[np.ndarray, "time outputs"],
    step: float,
    origin: float | None = None,
) -> Rows:
    """Samples in the order of their times, NaN where a channel has none, at equal steps.

    The rows begin where all inputs are known; with an `origin`, at origin + k·step after that.
    """
    begins = times[0] if u.shape[1] == 0 else max(times[~np.isnan(each)][0] for each in u.T)
    if origin is not None:
        begins = origin + step * np.ceil((begins - origin) / step - _EDGE)
    grid = _grid(begins, times, step)
    inputs = [_held(times, each, grid, step) for each in u.T]
    outputs = [_around(times, each, grid, step) for each in y.T]
    columns = np.stack(inputs, axis=1) if inputs else np.zeros((len(grid), 0))
    return Rows(grid, columns, np.stack(outputs, axis=1))


def resampled(run: Experiment, sampling_time: float, step: float) -> Experiment:
    """An experiment with equal steps at others, which are counted from the start of its record."""
    if run.is_on_disk:
        remedy = "Resample before you write the arrays."
        raise DataError(expected("resample", "data on disk", "data in memory", remedy))
    if run.trends:
        remedy = "Resample first, then remove a trend or a drift."
        raise DataError(expected("resample", "outputs without their trend", "whole ones", remedy))
    times = run.rows * (sampling_time / run.stride)
    grid, u, y = resample_rows(times, run.u, run.y, step, origin=0.0)
    stamps = None if run.stamps is None else run.stamps.after(grid - times[0])
    start = int(np.rint(grid[0] / step))
    return Experiment(u, y, run.name, run.part, start=start, stamps=stamps)


def check_new_step(step: float) -> float:
    """The step in seconds; raise unless it is one."""
    if isinstance(step, bool) or not 0.0 < step < np.inf:
        raise DataError(expected("resample", step, "a positive number of seconds"))
    return float(step)


def _grid(
    begins: float, times: Float[np.ndarray, " time"], step: float
) -> Float[np.ndarray, " rows"]:
    rows = int((times[-1] - begins) / step + _EDGE) + 1
    if rows > _MOST * len(times):
        given = f"{step:g} s, which makes {rows} rows of {len(times)}"
        remedy = (
            "Check the time unit (--time-unit, in Python time_unit=), take a larger step, or name "
            "the experiment of each row where the recording paused."
        )
        raise DataError(expected("resample", given, f"at most {_MOST} for each row", remedy))
    if rows < MIN_ROWS:
        given = f"{step:g} s, which leaves {max(rows, 0)} of {len(times)} rows"
        raise DataError(expected("resample", given, f"at least {MIN_ROWS}", "Use a smaller step."))
    return begins + step * np.arange(rows)


def _held(
    times: Float[np.ndarray, " time"],
    values: Float[np.ndarray, " time"],
    grid: Float[np.ndarray, " rows"],
    step: float,
) -> Float[np.ndarray, " rows"]:
    """The mean of the last value sent, from each row to the next."""
    known = ~np.isnan(values)
    first = values[known][0]
    t, v = times[known], values[known] - first
    edges = np.append(grid, grid[-1] + step)
    t = np.append(t, max(t[-1], edges[-1]) + step)  # the last value stays
    area = np.append(0.0, np.cumsum(v * np.diff(t)))
    return first + np.diff(np.interp(edges, t, area)) / step


def _around(
    times: Float[np.ndarray, " time"],
    values: Float[np.ndarray, " time"],
    grid: Float[np.ndarray, " rows"],
    step: float,
) -> Float[np.ndarray, " rows"]:
    """The mean of the samples around each row; NaN where none lies near."""
    known = ~np.isnan(values)
    t, v = times[known], values[known]
    weight, late, total = np.zeros((3, len(grid)))
    place = (t - grid[0]) / step
    for row in (np.ceil(place - 0.5 - _EDGE), np.floor(place + 0.5 + _EDGE)):
        inside = (row >= 0) & (row < len(grid))
        at = row[inside].astype(np.int64)
        np.add.at(weight, at, 0.5)
        np.add.at(late, at, 0.5 * (t[inside] - grid[at]))
        np.add.at(total, at, 0.5 * v[inside])
    filled = weight > 0
    if not filled.any():
        return np.full(len(grid), np.nan)
    means = grid[filled] + late[filled] / weight[filled], total[filled] / weight[filled]
    return np.where(filled | _between(t, grid, step), _lines(grid, *means), np.nan)


def _between(
    t: Float[np.ndarray, " samples"], grid: Float[np.ndarray, " rows"], step: float
) -> np.ndarray:
    """Whether a row lies between two samples that are close to each other."""
    after = np.searchsorted(t, grid)
    inside = (after > 0) & (after < len(t))
    apart = np.full(len(grid), np.inf)
    apart[inside] = t[after[inside]] - t[after[inside] - 1]
    return apart < (_NEAR - _EDGE) * step


def _lines(
    at: Float[np.ndarray, " rows"], t: Float[np.ndarray, " means"], v: Float[np.ndarray, " means"]
) -> Float[np.ndarray, " rows"]:
    """Straight lines through the points, which go on before the first and after the last.

    Neighbours may lie close to each other, so that the lines at the ends leave one point out.
    """
    new = np.diff(t, prepend=-np.inf) > 0  # a sample between two rows is the mean of both
    t, v = t[new], v[new]
    found = np.interp(at, t, v)
    if len(t) > 2:
        begin, end = ((v[i + 2] - v[i]) / (t[i + 2] - t[i]) for i in (0, -3))
        found += begin * np.minimum(at - t[0], 0.0) + end * np.maximum(at - t[-1], 0.0)
    return found
