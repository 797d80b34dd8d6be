"""Packages and objects that are imported when they are used, and not before."""

import importlib
from typing import Any

from .errors import ConfigError


def load_extra(module: str, extra: str, purpose: str) -> Any:
    """Import and return a module of an extra; if it is missing, say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        message = f"{purpose} needs the package {package!r}, which cannot be imported ({error})."
        raise ConfigError(f"{message} Install it: pip install 'gpssm[{extra}]'") from error


def load_object(place: str) -> Any:
    """The object at "module:object", so that a registry can be read without loading it."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
