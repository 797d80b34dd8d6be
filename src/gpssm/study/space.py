"""Configurations: which values the searched settings have in each one."""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gpssm.inference import Model
from gpssm.inference.presets import default_dim_x, method
from gpssm.training import Training

from .settings import SECTIONS, Range, Search, Study, Values

Chosen = dict[str, Any]  # "training.learning_rate" → 0.1


class Configuration(NamedTuple):
    """One choice of all the searched settings, by its number in the study."""

    number: int
    chosen: Chosen

    @property
    def words(self) -> str:
        """As people read it."""
        return ", ".join(
            f"{name.rpartition('.')[2]} {short(value)}" for name, value in self.chosen.items()
        )


def short(value: Any) -> str:
    """A value as short text, with few digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Resolved(NamedTuple):
    """A configuration on top of the fixed settings."""

    method: str
    model: dict[str, Any]
    training: dict[str, Any]

    def build_model(self, dim_y: int) -> Model:
        """The model; `dim_x` depends on the number of outputs unless it is given."""
        return method(self.method, **{"dim_x": default_dim_x(dim_y), **self.model})


def resolve(study: Study, chosen: Chosen) -> Resolved:
    """Merge chosen and fixed settings."""
    sections = {name: dict(getattr(study, name)) for name in SECTIONS}
    for name, value in chosen.items():
        section, _, key = name.rpartition(".")
        if section:
            sections[section][key] = value
    return Resolved(chosen.get("method", study.method), **sections)


def grid(search: Search) -> list[Configuration]:
    """Every combination of one value of each setting, in the order of the study."""
    space = search.space
    chosen = (dict(zip(space, values, strict=True)) for values in product(*space.values()))
    return [Configuration(*each) for each in enumerate(chosen)]


def draw(search: Search, number: int) -> Configuration:
    """Draw one configuration; it does not depend on how many are drawn."""
    rng = np.random.default_rng([search.seed, number])
    return Configuration(number, {name: _draw(rng, v) for name, v in search.space.items()})


def _draw(rng: np.random.Generator, values: Values) -> Any:
    if not isinstance(values, Range):
        return values[rng.integers(len(values))]
    low, high = values.ends
    if values.whole and not values.log:
        return int(rng.integers(int(low), int(high), endpoint=True))
    edges = (math.log(low), math.log(high)) if values.log else (low, high)
    found = rng.uniform(*edges)
    found = math.exp(found) if values.log else found
    return round(found) if values.whole else float(min(max(found, low), high))


def check_values(study: Study, dim_y: int) -> None:
    """Raise ConfigError unless every searched value is valid with the fixed settings.

    One value at a time: a combination that makes none is a trial that fails, not a study.
    """
    ends = {name: v.ends if isinstance(v, Range) else v for name, v in study.search.space.items()}
    first = {name: values[0] for name, values in ends.items()}
    for name, values in ends.items():
        for value in values:
            resolved = resolve(study, {**first, name: value})
            resolved.build_model(dim_y)
            Training(**resolved.training)
