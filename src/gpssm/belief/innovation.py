"""From the forecast of the outputs to what their measurements tell: gain and likelihood.

    e = y − ŷ      S = H P Hᵀ + R      K = P Hᵀ S⁻¹      nis = eᵀ S⁻¹ e      log N(y; ŷ, S)

H = (C I) sees z = (x, d). Outputs that are not known have no row in any of this: their rows of S
are those of a unit matrix, and their columns of K are zero. So all shapes are the same.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .state import FilterNoise, Info, OutputForecast, observe
from .symmetric import among, root, symmetric


def forecast_outputs(
    noise: FilterNoise, mean: Float[Array, " rows"], covariance: Float[Array, "rows rows"]
) -> OutputForecast:
    """Mean and covariance of the outputs, from those of z."""
    outputs = len(noise.sensor)
    seen = observe(observe(covariance, outputs).T, outputs)  # H P Hᵀ
    return OutputForecast(observe(mean, outputs), symmetric(seen) + jnp.diag(noise.sensor))


def gain(
    forecast: OutputForecast, covariance: Float[Array, "rows rows"], known: Bool[Array, " outputs"]
) -> Float[Array, "rows outputs"]:
    """K; its columns are zero where an output is not known."""
    cross = jnp.where(known[:, None], observe(covariance, len(known)), 0.0)  # H P
    return root(among(forecast.covariance, known)).solve(cross).T


def inform(
    forecast: OutputForecast, y: Float[Array, " outputs"], known: Bool[Array, " outputs"]
) -> Info:
    """Innovation and likelihood of the outputs that are known."""
    factor = root(among(forecast.covariance, known))
    e = jnp.where(known, y - forecast.mean, 0.0)
    nis = jnp.sum(jnp.square(factor.whiten(e[:, None])))
    count = jnp.sum(known.astype(e.dtype))
    density = -0.5 * (nis + factor.log_det + count * math.log(2.0 * math.pi))
    return Info(forecast, e, nis, density, known)
