"""L with L Lᵀ = K + jitter, and L⁻¹: factored once per gradient step, then there are only products.

The derivative consists of products with L⁻¹ as well. On a CPU, LAPACK gets one matrix at a time:
jaxlib spreads a batch over the threads of XLA, and the batches of two devices can deadlock there.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_LAST_JITTER = 1e-1


class Cholesky(NamedTuple):
    """A lower triangle L and its inverse, which replaces all solves."""

    L: Float[Array, "groups m m"]
    inverse: Float[Array, "groups m m"]

    @classmethod
    def identity(cls, m: int, dtype: Any) -> "Cholesky":
        """That of the unit matrix."""
        eye = jnp.eye(m, dtype=dtype)[None]
        return cls(eye, eye)


def _one_at_a_time(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Factor matrices one by one on a CPU, and as a batch on other devices."""
    alone = jax.custom_batching.custom_vmap(function)

    @alone.def_vmap
    def _(size: int, batched: Any, matrices: Array) -> tuple[Array, bool]:
        del size, batched
        in_turn = functools.partial(jax.lax.map, alone)
        each = jax.lax.platform_dependent(matrices, cpu=in_turn, default=jax.vmap(function))
        return each, True

    return alone


@_one_at_a_time
def _factor(K: Float[Array, "m m"]) -> Float[Array, "m m"]:
    return jnp.linalg.cholesky(K)


@_one_at_a_time
def _invert(L: Float[Array, "m m"]) -> Float[Array, "m m"]:
    return jax.scipy.linalg.solve_triangular(L, jnp.eye(L.shape[0], dtype=L.dtype), lower=True)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def cholesky(K: Float[Array, "groups m m"], first_jitter: float) -> Cholesky:
    """Of K + jitter · mean(diag K): the smallest jitter of 1, 10, 100, … times the first one."""
    return _forward(K, first_jitter)[0]


def _forward(
    K: Float[Array, "groups m m"], first_jitter: float
) -> tuple[Cholesky, tuple[Cholesky, Array]]:
    eye = jnp.eye(K.shape[-1], dtype=K.dtype)[None]
    scale = jnp.mean(jnp.diagonal(K, axis1=-2, axis2=-1))

    def attempt(jitter: Array) -> tuple[Array, Array]:
        return jitter, jax.vmap(_factor)(K + jitter * scale * eye)

    def failed(tried: tuple[Array, Array]) -> Array:
        jitter, L = tried
        return ~jnp.all(jnp.isfinite(L)) & (jitter < _LAST_JITTER)

    first = attempt(jnp.asarray(first_jitter, K.dtype))
    jitter, L = jax.lax.while_loop(failed, lambda tried: attempt(10.0 * tried[0]), first)
    found = Cholesky(L, jax.vmap(_invert)(L))
    return found, (found, jitter)


def _backward(
    first_jitter: float, saved: tuple[Cholesky, Array], slopes: Cholesky
) -> tuple[Float[Array, "groups m m"]]:
    """From d(L⁻¹) = −L⁻¹ dL L⁻¹ and dL = L Φ(L⁻¹ dK L⁻ᵀ): Φ keeps the lower triangle, half of
    its diagonal. Then comes the jitter, which is a share of the mean of the diagonal.
    """
    del first_jitter
    (L, inverse), jitter = saved
    slope = slopes.L - inverse.mT @ slopes.inverse @ inverse.mT
    lower = jnp.tril(L.mT @ slope)
    groups, m, _ = L.shape
    eye = jnp.eye(m, dtype=L.dtype)[None]
    half = inverse.mT @ (lower * (1.0 - 0.5 * eye)) @ inverse
    at_K = 0.5 * (half + half.mT)
    at_scale = jnp.sum(jnp.trace(at_K, axis1=-2, axis2=-1)) * jitter
    return (at_K + at_scale / (groups * m) * eye,)


cholesky.defvjp(_forward, _backward)
