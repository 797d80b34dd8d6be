"""`gpssm.read`: one's own files, in one line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from .dataset import Dataset
from .files import read_table
from .tables import Name, Request


def read(
    paths: Path | str | Sequence[Path | str],
    *,
    outputs: Name | Sequence[Name],
    inputs: Name | Sequence[Name] = (),
    time: Name | None = None,
    experiment: Name | None = None,
    sampling_time: float | None = None,
    units: Mapping[str, str] = MappingProxyType({}),
    name: str | None = None,
) -> Dataset:
    """From CSV, TSV, text, Parquet, MAT (v5, v7.3) or NPZ files; each is an experiment.

    Columns are chosen by name (or position). `time` names a column of seconds or dates, from
    which the sampling time comes; `experiment` a column that tells experiments apart. An empty
    cell of an output is a missing value. In MAT and NPZ files time runs along the longest side
    of a matrix, and the channels of a matrix `y` are `y[0]`, `y[1]`, …
    """
    several = [paths] if isinstance(paths, str | Path) else list(paths)
    tables = [read_table(path) for path in several]
    request = Request.of(outputs, inputs, time, experiment)
    title = name or (tables[0].name if len(tables) == 1 else "data")
    return Dataset.from_tables(tables, request, sampling_time, units, title)
