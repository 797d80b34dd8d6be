"""pandas frames and xarray data sets as tables of named columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from gpssm.base.errors import DataError, expected

from .files import read_columns
from .tables import Request, Table

Frames = pd.DataFrame | Sequence[pd.DataFrame] | Mapping[str, pd.DataFrame]


def frame_tables(frames: Frames, name: str) -> list[Table]:
    """One table per frame; a mapping gives the names of the experiments."""
    if isinstance(frames, pd.DataFrame):
        return [read_columns(frames, "the frame", name)]
    if not isinstance(frames, Mapping):
        frames = {f"{name}-{i}": frame for i, frame in enumerate(frames)}
    return [read_columns(each, f"frame {key!r}", str(key)) for key, each in frames.items()]


def xarray_tables(data: Any, request: Request, name: str) -> tuple[list[Table], Request]:
    """One table per entry of the dimension `experiment`, or one for all.

    Where experiments of different lengths share one time axis, they are padded with NaN at the
    end; rows at the end in which nothing is known are left out.
    """
    time = _time_dimension(data, request)
    if request.experiment not in data.dims:
        return [_table(data, time, name)], request
    labels = data[request.experiment].values
    tables = [
        _without_padding(_table(data.isel({request.experiment: i}), time, str(label)), request)
        for i, label in enumerate(labels)
    ]
    return tables, replace(request, experiment=None)


def _time_dimension(data: Any, request: Request) -> str:
    """The dimension of the time coordinate, else the first one of the first output."""
    first = request.outputs[0] if request.time is None else request.time
    if first not in data.variables:
        wanted = f"one of {list(data.variables)}"
        raise DataError(expected("the xarray data set", f"variable {first!r}", wanted))
    dimensions = [d for d in data[first].dims if d != request.experiment]
    if not dimensions:
        raise DataError(expected(f"variable {first!r}", "no dimension", "one that is the time"))
    return str(dimensions[0])


def _table(data: Any, time: str, name: str) -> Table:
    """All variables and coordinates along time; those of two dimensions as several columns."""
    columns: dict[str, np.ndarray] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for key, variable in data.variables.items():
        if time not in variable.dims or variable.ndim > 2:
            continue
        values = variable.transpose(time, ...).values
        if values.ndim == 1:
            columns[str(key)] = values
            continue
        groups[str(key)] = tuple(f"{key}[{i}]" for i in range(values.shape[1]))
        columns |= dict(zip(groups[str(key)], values.T, strict=True))
    return Table(f"xarray data set {name!r}", columns, groups=groups, name=name)


def _without_padding(table: Table, request: Request) -> Table:
    """Cut off the rows at the end in which no requested input or output is known."""
    wanted = [str(n) for n in (*request.inputs, *request.outputs)]
    names = [c for n in wanted for c in table.groups.get(n, (n,)) if c in table.columns]
    known = np.any([pd.notna(table.columns[name]) for name in names], axis=0)
    length = np.flatnonzero(known)[-1] + 1 if known.any() else 0
    return replace(table, columns={key: v[:length] for key, v in table.columns.items()})
