"""A batch of sequences in the layout of the time loop: time first, batch last."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

Numbers = Array | np.ndarray  # on a device or not yet


class Sequences(NamedTuple):
    """Normalised inputs and outputs of a batch; `mask` is False where an output is missing."""

    u: Float[Array, "time controls batch"]
    y: Float[Array, "time outputs batch"]
    mask: Bool[Array, "time outputs batch"]

    @property
    def length(self) -> int:
        """Number of time steps."""
        return self.y.shape[0]

    @property
    def batch(self) -> int:
        """Number of sequences side by side."""
        return self.y.shape[-1]

    def first(self, steps: int) -> "Sequences":
        """The first time steps of every sequence."""
        return Sequences(self.u[:steps], self.y[:steps], self.mask[:steps])


def from_batch_first(
    u: Float[Numbers, "batch time controls"],
    y: Float[Numbers, "batch time outputs"],
    mask: Bool[Numbers, "batch time outputs"],
) -> Sequences:
    """Sequences from arrays [batch, time, channel]. Missing outputs are filled in, see below."""
    u, y, mask = (jnp.transpose(a, (1, 2, 0)) for a in (u, y, mask))
    return Sequences(u, fill_missing(y, mask), mask)


def fill_missing(
    y: Float[Array, "time outputs batch"], mask: Bool[Array, "time outputs batch"]
) -> Float[Array, "time outputs batch"]:
    """Each missing output takes the last value seen before it, else the first one after it.

    Only q sees these values (the recognition and the backward pass need some number there):
    they are neither scored nor conditioned on. A channel that was never observed becomes zero.
    """
    steps = y.shape[0]
    index = jnp.arange(steps)[:, None, None]
    before = jax.lax.cummax(jnp.where(mask, index, -1), axis=0)
    after = jax.lax.cummin(jnp.where(mask, index, steps), axis=0, reverse=True)
    source = jnp.where(before >= 0, before, after)
    filled = jnp.take_along_axis(y, jnp.clip(source, 0, steps - 1), axis=0)
    return jnp.where(jnp.any(mask, axis=0), filled, jnp.zeros_like(filled))


def repeat_particles(values: Array, particles: int) -> Array:
    """[…, batch] → […, batch · particles]: every particle of a sequence sees the same values."""
    return jnp.repeat(values, particles, axis=-1)
