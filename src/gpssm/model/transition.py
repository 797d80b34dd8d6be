"""x[t+1] ~ N(dynamics(x[t], u[t], f), Σx), f a sparse GP with independent outputs.

The black box is x[t] + f(x[t], u[t]) with one output per state; see `gpssm.model.dynamics`.
"""

import equinox as eqx
from jaxtyping import Array, Float

from gpssm.gp import SparseGP
from gpssm.gp.positive import positive

from .dynamics import AbstractDynamics, Increment


class Transition(eqx.Module):
    """The dynamics: a GP, how it moves the state, and diagonal process noise Σx."""

    gp: SparseGP
    raw_noise: Float[Array, " states"]
    dynamics: AbstractDynamics = Increment()

    @property
    def noise(self) -> Float[Array, " states"]:
        """The diagonal of Σx."""
        return positive(self.raw_noise)


def predict_state(
    noise: Float[Array, " states"],
    mean: Float[Array, "states n"],
    variance: Float[Array, "states n"],
) -> tuple[Float[Array, "states n"], Float[Array, "states n"]]:
    """N(m⁻, v⁻) of x[t+1] before any conditioning: to what f leaves open comes Σx."""
    return mean, variance + noise[:, None]
