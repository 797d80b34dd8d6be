"""Two formulas about univariate Gaussians, elementwise."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float


def gaussian_log_density(
    value: Float[Array, "..."], mean: Float[Array, "..."], variance: Float[Array, "..."]
) -> Float[Array, "..."]:
    """log N(value; mean, variance)."""
    return -0.5 * (
        math.log(2.0 * math.pi) + jnp.log(variance) + jnp.square(value - mean) / variance
    )


def gaussian_kl(
    mean: Float[Array, "..."],
    variance: Float[Array, "..."],
    prior_mean: Float[Array, "..."],
    prior_variance: Float[Array, "..."],
) -> Float[Array, "..."]:
    """KL(N(mean, variance) ‖ N(prior_mean, prior_variance))."""
    ratio = variance / prior_variance
    distance = jnp.square(mean - prior_mean) / prior_variance
    return 0.5 * (ratio + distance - 1.0 - jnp.log(ratio))
