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

_UNIT = 1.0  # variance of the outputs of the training data, by their normalisation


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

    The first state is as wide as the training data: outputs have their mean and spread, N(0, 1) in
    normalised units. Hidden states have μ1 and at least unit variance, which is their scale at the
    start of training.
    """
    model = system.model
    gp, initial, outputs = model.transition.gp, model.initial, model.dim_y
    factor = factorise(gp, inducing_cholesky(gp, dtype), dtype)
    observed = jnp.arange(model.dim_x) < outputs
    mean = jnp.where(observed, 0.0, initial.mean)
    variance = jnp.where(observed, _UNIT, jnp.maximum(initial.variance, _UNIT))
    whole = Factored(model.transition.dynamics, factor, mean, variance)
    return whole.cast(dtype)


def as_factored(system: System | Factored) -> Factored:
    """Factors a system in the precision of its parameters; what is factored stays as it is."""
    if isinstance(system, Factored):
        return system
    return factored(system, system.model.initial.mean.dtype)
