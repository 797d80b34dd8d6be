"""The joint: initial state, transition and emission of a GP state-space model."""

import equinox as eqx

from .emission import Emission
from .initial import InitialState
from .transition import Transition


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
