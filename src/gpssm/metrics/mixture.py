"""Mixtures of Gaussians of equal weight: p(y) = 1/S Σs N(y; particle[s], noise²).

Written for any array library: NumPy scores forecasts, JAX scores them while training goes on.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

BISECTIONS = 50

Values = Any  # an array of NumPy or of JAX


def namespace(values: Values) -> Any:
    """The array library that the values belong to."""
    return values.__array_namespace__()


def normal_cdf(x: Float[Values, "..."]) -> Float[Values, "..."]:
    """Φ(x)."""
    if isinstance(x, np.ndarray):
        return special.ndtr(x)
    from jax.scipy.special import ndtr  # loaded already if there is an array of JAX

    return ndtr(x)


def log_density(
    particles: Float[Values, "particles time outputs"],
    noise: Float[Values, "#time outputs"],
    y: Float[Values, "time outputs"],
    known: Values,
    joint: bool,
) -> Float[Values, "time _"]:
    """log p(y[t]) of each output or, `joint`, of all of them together: [time, 1]."""
    xp = namespace(particles)
    scaled = (xp.where(known, y, 0.0)[None] - particles) / noise[None]
    density = -0.5 * xp.square(scaled) - xp.log(np.sqrt(2.0 * np.pi) * noise[None])
    density = xp.where(known[None], density, 0.0)
    if joint:
        density = xp.sum(density, axis=-1, keepdims=True)
    highest = xp.max(density, axis=0)
    highest = xp.where(xp.isfinite(highest), highest, 0.0)
    return xp.log(xp.mean(xp.exp(density - highest[None]), axis=0)) + highest


def probability_below(
    particles: Float[Values, "particles time outputs"],
    noise: Float[Values, "#time outputs"],
    y: Float[Values, "time outputs"],
) -> Float[Values, "time outputs"]:
    """P(Y < y)."""
    return namespace(particles).mean(normal_cdf((y[None] - particles) / noise[None]), axis=0)


def quantile(
    particles: Float[Values, "particles time outputs"],
    noise: Float[Values, "#time outputs"],
    level: float,
) -> Float[Values, "time outputs"]:
    """The value below which y lies with probability `level`, by bisection."""
    xp, reach = namespace(particles), 10.0 * noise
    low, high = xp.min(particles, axis=0) - reach, xp.max(particles, axis=0) + reach
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        below = probability_below(particles, noise, middle) < level
        low, high = xp.where(below, middle, low), xp.where(below, high, middle)
    return 0.5 * (low + high)
