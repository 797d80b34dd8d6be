"""Whole logs: every row forecast from the rows before it, or every state given all rows."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float

from .belief import Belief
from .fitted_model import FittedModel
from .inputs import Channels, Past
from .smoother import smooth
from .state import FilterNoise
from .tellings import Telling, observed, observed_std, telling


@dataclass(frozen=True, eq=False)
class Filtered:
    """A log as a belief takes it in, row by row. `rows` are in the units of the data.

    `states` and `covariances` are those after each row, in normalised units.
    """

    rows: Telling
    states: Float[np.ndarray, "time states"]
    covariances: Float[np.ndarray, "time states states"]
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Smoothed:
    """States of a log given all of it, in normalised units; outputs in the units of the data.

    `output_mean` and `output_std` are of the outputs without noise.
    """

    states: Float[np.ndarray, "time states"]
    covariances: Float[np.ndarray, "time states states"]
    output_mean: Float[np.ndarray, "time outputs"]
    output_std: Float[np.ndarray, "time outputs"]
    log_likelihood: float

    @property
    def std(self) -> Float[np.ndarray, "time states"]:
        """Standard deviation of the states."""
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))


def filter_log(belief: Belief, u: object, y: object) -> Filtered:
    """All rows taken in by a belief that has seen none."""
    record, states = belief.record(u, y), belief.model.dim_x
    mean, covariance = (np.asarray(each, np.float64) for each in record[1:])
    found = telling(belief.model, jax.tree.map(np.asarray, record.info))
    covariances = covariance[..., :states, :states]
    return Filtered(found, mean[..., :states], covariances, belief.log_likelihood)


def smooth_log(
    model: FittedModel, u: object, y: object, noise: FilterNoise | None = None
) -> Smoothed:
    """The linearised Gaussian smoother over one log; NaN is a missing output."""
    channels, past = Channels(model.normalisation, None), Past(model.delays, None)
    seen = channels.outputs(y)
    aligned = past.before(channels.of_rows(u, len(seen), past), len(seen))
    mask = ~np.isnan(seen)
    with jax.enable_x64(True):
        # Row t leads to row t+1 here; what the last row leads to is not in the log.
        leading = np.concatenate([aligned[1:], aligned[-1:]])
        normal_y = np.where(mask, model.normalisation.y(seen), 0.0)
        parts = model.factored("float64"), model.noise(noise, "float64")
        found = smooth(*parts, leading, normal_y, mask)
        mean, covariance, density = (np.asarray(each) for each in found)
    outputs = observed(mean, model.dim_y, axis=-1)
    std = observed_std(covariance, model.dim_y)
    jacobian = mask.sum(axis=0) @ np.log(model.normalisation.y_std)
    return Smoothed(
        mean[:, : model.dim_x],
        covariance[:, : model.dim_x, : model.dim_x],
        np.asarray(model.normalisation.y_mean_back(outputs)),
        np.asarray(model.normalisation.y_std_back(std)),
        float(density - jacobian),
    )
