"""Formulas of the reversible steps: trends, block means, interpolated rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from gpssm.base.errors import DataError, expected


@runtime_checkable
class Removed(Protocol):
    """Something subtracted from the outputs that can be added back to a forecast."""

    def __call__(self, rows: Int[np.ndarray, " time"]) -> Float[np.ndarray, "time outputs"]:
        """What it was at these rows of the original record."""
        ...


Prepared = tuple[Sequence[str], Sequence[Removed], float | None]  # steps, trends, sampling time


def check_same_steps(train: Prepared, test: Prepared) -> None:
    """Raise unless the test part was prepared as the training part was.

    Where both have a sampling time, which is compared elsewhere, how it came about is free.
    """
    free = ("decimate", "resample") if train[2] and test[2] else ()
    ours, theirs = ([s for s in each[0] if not s.startswith(free)] for each in (train, test))
    if ours != theirs or tuple(train[1]) != tuple(test[1]):
        given, wanted = (", ".join(each) or "none" for each in (theirs, ours))
        remedy = "Join the data first, then decimate, detrend or remove the drift."
        wanted = f"the very same as in training, {wanted}"
        raise DataError(expected("steps of the test part", given, wanted, remedy))


@dataclass(frozen=True, eq=False)
class Trend:
    """A polynomial in time per output, removed from the outputs and added back to a forecast.

    Time is counted in rows of the original record and divided by `scale`, so that the powers
    stay of order one for a record of any length.
    """

    coefficients: Float[np.ndarray, "powers outputs"]
    scale: float

    def __call__(self, rows: Int[np.ndarray, " time"]) -> Float[np.ndarray, "time outputs"]:
        """The trend at these rows of the original record."""
        powers = np.vander(rows / self.scale, len(self.coefficients), increasing=True)
        return powers @ self.coefficients


def fit_trend(
    rows: Int[np.ndarray, " time"],
    y: Float[np.ndarray, "time outputs"],
    order: int,
    names: Sequence[str],
) -> Trend:
    """Least squares, output by output, with the gaps left out."""
    scale = float(rows.max())
    powers = np.vander(rows / scale, order + 1, increasing=True)
    coefficients = np.zeros((order + 1, y.shape[1]))
    for channel, name in enumerate(names):
        seen = ~np.isnan(y[:, channel])
        if seen.sum() <= order:
            given = f"{seen.sum()} measured values of output {name!r}"
            remedy = "Lower the order, or leave this output out."
            raise DataError(expected("detrend", given, f"more than its order {order}", remedy))
        solution = np.linalg.lstsq(powers[seen], y[seen, channel])
        coefficients[:, channel] = solution[0]
    return Trend(coefficients, scale)


def block_means(
    u: Float[np.ndarray, "time inputs"], factor: int
) -> Float[np.ndarray, "blocks inputs"]:
    """Mean over each run of `factor` rows; the last run may be shorter."""
    firsts = np.arange(0, len(u), factor)
    counts = np.minimum(factor, len(u) - firsts)
    return np.add.reduceat(u, firsts, axis=0) / counts[:, None]


def fill_rows(
    rows: Int[np.ndarray, " kept"], values: Float[np.ndarray, "*draws kept outputs"]
) -> tuple[Int[np.ndarray, " all"], Float[np.ndarray, "*draws all outputs"]]:
    """Straight lines between the given rows, at every row in between."""
    every = np.arange(rows[0], rows[-1] + 1)
    flat = np.moveaxis(values, -2, -1).reshape(-1, len(rows))
    filled = np.array([np.interp(every, rows, series) for series in flat])
    shape = (*values.shape[:-2], values.shape[-1], len(every))
    return every, np.moveaxis(filled.reshape(shape), -1, -2)
