"""The table of all metrics: one file of `formulas` each."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from gpssm.base.errors import ConfigError, expected

from . import formulas
from .metric import Metric


@cache
def metrics() -> Mapping[str, Metric]:
    """All metrics by name, in the order of the tables."""
    names = [each.name for each in pkgutil.iter_modules(formulas.__path__)]
    found = [importlib.import_module(f"{formulas.__name__}.{name}").METRIC for name in names]
    return {each.name: each for each in sorted(found, key=lambda each: each.place)}


def selecting_metric(name: str, field: str) -> Metric:
    """A metric that can rank forecasts; raise for any other."""
    found = {each.name: each for each in metrics().values() if each.selects}
    if name not in found:
        raise ConfigError(expected(field, repr(name), f"one of {', '.join(found)}"))
    return found[name]
