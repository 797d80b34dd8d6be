"""The Gaussian process state-space model: transition, emission, initial state."""

from .emission import Emission
from .gaussian import gaussian_kl, gaussian_log_density
from .initial import InitialState
from .statespace import StateSpaceModel
from .transition import Transition

__all__ = [
    "Emission",
    "InitialState",
    "StateSpaceModel",
    "Transition",
    "gaussian_kl",
    "gaussian_log_density",
]
