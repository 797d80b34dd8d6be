"""Random numbers for a batch of sequences, each with a key of its own.

What a sequence draws does not depend on the others, nor on how its particles are cut into shares: a
batch gives the same numbers however it is spread over devices.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from .normals import random_bits, to_normal

_COUNTERS = 2**32  # numbers of one sequence that a counter of 32 bits can tell apart


class Keys(eqx.Module):
    """One key for what all sequences have in common, and one for each of them."""

    shared: Key[Array, ""]
    each: Key[Array, " batch"]
    share: Int[Array, ""] | None = None  # which one of the shares of the particles this is
    shares: int = eqx.field(static=True, default=1)

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return self.each.shape[0]

    def split(self, count: int) -> tuple["Keys", ...]:
        """Independent keys for `count` purposes."""
        shared = jax.random.split(self.shared, count)
        each = jax.vmap(lambda key: jax.random.split(key, count), out_axes=1)(self.each)
        pairs = zip(shared, each, strict=True)
        return tuple(Keys(*pair, self.share, self.shares) for pair in pairs)

    def fold_in(self, number: int | Int[Array, ""]) -> "Keys":
        """Independent keys for one of many repetitions."""
        each = jax.vmap(lambda key: jax.random.fold_in(key, number))(self.each)
        return Keys(jax.random.fold_in(self.shared, number), each, self.share, self.shares)

    def normal(
        self, shape: tuple[int, ...], particles: int, dtype: DTypeLike
    ) -> Float[Array, "*shape n"]:
        """Standard normal numbers [*shape, batch · particles], for this share of the particles."""
        count = math.prod(shape) * self.shares * particles
        if jnp.dtype(dtype) == jnp.float32 and count < _COUNTERS and _is_threefry(self.each):
            drawn = self._threefry_normal(shape, particles)
        else:
            drawn = jax.vmap(lambda key: self._draw(key, shape, particles, dtype), out_axes=-2)(
                self.each
            )
        return drawn.reshape(*shape, self.batch * particles)

    def _draw(
        self, key: PRNGKeyArray, shape: tuple[int, ...], particles: int, dtype: DTypeLike
    ) -> Float[Array, "*shape particles"]:
        """What one sequence draws."""
        drawn = jax.random.normal(key, (*shape, self.shares * particles), dtype)
        if self.share is None:
            return drawn
        return jax.lax.dynamic_slice_in_dim(drawn, self.share * particles, particles, axis=-1)

    def _threefry_normal(
        self, shape: tuple[int, ...], particles: int
    ) -> Float[Array, "*shape batch particles"]:
        """The same numbers as `_draw` for all sequences, at once and where they belong."""
        total = self.shares * particles
        places = jnp.arange(math.prod(shape) * total, dtype=jnp.uint32).reshape(*shape, 1, total)
        if self.share is not None:
            places = jax.lax.dynamic_slice_in_dim(
                places, self.share * particles, particles, axis=-1
            )
        key = jax.random.key_data(self.each).reshape(*[1] * len(shape), self.batch, 2)
        return to_normal(random_bits((key[..., :1], key[..., 1:]), places))


def _is_threefry(keys: Key[Array, " batch"]) -> bool:
    return "threefry" in str(jax.random.key_impl(keys))


def make_keys(key: PRNGKeyArray, batch: int) -> Keys:
    """Keys for a batch of sequences."""
    return Keys(key, jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(batch)))
