"""x[t+1] ~ N(x[t] + f(x[t], u[t]), Σx), f a sparse GP with one independent output per state."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.gp import SparseGP
from gpssm.gp.positive import positive


class Transition(eqx.Module):
    """The dynamics: a GP with an identity mean function, and diagonal process noise Σx."""

    gp: SparseGP
    raw_noise: Float[Array, " states"]

    @property
    def noise(self) -> Float[Array, " states"]:
        """The diagonal of Σx."""
        return positive(self.raw_noise)


def transition_inputs(
    x: Float[Array, "states n"], u: Float[Array, "controls n"]
) -> Float[Array, "inputs n"]:
    """What f sees: the state and the input of the same time step."""
    return jnp.concatenate([x, u])


def predict_state(
    noise: Float[Array, " states"],
    x: Float[Array, "states n"],
    f_mean: Float[Array, "states n"],
    f_variance: Float[Array, "states n"],
) -> tuple[Float[Array, "states n"], Float[Array, "states n"]]:
    """N(m⁻, v⁻) of x[t+1] before any conditioning: m⁻ = x + E f, v⁻ = Var f + Σx."""
    return x + f_mean, f_variance + noise[:, None]
