"""The Gaussian process state-space model: transition, emission, initial state."""

from .dynamics import AbstractDynamics, Hybrid, Increment, make_hybrid, with_common_scales
from .emission import Emission
from .gaussian import gaussian_kl, gaussian_log_density
from .initial import InitialState
from .physics import Physics, Prior, log_normal, normal
from .statespace import StateSpaceModel
from .transition import Transition

__all__ = [
    "AbstractDynamics",
    "Emission",
    "Hybrid",
    "Increment",
    "InitialState",
    "Physics",
    "Prior",
    "StateSpaceModel",
    "Transition",
    "gaussian_kl",
    "gaussian_log_density",
    "log_normal",
    "make_hybrid",
    "normal",
    "with_common_scales",
]
