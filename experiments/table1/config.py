"""Settings of the cells of Table 1: those of the methods of the paper, and those of the GRU."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import gpssm
from gpssm.base.errors import ConfigError, expected
from gpssm.data import Dataset
from gpssm.inference import build
from gpssm.inference.methods.registry import METHODS as GPSSM_METHODS
from gpssm.inference.sequences import from_batch_first

from ..common import config as common
from ..common.config import CellSettings, gpssm_settings, merged_tables
from .gru import GruSettings, width_for

FOLDER = Path(__file__).parent
DATASETS = ("actuator", "ballbeam", "drive", "dryer", "furnace", "flutter", "tank", "sarcos")
METHODS = (*GPSSM_METHODS, "constant-mean", "arx", "n4sid", "gru")
_ONLY_GPSSM = ("forecast_particles", "calibration_folds")
_SIZE_OF = "cbf-ssm-50"  # the GRU has as many parameters as this method
_WINDOWS = ("batch_size", "sequence_length", "stride")


class Table1Settings(CellSettings):
    """All that decides the numbers of one cell; what its method does not use is None."""

    gru: GruSettings | None = None


def read_config(path: str | Path = FOLDER / "table1.toml") -> dict[str, Any]:
    return common.read_config(path)


def cell_settings(config: dict[str, Any], data: Dataset, method: str) -> Table1Settings:
    """What one method uses on one data set, validated."""
    if method not in METHODS:
        raise ConfigError(expected("method", repr(method), f"one of {', '.join(METHODS)}"))
    if method in GPSSM_METHODS:
        return gpssm_settings(config, data.name, method, Table1Settings)
    if method == "gru":
        return _gru_settings(config, data)
    return Table1Settings(data=merged_tables(config, data.name, method).get("data", {}))  # one run


def _gru_settings(config: dict[str, Any], data: Dataset) -> Table1Settings:
    """As many parameters as CBF-SSM-50 has, and its windows."""
    tables = merged_tables(config, data.name, "gru")
    model, training, gru = (tables.pop(name, {}) for name in ("model", "training", "gru"))
    size = count_parameters(gpssm.method(_SIZE_OF, **model), data)
    windows = {name: training[name] for name in _WINDOWS if name in training}
    width = width_for(size, data.dim_u, data.dim_y)
    for name in _ONLY_GPSSM:
        tables.pop(name, None)
    return Table1Settings(**tables, gru=GruSettings(**{"width": width, **windows, **gru}))


def count_parameters(model: gpssm.Model, data: Dataset) -> int:
    """Numbers that training moves, from a system that is built on nothing."""
    time = model.warmup + 1
    y = jnp.zeros((1, time, data.dim_y))
    rows = from_batch_first(jnp.zeros((1, time, data.dim_u)), y, jnp.ones(y.shape, bool))
    return sum(leaf.size for leaf in jax.tree.leaves(build(jax.random.key(0), model, rows)))


def gru_cost(settings: Table1Settings) -> float:
    """About how much training of the GRU computes, in the unit of `grid.training_cost`."""
    if (gru := settings.gru) is None:
        return 0.0
    return settings.seeds * gru.steps * gru.batch_size * gru.sequence_length * gru.width
