"""`smoother`: x̃[1] of the backward pass."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.inference.sequences import Sequences, repeat_particles
from gpssm.model import StateSpaceModel

from .abstract import AbstractRecognition, Particles


class Smoother(AbstractRecognition):
    """x[1] = (y[1], h[1]) for every particle; nothing is learned here."""

    is_gaussian: ClassVar[bool] = False
    needs_backward_pass: ClassVar[bool] = True

    @classmethod
    def shortest_warmup(cls, warmup: int) -> int:
        """The first output."""
        del warmup
        return 1

    @classmethod
    def build(cls, key: PRNGKeyArray, warmup: int, channels: int, dim_x: int) -> "Smoother":
        """It has no parameters."""
        del key, warmup, channels, dim_x
        return cls()

    def first_state(
        self, model: StateSpaceModel, sequences: Sequences, hidden: Float[Array, "time hidden n"]
    ) -> Particles:
        """The first output beside the first of the smoothed hidden states."""
        del model
        particles = hidden.shape[-1] // sequences.batch
        y1 = repeat_particles(sequences.y[0], particles)
        return Particles(jnp.concatenate([y1, hidden[0]]))
