"""Zero mean and unit variance per channel, from the training part, and the way back."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Float64

from gpssm.base.errors import DataError, DataWarning, expected

from .dataset import Dataset
from .disk import blocks, stays_on_disk

Values = Float[Array, "*shape"] | Float[np.ndarray, "*shape"]
_CONSTANT = 1e-12  # spread relative to the size of the values, below which a channel is constant


@dataclass(frozen=True, eq=False)
class Normalisation:
    """Mean and standard deviation of every channel; stored with the model."""

    u_mean: Float64[np.ndarray, " inputs"]
    u_std: Float64[np.ndarray, " inputs"]
    y_mean: Float64[np.ndarray, " outputs"]
    y_std: Float64[np.ndarray, " outputs"]
    constant_channels: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset: Dataset) -> "Normalisation":
        """From this data set only (give the training part); missing values do not count.

        A constant channel is divided by one, not by zero, and reported.
        """
        u_mean, u_std = _moments([each.u for each in dataset], dataset.input_names)
        y_mean, y_std = _moments([each.y for each in dataset], dataset.output_names)
        names = (*dataset.input_names, *dataset.output_names)
        spread = np.concatenate([u_std, y_std])
        constant = tuple(name for name, std in zip(names, spread, strict=True) if std == 0)
        if constant:
            message = (
                f"data set {dataset.name!r}: constant in the training part: {', '.join(constant)}. "
                "They are centred but not scaled; leave them out, or train on data that moves them."
            )
            warnings.warn(message, DataWarning, stacklevel=2)
        u_std, y_std = np.where(u_std == 0, 1.0, u_std), np.where(y_std == 0, 1.0, y_std)
        return cls(u_mean, u_std, y_mean, y_std, constant)

    @classmethod
    def identity(cls, dim_u: int, dim_y: int) -> "Normalisation":
        """Changes nothing: for data that must stay in its units."""
        return cls(np.zeros(dim_u), np.ones(dim_u), np.zeros(dim_y), np.ones(dim_y))

    def u(self, u: Values) -> Values:
        """Inputs [..., inputs] as the model sees them."""
        return (u - _along(self.u_mean, u)) / _along(self.u_std, u)

    def y(self, y: Values) -> Values:
        """Outputs [..., outputs] as the model sees them."""
        return (y - _along(self.y_mean, y)) / _along(self.y_std, y)

    def y_mean_back(self, mean: Values) -> Values:
        """Means, quantiles or particles [..., outputs] of the model in the units of the data."""
        return mean * _along(self.y_std, mean) + _along(self.y_mean, mean)

    def y_std_back(self, std: Values) -> Values:
        """Standard deviations [..., outputs] of the model in the units of the data."""
        return std * _along(self.y_std, std)

    def to_json(self) -> dict[str, Any]:
        """Plain lists and strings; floats survive JSON exactly."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {**arrays, "constant_channels": list(self.constant_channels)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Normalisation":
        """The inverse of `to_json`."""
        lacking = [name for name in (*_ARRAYS, "constant_channels") if name not in values]
        if lacking:
            wanted = f"the entries of to_json; {lacking} not found"
            raise DataError(expected("normalisation", sorted(values), wanted))
        arrays = {name: np.array(values[name], dtype=np.float64) for name in _ARRAYS}
        return cls(**arrays, constant_channels=tuple(values["constant_channels"]))


_ARRAYS = ("u_mean", "u_std", "y_mean", "y_std")


def _along(channels: Float64[np.ndarray, " channels"], values: Values) -> np.ndarray:
    """As many axes as the values have, so that JAX need not promote ranks."""
    return channels.reshape((1,) * (values.ndim - 1) + (-1,))


def _moments(
    runs: Sequence[Float[np.ndarray, "_ channels"]], names: Sequence[str]
) -> tuple[Float64[np.ndarray, " channels"], Float64[np.ndarray, " channels"]]:
    """Mean and standard deviation over all rows of all runs; exactly 0 for a constant channel.

    One pass: what is on disk is read in blocks, and what was found in them is put together.
    """
    found = reduce(_together, (_seen(rows) for rows in _row_blocks(runs)))
    for name, count in zip(names, found.number, strict=True):
        if not count:
            remedy = "Leave this channel out, or train on data in which it was measured."
            raise DataError(expected(f"channel {name!r}", "missing values only", "values", remedy))
    _refuse_too_large(found, names)
    still = found.highest - found.lowest <= _CONSTANT * np.abs(found.mean)
    return found.mean, np.where(still, 0.0, found.spread)


class _Seen(NamedTuple):
    """Of each channel: how many values, and their moments and bounds (without any: 0, 0, ±∞)."""

    number: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


def _row_blocks(runs: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """All rows at once where they are in memory, else one block after the other."""
    if any(stays_on_disk(run) for run in runs):
        return (rows for run in runs for _, rows in blocks(run))
    return iter([np.concatenate(runs)])


def _seen(rows: Float[np.ndarray, "_ channels"]) -> _Seen:
    known = ~np.isnan(rows)
    count = np.sum(known, axis=0)
    lowest = np.min(rows, axis=0, where=known, initial=np.inf)
    highest = np.max(rows, axis=0, where=known, initial=-np.inf)
    # a power of two, so that squares of very large and very small values are exact and finite
    size = np.ldexp(1.0, _exponents(lowest, highest))
    scaled = rows / size
    mean = np.sum(scaled, axis=0, where=known) / np.maximum(count, 1)
    apart = scaled - mean
    variance = np.sum(np.square(apart), axis=0, where=known) / np.maximum(count, 1)
    return _Seen(count, mean * size, np.sqrt(variance) * size, lowest, highest)


def _exponents(lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """The power of two next to the largest value of each channel."""
    largest = np.maximum(np.abs(lowest), np.abs(highest))
    return np.clip(np.frexp(np.where(np.isfinite(largest), largest, 1.0))[1], -1021, 1022)


def _refuse_too_large(found: _Seen, names: Sequence[str]) -> None:
    """Raise if the difference of two values of a channel is no finite number."""
    with np.errstate(over="ignore"):
        wide = ~np.isfinite(found.highest - found.lowest)
    for name in (name for name, is_wide in zip(names, wide, strict=True) if is_wide):
        given = "values too far apart for their difference to be a finite number"
        remedy = "Change the unit of the channel."
        raise DataError(expected(f"channel {name!r}", given, "values below 1e300", remedy))


def _together(a: _Seen, b: _Seen) -> _Seen:
    """The moments of two sets from those of each, without cancellation (Chan et al., 1983)."""
    count = a.number + b.number
    share = b.number / np.maximum(count, 1)
    apart = b.mean - a.mean
    between = np.sqrt(share * (1 - share)) * apart
    spread = np.hypot(np.hypot(np.sqrt(1 - share) * a.spread, np.sqrt(share) * b.spread), between)
    lowest, highest = np.minimum(a.lowest, b.lowest), np.maximum(a.highest, b.highest)
    return _Seen(count, a.mean + share * apart, spread, lowest, highest)
