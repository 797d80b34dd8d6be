"""`gpssm.read`: your own files as a data set."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from gpssm.data.benchmarks.sources import cache_folder
from gpssm.data.dataset import Dataset

from .conversion import converted
from .files import read_table
from .pieces import check_table
from .tables import Name, Request
from .timing import Timing


def read(
    paths: Path | str | Sequence[Path | str],
    *,
    outputs: Name | Sequence[Name],
    inputs: Name | Sequence[Name] = (),
    time: Name | None = None,
    experiment: Name | None = None,
    sampling_time: float | None = None,
    time_unit: str | None = None,
    resample: float | None = None,
    input_lag: int = 0,
    units: Mapping[str, str] = MappingProxyType({}),
    name: str | None = None,
    on_disk: bool | Path | str = False,
) -> Dataset:
    """From text, Excel, Parquet, MAT (v5, v7.3) or NPZ files; each is an experiment.

    Columns are chosen by name (or position). `time` names a column of numbers, dates or times, from
    which the sampling time comes; `experiment` a column that names the experiment. An empty
    cell of an output is a missing value. In MAT and NPZ files time runs along the longest side
    of a matrix, and the channels of a matrix `y` are `y[0]`, `y[1]`, …

    `time_unit`: ns, us, ms, s, min or h; else what the name of the column says (`t_ms`), or s.
    `resample`: a step in seconds, for samples at irregular or faster times; see `Dataset.resample`.
    An input may then have gaps, in which it is held.
    `input_lag`: 1 if the log holds in each row the input that led to it, and so on.

    With `on_disk` a Parquet file may be larger than the memory. It is converted, once, to arrays
    in the user's cache, or below the folder that is given, and they stay there.
    """
    several = [paths] if isinstance(paths, str | Path) else list(paths)
    request = Request.of(outputs, inputs, time, experiment, Timing(time_unit, resample, input_lag))
    if on_disk:
        folder = cache_folder() / "arrays" if on_disk is True else Path(on_disk)
        files = [converted(path, request, folder) for path in several]
    else:
        files = [check_table(read_table(path), request) for path in several]
    title = name or (files[0].name if len(files) == 1 else "data")
    return Dataset.from_checked(files, request, sampling_time, units, title)
