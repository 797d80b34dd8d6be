"""Solves with small covariances of very different scales, some of whose rows may be zero."""

from typing import NamedTuple

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

_JITTER = 10.0  # of the correlations, in units of rounding


class Root(NamedTuple):
    """s and L of P = s L Lᵀ s, where L Lᵀ are the correlations."""

    scale: Float[Array, " rows"]
    L: Float[Array, "rows rows"]

    def whiten(self, values: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
        """L⁻¹ s⁻¹ values."""
        return solve_triangular(self.L, values / self.scale[:, None], lower=True)

    def solve(self, values: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
        """P⁻¹ values; rows of P that are zero count as those of a unit matrix."""
        half = self.whiten(values)
        return solve_triangular(self.L, half, lower=True, trans=1) / self.scale[:, None]

    @property
    def log_det(self) -> Float[Array, ""]:
        """log det P."""
        return 2.0 * (jnp.sum(jnp.log(self.scale)) + jnp.sum(jnp.log(jnp.diagonal(self.L))))


def root(P: Float[Array, "rows rows"]) -> Root:
    """Factors a covariance by way of its correlations."""
    diagonal = jnp.diagonal(P)
    lives = diagonal > 0.0
    scale = jnp.where(lives, jnp.sqrt(jnp.where(lives, diagonal, 1.0)), 1.0)
    eye = jnp.eye(len(P), dtype=P.dtype)
    correlations = 0.5 * (P + P.T) / (scale[:, None] * scale[None])
    correlations = jnp.where(eye > 0.0, 1.0 + _JITTER * jnp.finfo(P.dtype).eps, correlations)
    return Root(scale, jnp.linalg.cholesky(correlations))


def among(P: Float[Array, "rows rows"], known: Bool[Array, " rows"]) -> Float[Array, "rows rows"]:
    """P with the rows and columns that are not known replaced by those of a unit matrix."""
    both = known[:, None] & known[None]
    return jnp.where(both, P, jnp.eye(len(P), dtype=P.dtype))


def symmetric(P: Float[Array, "rows rows"]) -> Float[Array, "rows rows"]:
    """Without the asymmetry of rounding."""
    return 0.5 * (P + P.T)
