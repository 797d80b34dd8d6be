"""`gpssm.read`: one's own files, in one line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from .conversion import converted
from .dataset import Dataset
from .files import read_table
from .sources import cache_folder
from .tables import Channels, Name, Request, named


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
    on_disk: bool | Path | str = False,
) -> Dataset:
    """From CSV, TSV, text, Parquet, MAT (v5, v7.3) or NPZ files; each is an experiment.

    Columns are chosen by name (or position). `time` names a column of seconds or dates, from
    which the sampling time comes; `experiment` a column that tells experiments apart. An empty
    cell of an output is a missing value. In MAT and NPZ files time runs along the longest side
    of a matrix, and the channels of a matrix `y` are `y[0]`, `y[1]`, …

    With `on_disk` a Parquet file may be larger than the memory. It is converted, once, to arrays
    in the user's cache, or below the folder that is given, and they stay there.
    """
    several = [paths] if isinstance(paths, str | Path) else list(paths)
    request = Request.of(outputs, inputs, time, experiment)
    title = name or (Path(several[0]).stem if len(several) == 1 else "data")
    if not on_disk:
        tables = [read_table(path) for path in several]
        return Dataset.from_tables(tables, request, sampling_time, units, title)
    folder = cache_folder() / "arrays" if on_disk is True else Path(on_disk)
    files = [converted(path, request, folder) for path in several]
    found = [
        (each.source, piece)
        for each in files
        for piece in named(each.pieces(), each.name, len(files), request)
    ]
    channels = files[0].channels if files else Channels((), ())
    return Dataset.from_pieces(found, channels, sampling_time, units, title)
