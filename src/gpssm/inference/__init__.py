"""The structured posterior and its ELBO: one family, of which the five methods are settings."""

from .backward import BackwardPass, backward_pass
from .conditioning import soft_condition
from .elbo import Elbo, Weights, elbo
from .family import Model, Posterior, System
from .forward import ForwardPass, forward_pass
from .initialise import build
from .presets import METHODS, cbf_ssm, method, pr_ssm, vcdt
from .sequences import Sequences

__all__ = [
    "METHODS",
    "BackwardPass",
    "Elbo",
    "ForwardPass",
    "Model",
    "Posterior",
    "Sequences",
    "System",
    "Weights",
    "backward_pass",
    "build",
    "cbf_ssm",
    "elbo",
    "forward_pass",
    "method",
    "pr_ssm",
    "soft_condition",
    "vcdt",
]
