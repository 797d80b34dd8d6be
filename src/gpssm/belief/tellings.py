"""What rows have told, in the units of the data."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gpssm.base.errors import DataWarning, expected

from .fitted_model import FittedModel
from .rows import FAR, SURPRISE
from .state import Info


@dataclass(frozen=True, eq=False)
class Telling:
    """The forecast of a row from the rows before it, and how its outputs differ; data's units.

    `innovation` is output minus forecast, NaN where an output was missing or left out. `nis` is the
    normalised innovation squared; its expectation is the number of outputs that were `used`.
    """

    mean: Float[np.ndarray, "*rows outputs"]
    std: Float[np.ndarray, "*rows outputs"]
    innovation: Float[np.ndarray, "*rows outputs"]
    nis: Float[np.ndarray, "*rows"]
    log_likelihood: Float[np.ndarray, "*rows"]
    used: Bool[np.ndarray, "*rows outputs"]


def telling(model: FittedModel, info: Info) -> Telling:
    """From normalised units to those of the data."""
    scales, used = model.normalisation, np.asarray(info.used)
    mean, covariance = (np.asarray(each).astype(np.float64) for each in info.forecast)
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    innovation = np.where(used, np.asarray(info.innovation, np.float64), np.nan)
    density = np.asarray(info.log_likelihood, np.float64) - used @ np.log(scales.y_std)
    return Telling(
        np.asarray(scales.y_mean_back(mean)),
        np.asarray(scales.y_std_back(np.sqrt(variance))),
        np.asarray(scales.y_std_back(innovation)),
        np.asarray(info.nis, np.float64),
        np.asarray(density),
        used,
    )


def observed(values: np.ndarray, outputs: int, axis: int) -> np.ndarray:
    """C x + d along one axis."""
    moved = np.moveaxis(values, axis, -1)
    return np.moveaxis(moved[..., :outputs] + moved[..., -outputs:], -1, axis)


def observed_std(covariance: np.ndarray, outputs: int) -> np.ndarray:
    """Standard deviations of C x + d."""
    both = observed(observed(covariance, outputs, axis=-1), outputs, axis=-2)
    return np.sqrt(np.maximum(np.diagonal(both, axis1=-2, axis2=-1), 0.0))


def tell_left_out(
    model: FittedModel, y: np.ndarray, normal_y: np.ndarray, used: Any, time: int
) -> None:
    """Warn of outputs that were taken for faults of the sensor."""
    far = np.abs(normal_y) > FAR  # NaN is not
    if not far.any():
        return
    left_out = far & ~np.asarray(used)
    if not left_out.any():
        return
    place = tuple(int(i) for i in np.argwhere(left_out)[0])
    name, row = model.name(place[-1]), time + place[-2]
    plant = f" of plant {place[0]}" if y.ndim == 3 else ""
    given = f"{y[place]:.6g} at row {row}{plant}, {abs(normal_y[place]):.3g} spreads of the "
    given += f"training data from their mean ({int(left_out.sum())} such in this update)"
    wanted = f"a value within {SURPRISE:g} standard deviations of its forecast, or near the data"
    remedy = "It was left out, as if it were missing. Check the sensor."
    message = str(expected(f"output {name}", given, wanted, remedy))
    warnings.warn(message, DataWarning, stacklevel=4)
