"""`gpssm data list`, `fetch` and `check`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpssm.base.errors import DataError, expected
from gpssm.data import Dataset, list_datasets, load_dataset
from gpssm.data.benchmarks.registry import describe_dataset
from gpssm.data.io.files import read_table
from gpssm.data.preflight import preflight
from gpssm.workflow.configuration import DataConfig
from gpssm.workflow.sources import as_data_options, load_data, read_files

from .console import show, show_json


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
    if not (options.get("name") or columns.get("outputs")):
        return _columns_command(arguments, as_json)
    data = _with_parts(DataConfig(**{**columns, **options}))
    remarks = [each.text for each in preflight(data)]
    if as_json:
        return show_json(summary(data) | {"remarks": remarks})
    show(str(data))
    for line in remarks or ["no problems found"]:
        show(f"  remark     {line}")
    return None


def _with_parts(config: DataConfig) -> Dataset:
    """The data with the parts that a fit would have; in one where they are too short for two."""
    try:
        return load_data(config)
    except DataError:
        if config.name:
            raise
        return read_files(config, config.files)


def summary(data: Dataset) -> dict[str, Any]:
    """A data set in plain values."""
    return {
        "name": data.name,
        "rows": data.num_rows,
        "experiments": [{"name": e.name, "part": e.part, "rows": len(e)} for e in data],
        "inputs": list(data.input_names),
        "outputs": list(data.output_names),
        "sampling_time": data.sampling_time,
        "notes": list(data.notes),
        "missing": float(np.mean(np.concatenate([~each.mask for each in data]))),
    }


def _columns_command(arguments: Sequence[str], as_json: bool) -> None:
    """List the columns of files, to choose inputs and outputs from."""
    tables = [read_table(path) for path in arguments]
    found = {table.source: {n: table.length(n) for n in table.columns} for table in tables}
    skipped = {table.source: dict(table.refused) for table in tables}
    if as_json:
        show_json({"columns": found, "skipped": skipped})
        return
    for source, columns in found.items():
        if not columns:
            raise DataError(expected(source, "no column of numbers", "at least one"))
        show(f"{source}: {max(columns.values())} rows, columns")
        show("\n".join(_lines(columns)))
        for name, reason in skipped[source].items():
            show(f"  skipped {name}: {reason}")
    show("Choose with --inputs and --outputs, then check again.")


def _lines(columns: Mapping[str, int]) -> Iterator[str]:
    """Each name, with its number of rows where variables of a file have different ones."""
    differ = len(set(columns.values())) > 1
    for name, rows in columns.items():
        shown = name if name.isprintable() else repr(name)
        yield f"  {shown}: {rows} rows" if differ else f"  {shown}"
