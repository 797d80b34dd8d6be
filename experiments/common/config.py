"""Settings of an experiment: a TOML file of defaults and of what differs from them."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

import gpssm
from gpssm.base.errors import ConfigError
from gpssm.base.settings import Settings
from gpssm.data import Dataset

_LEVELS, _PARTS = ("datasets", "methods"), ("model", "training", "gru")


class DataSettings(Settings):
    """Preprocessing of the data, before anything is learned from them."""

    drift: float | None = Field(
        None, gt=0, description="size of the drift that is removed; None: nothing is"
    )

    def of(self, data: Dataset) -> Dataset:
        return data if self.drift is None else data.remove_drift(self.drift)


class CellSettings(Settings):
    """All that decides the numbers of one record; what its method does not use is None."""

    seeds: int = Field(1, ge=1, description="runs, from the seeds 0, 1, …")
    seeds_at_once: int = Field(1, ge=1, description="of them trained in one program")
    forecast_particles: int | None = Field(None, ge=1, description="None: as in training")
    calibration_folds: int = Field(0, ge=0, description="0: the noise stays as fit leaves it")
    validation: float | None = Field(
        None, gt=0, lt=1, description="share of the training part on which the best step is found"
    )
    data: DataSettings = DataSettings()
    model: gpssm.Model | None = None
    training: gpssm.Training | None = None


Kind = TypeVar("Kind", bound=CellSettings)


def read_config(path: str | Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        return tomllib.load(file)


def merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Tables inside tables; the changes win."""
    both = {k: merge(base[k], v) for k, v in changes.items() if isinstance(base.get(k), dict)}
    return {**base, **changes, **both}


def gpssm_settings(
    config: dict[str, Any], dataset: str, method: str, kind: type[Kind] = CellSettings
) -> Kind:
    """The settings of a method of the paper; of the data set only the name is needed."""
    tables = merged_tables(config, dataset, method)
    model, training, _ = (tables.pop(name, {}) for name in _PARTS)
    used = {"model": gpssm.method(method, **model), "training": gpssm.Training(**training)}
    return kind(**tables, **used)


def merged_tables(config: dict[str, Any], dataset: str, method: str) -> dict[str, Any]:
    """The defaults, then what differs for the method, for the data set, and for both."""
    own = config.get("datasets", {}).get(dataset, {})
    layers = (
        config.get("methods", {}).get(method, {}),
        {k: v for k, v in own.items() if k not in _LEVELS},
        own.get("methods", {}).get(method, {}),
    )
    merged = {k: v for k, v in config.items() if k not in _LEVELS}
    for layer in layers:
        merged = merge(merged, layer)
    return merged


def quick(config: dict[str, Any], share: float = 0.1) -> dict[str, Any]:
    """One seed and a share of the steps, wherever the file names a number of steps."""

    def shorten(value: Any) -> Any:
        if isinstance(value, list):
            return [shorten(each) for each in value]
        if not isinstance(value, dict):
            return value
        short = {key: shorten(each) for key, each in value.items()}
        if isinstance(steps := value.get("steps"), int):
            short["steps"] = max(round(share * steps), 1)
        return short

    return {**shorten(config), "seeds": 1}


def same_settings(stored: dict[str, Any], wanted: CellSettings) -> bool:
    """Compared as settings, so that a new setting at its default does not count as a change."""
    try:
        return type(wanted)(**stored) == wanted
    except ConfigError:
        return False


def plain(settings: CellSettings) -> dict[str, Any]:
    """As JSON, without what is not used."""
    return {name: value for name, value in settings.to_json().items() if value is not None}
