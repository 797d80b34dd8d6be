"""The Gaussian process state-space model: transition, emission, initial state."""

from .dynamics import AbstractDynamics, Increment
from .emission import Emission
from .gaussian import gaussian_kl, gaussian_log_density
from .hybrid import Hybrid, make_hybrid
from .initial import InitialState
from .physics import Physics, Prior, log_normal, normal
from .statespace import StateSpaceModel
from .transition import Transition
from .units import with_common_scales

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
