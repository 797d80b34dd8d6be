"""The structured posterior and its ELBO.

A name is loaded when it is first used: the registry of methods need not wait for JAX.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from .conditioning import soft_condition
    from .family import Model, Posterior, System
    from .initialise import build
    from .methods.abstract import elbo
    from .methods.registry import METHODS
    from .presets import cbf_ssm, method, pr_ssm, vcdt
    from .sequences import Sequences
    from .terms import Elbo, Weights

__all__ = [
    "METHODS",
    "Elbo",
    "Model",
    "Posterior",
    "Sequences",
    "System",
    "Weights",
    "build",
    "cbf_ssm",
    "elbo",
    "method",
    "pr_ssm",
    "soft_condition",
    "vcdt",
]

_NAMES = {
    "conditioning": "soft_condition",
    "family": "Model Posterior System",
    "initialise": "build",
    "methods.abstract": "elbo",
    "methods.registry": "METHODS",
    "presets": "cbf_ssm method pr_ssm vcdt",
    "sequences": "Sequences",
    "terms": "Elbo Weights",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> typing.Any:
    """Import a name at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
