"""`output`: the first output, and the initial state of the model for the hidden components."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.inference.sequences import Sequences
from gpssm.model import StateSpaceModel

from .abstract import AbstractRecognition, Gaussian


def from_first_output(model: StateSpaceModel, sequences: Sequences) -> Gaussian:
    """x[1] = (y[1], μ1), with the variances Σy and Σ1."""
    batch, dim_y = sequences.batch, model.dim_y
    hidden_mean = jnp.broadcast_to(model.initial.mean[dim_y:, None], (model.dim_hidden, batch))
    mean = jnp.concatenate([sequences.y[0], hidden_mean])
    variance = jnp.concatenate([model.emission.noise, model.initial.variance[dim_y:]])[:, None]
    return Gaussian(mean, jnp.broadcast_to(variance, mean.shape))


class Output(AbstractRecognition):
    """x[1] = (y[1], μ1); nothing is learned."""

    is_gaussian: ClassVar[bool] = True
    needs_backward_pass: ClassVar[bool] = False

    @classmethod
    def shortest_warmup(cls, warmup: int) -> int:
        """The first output."""
        del warmup
        return 1

    @classmethod
    def build(cls, key: PRNGKeyArray, warmup: int, channels: int, dim_x: int) -> "Output":
        """It has no parameters."""
        del key, warmup, channels, dim_x
        return cls()

    def first_state(
        self, model: StateSpaceModel, sequences: Sequences, hidden: Float[Array, "time hidden n"]
    ) -> Gaussian:
        """(y[1], μ1) with variances (Σy, Σ1)."""
        del hidden
        return from_first_output(model, sequences)
