"""`gpssm data list`, `fetch` and `check`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpssm.base.errors import DataError, expected
from gpssm.data import Dataset, list_datasets, load_dataset
from gpssm.data.benchmarks.registry import describe_dataset
from gpssm.data.io.files import read_table
from gpssm.workflow.configuration import DataConfig
from gpssm.workflow.sources import as_data_options, read_files

from .console import show, show_json

_SHORT = 100  # rows below which a record is called short


def list_command(as_json: bool) -> None:
    """The table of all names."""
    names = list_datasets()
    if as_json:
        show_json({"datasets": [describe_dataset(name) for name in names]})
    else:
        show(str(names))


def fetch_command(names: Sequence[str], as_json: bool) -> None:
    """Load each one, which finds or downloads and checks its files."""
    found = {name: load_dataset(name) for name in names}
    if as_json:
        show_json({name: summary(data) for name, data in found.items()})
    else:
        for data in found.values():
            show(str(data))


def check_command(arguments: Sequence[str], columns: dict[str, Any], as_json: bool) -> None:
    """Describe the data; a problem raises an error with file, column and row."""
    options = as_data_options(arguments)
    if options.get("name"):
        return fetch_command(list(arguments), as_json)
    if not columns.get("outputs"):
        return _columns_command(arguments, as_json)
    data = read_files(DataConfig(**columns), arguments)
    if as_json:
        return show_json(summary(data) | {"remarks": remarks(data)})
    show(str(data))
    for line in remarks(data) or ["no problems found"]:
        show(f"  remark     {line}")
    return None


def summary(data: Dataset) -> dict[str, Any]:
    """A data set in plain values."""
    return {
        "name": data.name,
        "rows": data.num_rows,
        "experiments": [{"name": e.name, "part": e.part, "rows": len(e)} for e in data],
        "inputs": list(data.input_names),
        "outputs": list(data.output_names),
        "sampling_time": data.sampling_time,
        "missing": float(np.mean(np.concatenate([~each.mask for each in data]))),
    }


def remarks(data: Dataset) -> list[str]:
    """Remarks about the data before a fit."""
    u, y = (np.concatenate([getattr(each, kind) for each in data]) for kind in "uy")
    found = [f"{name} is constant: leave it out" for name in _still(data.input_names, u)]
    found += [f"{name} is constant" for name in _still(data.output_names, y)]
    longest = max(_longest_gap(each.mask[:, d]) for each in data for d in range(data.dim_y))
    if longest:
        found.append(f"the longest gap of an output is {longest} rows")
    if data.num_rows < _SHORT:
        found.append(f"{data.num_rows} rows are few: expect wide prediction intervals")
    if data.sampling_time is None:
        found.append("no time column, so missing rows cannot be found (use --time)")
    if not data.dim_u:
        found.append("no inputs: the model treats the system as autonomous")
    return found


def _still(names: Sequence[str], values: np.ndarray) -> list[str]:
    return [
        name
        for name, column in zip(names, values.T, strict=True)
        if np.nanmax(column) == np.nanmin(column)
    ]


def _longest_gap(known: np.ndarray) -> int:
    """The longest run of False."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], known, [True]]).astype(int)))
    return int(np.max(edges[1::2] - edges[::2], initial=0))


def _columns_command(arguments: Sequence[str], as_json: bool) -> None:
    """List the columns of files, to choose inputs and outputs from."""
    tables = [read_table(path) for path in arguments]
    found = {table.source: {n: len(c) for n, c in table.columns.items()} for table in tables}
    if as_json:
        show_json({"columns": found})
        return
    for source, columns in found.items():
        if not columns:
            raise DataError(expected(source, "no column of numbers", "at least one"))
        names = ", ".join(columns)
        show(f"{source}: {max(columns.values())} rows, columns {names}")
    show("Choose with --inputs and --outputs, then check again.")
