"""The noises of a filter: those under which the outputs of a log, each given the ones before it,
are most likely. The model itself stays as it is.

The noises of the model are those of long forecasts, where errors of f add up: they are too wide for
one step, and their ratio is not that of a good filter. So the linearised Gaussian filter runs over
stretches of the training data, and its likelihood is maximised over the logarithms of all noises.
A wide log-normal prior around those of the model keeps what the data say nothing of.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from gpssm.data import Dataset, Experiment
from gpssm.data.alignment import aligned
from gpssm.linear.lbfgs import minimise

from .factored import Factored
from .fitted_model import FittedModel
from .gaussian import gaussian_log_likelihood, observable_disturbances
from .state import FilterNoise

ROWS, STRETCHES = 400, 4  # of a stretch, at most, and how many of them
_EVALUATIONS = 60
_FEWEST = 20  # measurements, below which there is nothing to tune
# What is added to the disturbance: a model fits its training data better than others, and so they
# do not show how far its errors drift. A hundredth of the spread in a step.
_DRIFT = 1e-4
_PRIOR_STD = np.log(100.0)
_LEAST, _MOST = np.log(1e-9), np.log(10.0)
# Where the search begins: the least process noise, and the disturbance. The best end counts.
_STARTS = ((1e-7, 1e-7), (1e-5, 1e-4), (1e-3, 1e-3))

Parameters = Float[Array, " parameters"]


def tuned_noise(model: FittedModel, data: Dataset) -> FilterNoise | None:
    """The noises of filters in the model, normalised; None where the data are too few."""
    u, y, mask = _stretches(model, data)
    if mask.sum() < _FEWEST:
        return None
    with jax.enable_x64(True):
        factored, own = model.factored("float64"), FilterNoise.of(model.system)
        seen = observable_disturbances(factored, model.dim_u, model.dim_y)
        starts = np.stack([_begin(own, *each) for each in _STARTS])
        batch = [jnp.asarray(each) for each in (seen, starts[0], u, y, mask)]

        def evaluate(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, gradient = _losses(jnp.asarray(theta), factored, *batch)
            return np.asarray(value), np.asarray(gradient)

        points, values = minimise(evaluate, starts, _EVALUATIONS)
        best = points[-1][int(np.argmin(values[-1]))]
        return jax.tree.map(np.asarray, _noise(jnp.asarray(best), batch[0], model.dim_x))


def _begin(own: FilterNoise, process: float, disturbance: float) -> Float[np.ndarray, " n"]:
    """The noises of the model as parameters, with these least ones."""
    least = np.maximum(own.process, process), np.maximum(own.sensor, process)
    drift = np.full(len(own.sensor), disturbance)
    return np.log(np.concatenate([*least, drift, np.ones(1)]))


def _noise(theta: Parameters, seen: Bool[Array, " outputs"], states: int) -> FilterNoise:
    """From logarithms within bounds; f is never less certain than it says."""
    bounded = jnp.exp(jnp.clip(theta, _LEAST, _MOST))
    process, sensor, drift, function = jnp.split(
        bounded, [states, states + len(seen), states + 2 * len(seen)]
    )
    return FilterNoise(
        process, sensor, jnp.where(seen, _DRIFT + drift, 0.0), jnp.minimum(function[0], 1.0)
    )


@jax.jit
def _losses(
    theta: Float[Array, "starts parameters"],
    model: Factored,
    seen: Bool[Array, " outputs"],
    prior: Parameters,
    u: Float[Array, "stretches time controls"],
    y: Float[Array, "stretches time outputs"],
    mask: Bool[Array, "stretches time outputs"],
) -> tuple[Float[Array, " starts"], Float[Array, "starts parameters"]]:
    """−log p(y) of all stretches and of the prior, per measurement."""

    def loss(one: Parameters) -> Float[Array, ""]:
        noise = _noise(one, seen, model.dim_x)
        each = partial(gaussian_log_likelihood, model, noise)
        likelihood = jnp.sum(jax.vmap(each)(u, y, mask))
        log_prior = -0.5 * jnp.sum(jnp.square((one - prior) / _PRIOR_STD))
        return -(likelihood + log_prior) / jnp.sum(mask)

    return jax.vmap(jax.value_and_grad(loss))(theta)


def _stretches(model: FittedModel, data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u, y and the mask of evenly spread stretches of equal length, normalised.

    What is shorter ends in rows without outputs.
    """
    length = min(max(len(run) for run in data), ROWS)
    every = [
        (run, first) for run in data for first in range(0, max(len(run) - length, 0) + 1, length)
    ]
    chosen = np.unique(np.linspace(0, len(every) - 1, STRETCHES).round().astype(int))
    parts = [_stretch(model, run, first, length) for run, first in (every[i] for i in chosen)]
    u, y, mask = (np.stack(each) for each in zip(*parts, strict=True))
    return u, y, mask


def _stretch(
    model: FittedModel, run: Experiment, first: int, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = np.minimum(np.arange(first, first + length), len(run) - 1)
    u = aligned(np.asarray(run.u), tuple(model.delays.tolist()))
    y, inside = np.asarray(run.y)[rows], np.arange(first, first + length) < len(run)
    mask = inside[:, None] & ~np.isnan(y)
    normal_u = np.asarray(model.normalisation.u(u[rows]))
    return normal_u, np.where(mask, np.asarray(model.normalisation.y(y)), 0.0), mask
