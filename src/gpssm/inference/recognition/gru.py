"""`gru`: a recurrent network over the warm-up."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .network import WIDTH, AbstractNetwork


class Gru(AbstractNetwork):
    """A gated recurrent unit."""

    @classmethod
    def make_encoder(cls, key: PRNGKeyArray, warmup: int, channels: int) -> eqx.nn.GRUCell:
        """It reads one step at a time."""
        del warmup
        return eqx.nn.GRUCell(channels, WIDTH, key=key)

    def encode(self, signals: Float[Array, "warmup channels"]) -> Float[Array, " width"]:
        """Backwards in time: what is nearest to x[1] is read last."""
        start = jnp.zeros((WIDTH,), signals.dtype)
        step = lambda carry, row: (self.encoder(row, carry), None)  # noqa: E731
        return jax.lax.scan(step, start, signals, reverse=True)[0]
