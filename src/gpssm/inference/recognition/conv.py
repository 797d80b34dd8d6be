"""`conv`: a convolution along the warm-up."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .network import WIDTH, AbstractNetwork

_KERNEL_SIZE = 4  # steps, at most


class Conv(AbstractNetwork):
    """A convolution in time."""

    @classmethod
    def make_encoder(cls, key: PRNGKeyArray, warmup: int, channels: int) -> eqx.nn.Conv1d:
        """It is no longer than the warm-up."""
        return eqx.nn.Conv1d(channels, WIDTH, min(_KERNEL_SIZE, warmup), key=key)

    def encode(self, signals: Float[Array, "warmup channels"]) -> Float[Array, " width"]:
        """tanh of the convolution, averaged over time."""
        return jnp.mean(jnp.tanh(self.encoder(signals.T)), axis=1)
