"""`mlp`: one hidden layer over all signals of the warm-up."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .network import WIDTH, AbstractNetwork


class Mlp(AbstractNetwork):
    """A network with one hidden layer."""

    @classmethod
    def make_encoder(cls, key: PRNGKeyArray, warmup: int, channels: int) -> eqx.nn.Linear:
        """One row for each number of the code."""
        return eqx.nn.Linear(warmup * channels, WIDTH, key=key)

    def encode(self, signals: Float[Array, "warmup channels"]) -> Float[Array, " width"]:
        """tanh of a linear map of all signals."""
        return jnp.tanh(self.encoder(signals.ravel()))
