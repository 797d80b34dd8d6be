"""A GP state-space model: the initial state, the transition, the emission, and the joint of them.

    x[1] ~ N(μ1, Σ1)      x[t+1] ~ N(dynamics(x[t], u[t], f), Σx)      y[t] ~ N(C x[t], Σy)

f is a sparse GP with independent outputs. The black box is x[t] + f(x[t], u[t]) with one output per
state; see `gpssm.model.dynamics`. C = [I 0]: the first components of the state are the outputs.
"""

import equinox as eqx
from jaxtyping import Array, Float

from gpssm.gp import SparseGP
from gpssm.gp.positive import positive

from .dynamics import AbstractDynamics, Increment


class InitialState(eqx.Module):
    """The first state. An uninformative prior costs nothing in the ELBO, as in the paper.

    μ1 and Σ1 are also where the backward pass begins at the end of a sequence.
    """

    mean: Float[Array, " states"]
    raw_variance: Float[Array, " states"]
    informative: bool = eqx.field(static=True)

    @property
    def variance(self) -> Float[Array, " states"]:
        """The diagonal of Σ1."""
        return positive(self.raw_variance)


class Transition(eqx.Module):
    """The dynamics: a GP, how it moves the state, and diagonal process noise Σx."""

    gp: SparseGP
    raw_noise: Float[Array, " states"]
    dynamics: AbstractDynamics = Increment()

    @property
    def noise(self) -> Float[Array, " states"]:
        """The diagonal of Σx."""
        return positive(self.raw_noise)


class Emission(eqx.Module):
    """The sensors: which components of the state they see, and diagonal noise Σy."""

    raw_noise: Float[Array, " outputs"]

    @property
    def noise(self) -> Float[Array, " outputs"]:
        """The diagonal of Σy."""
        return positive(self.raw_noise)

    @property
    def dim_y(self) -> int:
        """Number of outputs."""
        return self.raw_noise.shape[0]

    def observe(self, x: Float[Array, "*time states n"]) -> Float[Array, "*time outputs n"]:
        """C x, without noise."""
        return x[..., : self.dim_y, :]


class StateSpaceModel(eqx.Module):
    """p(x[1]) p(u_f) Π p(x[t+1] given x[t], f_t) p(f_t given u_f) Π p(y[t] given x[t])."""

    initial: InitialState
    transition: Transition
    emission: Emission

    @property
    def dim_x(self) -> int:
        """Number of states."""
        return self.initial.mean.shape[0]

    @property
    def dim_y(self) -> int:
        """Number of outputs."""
        return self.emission.dim_y

    @property
    def dim_hidden(self) -> int:
        """Number of states that no output measures."""
        return self.dim_x - self.dim_y
