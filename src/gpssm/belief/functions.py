"""The mean of a fitted model as pure functions of arrays in the units of the data."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .factored import Factored
from .fitted_model import FittedModel
from .mean_step import mean_rollout, mean_step

Values = Array | np.ndarray
Step = Callable[[Float[Array, " states"], Float[Array, " inputs"]], Float[Array, " states"]]
Rollout = Callable[
    [Float[Array, " states"], Float[Array, "time inputs"]], Float[Array, "time outputs"]
]


def step_function(model: FittedModel) -> Step:
    """(x[t], u[t]) → x[t+1], with normalised states and inputs in the units of the data."""
    factored, to_normal = _ready(model), _inputs(model)

    def step(x: Values, u: Values) -> Array:
        return mean_step(factored, jnp.asarray(x, factored.mean.dtype), to_normal(u))

    return step


def rollout_function(model: FittedModel) -> Rollout:
    """(x[t], u[t:t+n]) → y[t+1:t+n+1], with a normalised state, all else in the data's units."""
    factored, to_normal = _ready(model), _inputs(model)
    scales = model.normalisation.y_mean, model.normalisation.y_std
    mean, std = (jnp.asarray(each, factored.mean.dtype) for each in scales)

    def rollout(x: Values, u: Values) -> Array:
        states = mean_rollout(factored, jnp.asarray(x, factored.mean.dtype), to_normal(u))
        return mean[None] + std[None] * states[:, : len(mean)]

    return rollout


def _ready(model: FittedModel) -> Factored:
    """In the precision that JAX has where the function is made."""
    return model.factored(jnp.dtype(jnp.result_type(float)).name)


def _inputs(model: FittedModel) -> Callable[[Values], Array]:
    """From the units of the data to those of the model."""
    dtype = jnp.result_type(float)
    scales = model.normalisation.u_mean, model.normalisation.u_std
    mean, std = (jnp.asarray(each, dtype) for each in scales)

    def to_normal(u: Values) -> Array:
        u = jnp.asarray(u, dtype)
        lead = (1,) * (u.ndim - 1)
        return (u - mean.reshape(*lead, -1)) / std.reshape(*lead, -1)

    return to_normal
