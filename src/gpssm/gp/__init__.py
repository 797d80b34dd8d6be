"""Sparse Gaussian processes: kernels, q(u), conditionals, KL, and ways to draw f."""

from .draws import FUNCTION_DRAWS, DrawState, FunctionDraw
from .kernels import (
    AbstractCovariance,
    AbstractKernel,
    Linear,
    Product,
    Stationary,
    Sum,
    make_kernel,
)
from .keys import Keys, make_keys
from .sparse import Factor, InducingPosterior, SparseGP, conditional, factorise, kl_divergence

__all__ = [
    "FUNCTION_DRAWS",
    "AbstractCovariance",
    "AbstractKernel",
    "DrawState",
    "Factor",
    "FunctionDraw",
    "InducingPosterior",
    "Keys",
    "Linear",
    "Product",
    "SparseGP",
    "Stationary",
    "Sum",
    "conditional",
    "factorise",
    "kl_divergence",
    "make_kernel",
    "make_keys",
]
