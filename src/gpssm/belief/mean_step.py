"""The mean of the model as pure functions, for planners and controllers.

f is at its mean and uncertain parameters are at theirs; there is no noise. `jax.grad`, `jax.jit`
and `jax.vmap` work on all of it. Factor a system once (`factored`) and pass that on.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.inference import System

from .factored import Factored, as_factored


def mean_step(
    model: System | Factored, x: Float[Array, " states"], u: Float[Array, " controls"]
) -> Float[Array, " states"]:
    """x[t+1] from x[t] and u[t], normalised."""
    model = as_factored(model)
    blank = jnp.zeros((*model.dynamics.noise_shape, 1), x.dtype)
    mean, _ = model.moments(model.dynamics.parameters(blank), x[:, None], u[:, None])
    return model.dynamics.settle(mean)[:, 0]


def mean_rollout(
    model: System | Factored, x: Float[Array, " states"], u: Float[Array, "time controls"]
) -> Float[Array, "time states"]:
    """x after each row of u, normalised: row t is the state that u[t] leads to."""
    model = as_factored(model)

    def step(x: Array, u: Array) -> tuple[Array, Array]:
        x = mean_step(model, x, u)
        return x, x

    return jax.lax.scan(step, x, u)[1]
