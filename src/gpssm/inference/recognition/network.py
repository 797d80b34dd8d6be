"""Base of the networks: all learn a correction of the estimate of `output`."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.inference.sequences import Sequences
from gpssm.model import StateSpaceModel

from .abstract import AbstractRecognition, Gaussian
from .output import from_first_output

WIDTH = 32  # numbers into which a network encodes a warm-up


class AbstractNetwork(AbstractRecognition):
    """Encodes the warm-up; a read-out then shifts the mean of x[1] and scales its variance."""

    is_gaussian: ClassVar[bool] = True
    needs_backward_pass: ClassVar[bool] = False

    encoder: Callable[..., Array]
    readout: eqx.nn.Linear
    warmup: int = eqx.field(static=True)

    @classmethod
    @abstractmethod
    def make_encoder(cls, key: PRNGKeyArray, warmup: int, channels: int) -> Callable[..., Array]:
        """The layer of the network."""

    @abstractmethod
    def encode(self, signals: Float[Array, "warmup channels"]) -> Float[Array, " width"]:
        """The outputs and inputs of one warm-up, as `WIDTH` numbers."""

    @classmethod
    def shortest_warmup(cls, warmup: int) -> int:
        """The whole warm-up."""
        return warmup

    @classmethod
    def build(cls, key: PRNGKeyArray, warmup: int, channels: int, dim_x: int) -> "AbstractNetwork":
        """Make it with a small read-out: training starts from what `output` says."""
        key_encoder, key_readout = jax.random.split(key)
        encoder = cls.make_encoder(key_encoder, warmup, channels)
        readout = eqx.nn.Linear(WIDTH, 2 * dim_x, key=key_readout)
        return cls(encoder, jax.tree.map(lambda leaf: 0.1 * leaf, readout), warmup)

    def first_state(
        self, model: StateSpaceModel, sequences: Sequences, hidden: Float[Array, "time hidden n"]
    ) -> Gaussian:
        """The Gaussian that `output` gives, corrected."""
        del hidden
        mean, variance = from_first_output(model, sequences)
        seen = sequences.first(self.warmup)
        signals = jnp.concatenate([model.transition.dynamics.readable(seen.y), seen.u], axis=1)
        encoded = jax.vmap(self.encode, in_axes=-1, out_axes=-1)(signals)
        shift, log_scale = jnp.split(jax.vmap(self.readout, -1, -1)(encoded), 2)
        return Gaussian(mean + shift, variance * jnp.exp(log_scale))
