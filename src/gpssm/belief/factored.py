"""A system as a filter needs it: f factored once, everything in one precision.

All that the step from x[t] to x[t+1] is made of, in normalised units, and what is known of x[1].
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from gpssm.gp import Factor, conditional, factorise
from gpssm.gp.sparse import inducing_cholesky
from gpssm.inference import System
from gpssm.model import AbstractDynamics

# Variances: of the outputs of the training data, by their normalisation; hidden states have a
# spread near that when training starts, and are never thought wider than the last number.
_UNIT, _WIDEST = 1.0, 9.0


class Factored(eqx.Module):
    """The dynamics, f ready for use, and a wide N(mean, variance) for the first state."""

    dynamics: AbstractDynamics
    factor: Factor
    mean: Float[Array, " states"]
    variance: Float[Array, " states"]

    @property
    def dim_x(self) -> int:
        """Number of states."""
        return self.mean.shape[0]

    def moments(
        self,
        parameters: Float[Array, "learned n"],
        x: Float[Array, "states n"],
        u: Float[Array, "controls n"],
    ) -> tuple[Float[Array, "states n"], Float[Array, "states n"]]:
        """Mean of x[t+1], and what f adds to its variance: f is drawn anew at every step."""
        f_moments = conditional(self.factor, self.dynamics.seen(x, u))
        return self.dynamics.moments(parameters, x, u, *f_moments)

    def cast(self, dtype: DTypeLike) -> "Factored":
        """The same in another precision."""
        return jax.tree.map(lambda leaf: leaf.astype(dtype), self)


@eqx.filter_jit
def factored(system: System, dtype: DTypeLike) -> Factored:
    """Factors f in the precision of the parameters, for use in `dtype`.

    The first state is as wide as the training data, see `_first_state`.
    """
    gp = system.model.transition.gp
    factor = factorise(gp, inducing_cholesky(gp, dtype), dtype)
    whole = Factored(system.model.transition.dynamics, factor, *_first_state(system))
    return whole.cast(dtype)


def as_factored(system: System | Factored) -> Factored:
    """Factors a system in the precision of its parameters; what is factored stays as it is."""
    if isinstance(system, Factored):
        return system
    return factored(system, system.model.initial.mean.dtype)


def _first_state(system: System) -> tuple[Float[Array, " states"], Float[Array, " states"]]:
    """Mean and variance of a state of which nothing is known but that it is one of this plant.

    Outputs have the mean and spread of the training data, N(0, 1) in normalised units. Hidden
    states have the mean μ1. Their variance is Σ1, or that of the inducing inputs, which lie where
    training has visited, but at least one: a forecast from too narrow a start claims too much.
    """
    model, outputs = system.model, system.model.dim_y
    hidden, widths = model.initial.mean[outputs:], model.initial.variance[outputs:]
    if system.config.physics is None:  # f sees the state itself
        z = model.transition.gp.inducing_inputs[:, outputs : model.dim_x]
        widths = jnp.maximum(widths, jnp.mean(jnp.square(z - hidden[None]), axis=0))
    mean = jnp.concatenate([jnp.zeros(outputs, hidden.dtype), hidden])
    known = jnp.full(outputs, _UNIT, widths.dtype)
    return mean, jnp.concatenate([known, jnp.clip(widths, _UNIT, _WIDEST)])
