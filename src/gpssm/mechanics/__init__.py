"""Equations of motion and their integration: plain functions that simulators and models share."""

from .integrate import RK4, SOLVERS, integrate
from .rigid_body import GRAVITY, rigid_body_rates
from .rotation import euler_rates, quaternion_product, quaternion_rates, rotate, rotate_back

__all__ = [
    "GRAVITY",
    "RK4",
    "SOLVERS",
    "euler_rates",
    "integrate",
    "quaternion_product",
    "quaternion_rates",
    "rigid_body_rates",
    "rotate",
    "rotate_back",
]
