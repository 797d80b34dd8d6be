"""Interface of a method: its pass through time, its bound, its parameters."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.base.extras import load_object
from gpssm.gp import Keys
from gpssm.inference.family import Model, System
from gpssm.inference.sequences import Sequences
from gpssm.inference.terms import Elbo, Weights

from .registry import TARGETS


class AbstractMethod(eqx.Module):
    """A method. It holds no arrays: what it learns is in the `System` that is given to it."""

    conditions: eqx.AbstractVar[bool]  # whether outputs after the recognition's correct the states
    passes: eqx.AbstractVar[int]  # over the time steps, in one training step: what it costs

    @abstractmethod
    def parameters(
        self, key: PRNGKeyArray, config: Model, dim_u: int, dim_y: int
    ) -> eqx.Module | None:
        """What it learns beside the model, the recognition and the GP of the backward pass."""

    @abstractmethod
    def elbo(self, keys: Keys, system: System, sequences: Sequences, weights: Weights) -> Elbo:
        """The bound on the evidence of the sequences, in the precision of their dtype."""

    @abstractmethod
    def predict(
        self,
        keys: Keys,
        system: System,
        u: Float[Array, "time controls batch"],
        warmup: Sequences,
        conditioned: int,
    ) -> Float[Array, "time states n"]:
        """Particles of x[1:T], of which only the first `conditioned` may be corrected."""

    @abstractmethod
    def forward_keys(self, keys: Keys) -> Keys:
        """Those of the keys of `predict` that its forward pass has used, for `rollout.go_on`."""


def find_method(config: Model) -> AbstractMethod:
    """The method that the settings select."""
    found: AbstractMethod = load_object(TARGETS[config.target].place)
    return found


def elbo(keys: Keys, system: System, sequences: Sequences, weights: Weights | None = None) -> Elbo:
    """The bound of the system's method on the evidence of a batch of sequences."""
    return find_method(system.config).elbo(keys, system, sequences, weights or Weights())
