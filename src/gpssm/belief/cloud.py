"""Members of an ensemble, or particles: their start, and one step of them.

f is integrated out at every step, and uncertain parameters of the dynamics are drawn anew: what a
step says of x[t+1] is a marginal, and no member keeps a function of its own.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from .factored import Factored
from .state import Cloud, FilterNoise, split

FARTHEST = 1e4  # spreads of the data: numbers stay finite, whatever an unstable model does
Normals = Float[Array, "rows n"]


def plain(noise: Normals) -> Normals:
    """Independent draws, as they are."""
    return noise


def centred(noise: Normals) -> Normals:
    """With a mean of exactly zero, and their variance as before."""
    n = noise.shape[1]
    return (noise - jnp.mean(noise, axis=1, keepdims=True)) * jnp.sqrt(n / (n - 1.0)).astype(
        noise.dtype
    )


def standardised(noise: Normals) -> Normals:
    """With a mean of exactly zero and a variance of exactly one, row by row."""
    apart = centred(noise)
    return apart / jnp.std(apart, axis=1, keepdims=True, ddof=1)


def normals(key: PRNGKeyArray, rows: int, n: int, dtype: DTypeLike) -> Normals:
    """Standard normal numbers.

    By JAX's own generator: XLA does not put its loop into what the numbers are used for. Those of
    `Keys.normal` would be drawn again for every use and, with many plants, for every plant.
    """
    return jax.random.normal(key, (rows, n), dtype)


def first_members(
    key: PRNGKeyArray, model: Factored, noise: FilterNoise, n: int
) -> Float[Array, "rows n"]:
    """z[1] before any output, as wide as the model says."""
    variance = noise.start(model.variance)
    mean = jnp.concatenate([model.mean, jnp.zeros_like(noise.sensor)])
    eps = standardised(normals(key, len(mean), n, mean.dtype))
    return settled(model, mean[:, None] + jnp.sqrt(variance)[:, None] * eps, len(noise.sensor))


def held(members: Float[Array, "rows n"], log_weights: Float[Array, " n"]) -> Cloud:
    """Members that have not moved: those of the first row."""
    return Cloud(members, members, jnp.zeros_like(members), log_weights)


def propagate(
    key: PRNGKeyArray,
    model: Factored,
    noise: FilterNoise,
    members: Float[Array, "rows n"],
    log_weights: Float[Array, " n"],
    u: Float[Array, " controls"],
    adjust: Callable[[Normals], Normals],
) -> Cloud:
    """All members one step on; `adjust` what is drawn for the noise."""
    outputs, (rows, n) = len(noise.sensor), members.shape
    key_parameters, key_noise = jax.random.split(key)
    x, d = split(members, outputs)
    drawn = jax.random.normal(key_parameters, (*model.dynamics.noise_shape, n), x.dtype)
    parameters = model.dynamics.parameters(jnp.sqrt(noise.function) * drawn)
    mean, variance = model.moments(parameters, x, jnp.broadcast_to(u[:, None], (len(u), n)))
    means = jnp.concatenate([mean, d])
    added = jnp.concatenate([noise.function * variance, jnp.zeros_like(d)])
    variances = added + noise.of_a_step[:, None]
    eps = adjust(normals(key_noise, rows, n, x.dtype))
    moved = settled(model, means + jnp.sqrt(variances) * eps, outputs)
    return Cloud(moved, _bounded(means), variances, log_weights)


def settled(
    model: Factored, members: Float[Array, "rows n"], outputs: int
) -> Float[Array, "rows n"]:
    """Brought back to where states can be."""
    x, d = split(_bounded(members), outputs)
    return jnp.concatenate([model.dynamics.settle(x), d])


def _bounded(members: Float[Array, "rows n"]) -> Float[Array, "rows n"]:
    return jnp.clip(members, -FARTHEST, FARTHEST)
