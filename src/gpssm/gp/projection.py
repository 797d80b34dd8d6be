"""From k = k(z, x) to the moments of f(x), for q(u) = N(m, S) in u-space with a diagonal S.

With a = Lz⁻¹ k and b = Kz⁻¹ k, and the rows W = mᵀ Kz⁻¹:

    E f = W k          explained = kᵀ Kz⁻¹ k = aᵀa          added = bᵀ S b
    Var f = k(x,x) − explained + added

The derivative is written by hand: ∂(aᵀa)/∂k = 2b, which is there anyway, so that no product with
Lz⁻ᵀ is needed. The derivative by Lz⁻¹ stays one by Lz⁻¹: by Kz⁻¹ it would be a product less, but
in float32 its rounding would be amplified by the square of the condition number.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Projected(NamedTuple):
    """E f, and what u explains and what its uncertainty adds of the variance of f."""

    mean: Float[Array, "outputs n"]
    explained: Float[Array, "groups n"]
    added: Float[Array, "outputs n"]


def weigh(
    weights: Float[Array, "m outputs"], features: Float[Array, "groups m n"]
) -> Float[Array, "outputs n"]:
    """Σ_m weights[m, d] features[g, m, n], with g = d, or the one group that all outputs share."""
    if features.shape[0] == 1:
        return weights.T @ features[0]
    return jnp.einsum("md,dmn->dn", weights, features)


def project_plainly(
    k: Float[Array, "groups m n"],
    Lz_inverse: Float[Array, "groups m m"],
    rows: Float[Array, "groups rows m"],
    variances: Float[Array, "m outputs"],
) -> Projected:
    """The moments from k, where `rows` are those of Kz⁻¹, then W, and `variances` is diag(S).

    The derivative is JAX's own: where Kz is all but singular, b is too rough for the one below.
    """
    m = k.shape[1]
    # One product is faster than two. XLA takes the concatenation out of the time loop.
    a, b, mean = jnp.split(jnp.concatenate([Lz_inverse, rows], axis=1) @ k, [m, 2 * m], axis=1)
    explained, added = jnp.sum(jnp.square(a), axis=1), weigh(variances, jnp.square(b))
    return Projected(mean.reshape(added.shape), explained, added)


project = jax.custom_vjp(project_plainly)


def _forward(*arguments: Array) -> tuple[Projected, tuple[Array, ...]]:
    return project_plainly(*arguments), arguments


def _backward(saved: tuple[Array, ...], slopes: Projected) -> tuple[Array, ...]:
    k, Lz_inverse, rows, variances = saved
    groups, m, _ = k.shape
    a, b = jnp.split(jnp.concatenate([Lz_inverse, rows[:, :m]], axis=1) @ k, 2, axis=1)
    slope_mean = slopes.mean.reshape(groups, -1, k.shape[2])
    slope_explained = 2.0 * slopes.explained[:, None]
    slope_b = 2.0 * b * _spread_back(variances, slopes.added, groups)
    slope_k = jnp.swapaxes(rows, 1, 2) @ jnp.concatenate([slope_b, slope_mean], axis=1)
    outer = jnp.concatenate([slope_explained * a, slope_b, slope_mean], axis=1)
    slope_Lz_inverse, slope_rows = jnp.split(outer @ jnp.swapaxes(k, 1, 2), [m], axis=1)
    slope_variances = _variance_slopes(slopes.added, jnp.square(b))
    return slope_k + slope_explained * b, slope_Lz_inverse, slope_rows, slope_variances


def _spread_back(variances: Array, slope: Array, groups: int) -> Float[Array, "groups m n"]:
    """The derivative of `weigh` by its features."""
    if groups == 1:
        return (variances @ slope)[None]
    return variances.T[:, :, None] * slope[:, None, :]


def _variance_slopes(slope: Array, squares: Array) -> Float[Array, "m outputs"]:
    """The derivative of `weigh` by its weights."""
    if squares.shape[0] == 1:
        return squares[0] @ slope.T  # of two factors, the smaller one is transposed
    return jnp.einsum("dn,dmn->md", slope, squares)


project.defvjp(_forward, _backward)
