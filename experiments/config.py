"""Settings of an experiment: a TOML file of defaults and of what differs from them."""

import tomllib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from pydantic import Field

import gpssm
from gpssm.data import Dataset
from gpssm.errors import ConfigError, expected
from gpssm.inference import build
from gpssm.inference.presets import METHODS as GPSSM_METHODS
from gpssm.inference.sequences import from_batch_first
from gpssm.settings import Settings

from .gru import GruSettings, width_for

CONFIGS = Path(__file__).with_name("configs")
DATASETS = ("actuator", "ballbeam", "drive", "dryer", "furnace", "flutter", "tank", "sarcos")
METHODS = (*GPSSM_METHODS, "constant-mean", "arx", "n4sid", "gru")
_LEVELS, _PARTS = ("datasets", "methods"), ("model", "training", "gru")
_ONLY_GPSSM = ("forecast_particles", "calibration_folds")
_SIZE_OF = "cbf-ssm-50"  # the GRU has as many parameters as this method
_WINDOWS = ("batch_size", "sequence_length", "stride")


class DataSettings(Settings):
    """What is done to the data before anything is learned from them."""

    drift: float | None = Field(
        None, gt=0, description="size of the drift that is removed; None: nothing is"
    )

    def of(self, data: Dataset) -> Dataset:
        return data if self.drift is None else data.remove_drift(self.drift)


class CellSettings(Settings):
    """All that decides the numbers of one cell; what its method does not use is None."""

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
    gru: GruSettings | None = None


def read_config(path: str | Path = CONFIGS / "table1.toml") -> dict[str, Any]:
    with open(path, "rb") as file:
        return tomllib.load(file)


def merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Tables inside tables; the changes win."""
    both = {k: merge(base[k], v) for k, v in changes.items() if isinstance(base.get(k), dict)}
    return {**base, **changes, **both}


def cell_settings(config: dict[str, Any], data: Dataset, method: str) -> CellSettings:
    """What one method uses on one data set, validated."""
    if method not in METHODS:
        raise ConfigError(expected("method", repr(method), f"one of {', '.join(METHODS)}"))
    if method in GPSSM_METHODS:
        return gpssm_settings(config, data.name, method)
    if method == "gru":
        return _gru_settings(config, data)
    return CellSettings(data=_tables(config, data.name, method).get("data", {}))  # one run


def gpssm_settings(config: dict[str, Any], dataset: str, method: str) -> CellSettings:
    """What a method of the paper uses; of the data set nothing but the name is needed."""
    tables = _tables(config, dataset, method)
    model, training, _ = (tables.pop(name, {}) for name in _PARTS)
    used = {"model": gpssm.method(method, **model), "training": gpssm.Training(**training)}
    return CellSettings(**tables, **used)


def _gru_settings(config: dict[str, Any], data: Dataset) -> CellSettings:
    """As many parameters as CBF-SSM-50 has, and its windows."""
    tables = _tables(config, data.name, "gru")
    model, training, gru = (tables.pop(name, {}) for name in _PARTS)
    size = count_parameters(gpssm.method(_SIZE_OF, **model), data)
    windows = {name: training[name] for name in _WINDOWS if name in training}
    width = width_for(size, data.dim_u, data.dim_y)
    for name in _ONLY_GPSSM:
        tables.pop(name, None)
    return CellSettings(**tables, gru=GruSettings(**{"width": width, **windows, **gru}))


def _tables(config: dict[str, Any], dataset: str, method: str) -> dict[str, Any]:
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
        return CellSettings(**stored) == wanted
    except ConfigError:
        return False


def plain(settings: CellSettings) -> dict[str, Any]:
    """As JSON, without what is not used."""
    return {name: value for name, value in settings.to_json().items() if value is not None}


def count_parameters(model: gpssm.Model, data: Dataset) -> int:
    """Numbers that training moves, from a system that is built on nothing."""
    time = model.warmup + 1
    y = jnp.zeros((1, time, data.dim_y))
    rows = from_batch_first(jnp.zeros((1, time, data.dim_u)), y, jnp.ones(y.shape, bool))
    return sum(leaf.size for leaf in jax.tree.leaves(build(jax.random.key(0), model, rows)))
