"""The Gaussian process state-space model: transition, emission, initial state, and physics."""

from .affine import Affine, LinearPart
from .dynamics import AbstractDynamics, Increment
from .gaussian import gaussian_kl, gaussian_log_density
from .hybrid import Hybrid, make_hybrid
from .integrate import SOLVERS, integrate
from .physics import Physics, Prior, log_normal, normal
from .statespace import Emission, InitialState, StateSpaceModel, Transition
from .units import with_common_scales

__all__ = [
    "SOLVERS",
    "AbstractDynamics",
    "Affine",
    "Emission",
    "Hybrid",
    "Increment",
    "InitialState",
    "LinearPart",
    "Physics",
    "Prior",
    "StateSpaceModel",
    "Transition",
    "gaussian_kl",
    "gaussian_log_density",
    "integrate",
    "log_normal",
    "make_hybrid",
    "normal",
    "with_common_scales",
]
