"""The mean of a fitted model as pure functions of arrays in the units of the data."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from .factored import Factored
from .fitted_model import FittedModel
from .mean_step import mean_rollout, mean_step

Step = Callable[[Float[Array, " states"], Float[Array, " inputs"]], Float[Array, " states"]]
Rollout = Callable[
    [Float[Array, " states"], Float[Array, "time inputs"]], Float[Array, "time outputs"]
]


def step_function(model: FittedModel) -> Step:
    """(x[t], u[t]) → x[t+1], with normalised states and inputs in the units of the data."""
    factored, to_normal = _ready(model), _inputs(model)

    def step(x: Array, u: Array) -> Array:
        return mean_step(factored, jnp.asarray(x, factored.mean.dtype), to_normal(u))

    return step


def rollout_function(model: FittedModel) -> Rollout:
    """(x[t], u[t:t+n]) → y[t+1:t+n+1], with a normalised state, all else in the data's units."""
    factored, to_normal = _ready(model), _inputs(model)
    mean, std = (jnp.asarray(each, factored.mean.dtype) for each in _output_scales(model))

    def rollout(x: Array, u: Array) -> Array:
        states = mean_rollout(factored, jnp.asarray(x, factored.mean.dtype), to_normal(u))
        return mean[None] + std[None] * states[:, : len(mean)]

    return rollout


def _ready(model: FittedModel) -> Factored:
    """In the precision that JAX has where the function is made."""
    return model.factored(jnp.dtype(jnp.result_type(float)).name)


def _output_scales(model: FittedModel) -> tuple:
    return model.normalisation.y_mean, model.normalisation.y_std


def _inputs(model: FittedModel) -> Callable[[Array], Array]:
    dtype = jnp.result_type(float)
    mean, std = (jnp.asarray(each, dtype) for each in (_scales_of_inputs(model)))

    def to_normal(u: Array) -> Array:
        u = jnp.asarray(u, dtype)
        lead = (1,) * (u.ndim - 1)
        return (u - mean.reshape(*lead, -1)) / std.reshape(*lead, -1)

    return to_normal


def _scales_of_inputs(model: FittedModel) -> tuple:
    return model.normalisation.u_mean, model.normalisation.u_std
