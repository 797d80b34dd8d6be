"""Zero mean and unit variance per channel, from the training part, and the way back.

A model sees normalised numbers; whoever uses it sees the units of the data.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Float64

from ..errors import DataError, GpssmWarning, expected
from .dataset import Dataset

Values = Float[Array, "*shape"] | Float[np.ndarray, "*shape"]
_CONSTANT = 1e-12  # spread relative to the size of the values, below which a channel is constant


class DataWarning(GpssmWarning):
    """Something about the data that the user should know, though work can go on."""


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
    """Mean and standard deviation over all rows of all runs; exactly 0 for a constant channel."""
    rows = np.concatenate(runs)
    for name, seen in zip(names, (~np.isnan(rows)).any(axis=0), strict=True):
        if not seen:
            remedy = "Leave this channel out, or train on data in which it was measured."
            raise DataError(expected(f"channel {name!r}", "missing values only", "values", remedy))
    if rows.shape[1] == 0:
        return np.zeros(0), np.zeros(0)
    mean, std = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    still = np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0) <= _CONSTANT * np.abs(mean)
    return mean, np.where(still, 0.0, std)
