"""Random numbers for a batch of sequences, each with a key of its own.

What a sequence draws does not depend on the other sequences of its batch, so a batch can be cut
over devices anywhere and still gives the same numbers.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Key, PRNGKeyArray


class Keys(NamedTuple):
    """One key for what all sequences have in common, and one for each of them."""

    shared: Key[Array, ""]
    each: Key[Array, " batch"]

    @property
    def batch(self) -> int:
        """Number of sequences."""
        return self.each.shape[0]

    def split(self, count: int) -> tuple["Keys", ...]:
        """Independent keys for `count` purposes."""
        shared = jax.random.split(self.shared, count)
        each = jax.vmap(lambda key: jax.random.split(key, count), out_axes=1)(self.each)
        return tuple(Keys(*pair) for pair in zip(shared, each, strict=True))

    def normal(
        self, shape: tuple[int, ...], particles: int, dtype: DTypeLike
    ) -> Float[Array, "*shape n"]:
        """Standard normal numbers [*shape, batch · particles]."""
        draw = lambda key: jax.random.normal(key, (*shape, particles), dtype)  # noqa: E731
        return jax.vmap(draw, out_axes=-2)(self.each).reshape(*shape, self.batch * particles)


def make_keys(key: PRNGKeyArray, batch: int) -> Keys:
    """Keys for a batch of sequences."""
    return Keys(key, jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(batch)))
