"""Interface of a recognition model: q(x[1] given y[1:t'], u[1:t'])."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.inference.sequences import Sequences
from gpssm.model import StateSpaceModel


class Gaussian(NamedTuple):
    """Mean and variance of q(x[1]) for every sequence."""

    mean: Float[Array, "states batch"]
    variance: Float[Array, "states batch"]


class Particles(NamedTuple):
    """Samples of q(x[1]), those of a sequence side by side."""

    x: Float[Array, "states n"]


class AbstractRecognition(eqx.Module):
    """A recognition model. It is built once per system; its arrays are learned."""

    is_gaussian: eqx.AbstractClassVar[bool]  # else it gives particles
    needs_backward_pass: eqx.AbstractClassVar[bool]

    @classmethod
    @abstractmethod
    def shortest_warmup(cls, warmup: int) -> int:
        """Number of outputs that it must see, given the setting `Model.warmup`."""

    @classmethod
    @abstractmethod
    def build(
        cls, key: PRNGKeyArray, warmup: int, channels: int, dim_x: int
    ) -> "AbstractRecognition":
        """Make one for `channels` = Dy + Du signals over `warmup` steps."""

    @abstractmethod
    def first_state(
        self, model: StateSpaceModel, sequences: Sequences, hidden: Float[Array, "time hidden n"]
    ) -> Gaussian | Particles:
        """q(x[1]) of every sequence; `hidden` is what the backward pass has estimated."""
