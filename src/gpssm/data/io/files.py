"""CSV, TSV, text, Parquet, MAT (v5 and v7.3) and NPZ files as tables of named columns.

Whatever another library raises on a broken file becomes one sentence about that file.
"""

import csv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.io

from gpssm.base.errors import DataError, GpssmError, expected
from gpssm.base.extras import load_extra

from .tables import MISSING, Table

_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_table(path: str | Path) -> Table:
    """Read a file by its suffix, without checks of its values."""
    path = Path(path)
    reader = READERS.get(path.suffix.casefold())
    if reader is None:
        wanted = f"one of {sorted(READERS)}"
        raise DataError(expected(str(path), f"suffix {path.suffix!r}", wanted, "Convert the file."))
    with explained(path):
        return reader(path)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn any error of reading into one sentence about the file."""
    if not path.is_file():
        remedy = f"Check the path; it was looked for in {path.absolute().parent}."
        raise DataError(expected(str(path), "no such file", "a file", remedy))
    try:
        yield
    except GpssmError:
        raise
    except Exception as error:  # the parsers of broken files raise nearly anything
        remedy = "It may be truncated or of another format: export or copy it again."
        if isinstance(error, UnicodeDecodeError):
            remedy += " A text must have the encoding UTF-8."
        given = f"a file that cannot be read ({type(error).__name__}: {error})"
        wanted = f"a valid {path.suffix} file"
        raise DataError(expected(str(path), given, wanted, remedy)) from error


def read_columns(frame: pd.DataFrame, source: str, name: str) -> Table:
    """The columns of a pandas frame, with None for what pandas calls missing."""
    names = [str(column) for column in frame.columns]
    if twice := sorted({each for each in names if names.count(each) > 1}):
        raise DataError(expected(source, f"two columns {twice[0]!r}", "different names"))
    columns = {
        each: _series(frame[column]) for each, column in zip(names, frame.columns, strict=True)
    }
    return Table(source, columns, name=name)


def read_arrays(arrays: dict[str, Any], source: str, name: str) -> Table:
    """Variables of a MAT or NPZ file. Time runs along the longest side of a matrix.

    A variable `y` of several channels is found as `y`, and its channels as `y[0]`, `y[1]`, …
    """
    columns: dict[str, np.ndarray] = {}
    groups: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for key, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.kind not in "biufmM" or array.ndim not in (1, 2) or array.size == 0:
            refused[key] = f"an array of type {array.dtype} and shape {array.shape}"
            continue
        array = array.reshape(len(array), -1)
        array = array.T if array.shape[1] > array.shape[0] else array
        parts = [key] if array.shape[1] == 1 else [f"{key}[{i}]" for i in range(array.shape[1])]
        columns |= dict(zip(parts, array.T, strict=True))
        if len(parts) > 1:
            groups[key] = tuple(parts)
    return Table(source, columns, groups=groups, refused=refused, name=name)


def _series(series: pd.Series) -> np.ndarray:
    if series.dtype.kind in "biufmM" and isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    return series.astype(object).where(series.notna(), None).to_numpy()


def _comma(path: Path) -> Table:
    """Delimiter of the file: comma or semicolon."""
    with path.open(newline="", encoding="utf-8-sig") as lines:
        first = lines.readline()
    return _separated(path, ";" if first.count(";") > first.count(",") else ",")


def _separated(path: Path, separator: str) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
        return _cells(path, [(reader.line_num, cells) for cells in reader])


def _blank_separated(path: Path) -> Table:
    with path.open(encoding="utf-8-sig") as lines:
        return _cells(path, [(number, line.split()) for number, line in enumerate(lines, 1)])


def _cells(path: Path, numbered: list[tuple[int, list[str]]]) -> Table:
    """Columns from rows of cells. A first row of numbers alone is data: columns 0, 1, …"""
    header = [cell.strip() for cell in numbered[0][1]] if numbered else []
    if not any(header):
        raise DataError(expected(str(path), "an empty first row", "the names of the columns"))
    has_names = not all(_is_number(cell) for cell in header if cell)
    names = header if has_names else [str(i) if cell else "" for i, cell in enumerate(header)]
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        given = f"column {twice[0]!r} twice in row 1"
        raise DataError(expected(str(path), given, "different names", "Rename one."))
    body = _full_rows(path, numbered[has_names:], len(names))
    rows = np.array([number for number, _ in body], dtype=np.int64)
    series = zip(*(cells for _, cells in body), strict=True) if body else [()] * len(names)
    # a column without a name (a separator at the end of each row) is left out
    pairs = zip(names, series, strict=True)
    columns = {name: np.array(cells, dtype=object) for name, cells in pairs if name}
    return Table(str(path), columns, rows=rows, name=path.stem)


def _full_rows(
    path: Path, numbered: list[tuple[int, list[str]]], width: int
) -> list[tuple[int, list[str]]]:
    """Rows as wide as the first; blank lines do not count, except as gaps of a lone column."""
    last = max((i for i, (_, cells) in enumerate(numbered, 1) if any(cells)), default=0)
    rows = []
    for number, cells in numbered[:last]:
        if not cells and width > 1:
            continue
        cells = cells or [""]
        if len(cells) != width:
            given = f"{len(cells)} cells"
            remedy = "The row is cut off or has a stray separator: correct it."
            raise DataError(expected(f"{path}, row {number}", given, f"{width}", remedy))
        rows.append((number, cells))
    return rows


def _is_number(cell: str) -> bool:
    if cell.casefold() in MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parquet(path: Path) -> Table:
    load_extra("pyarrow", "files", f"{path}: a Parquet file")
    return read_columns(pd.read_parquet(path), str(path), path.stem)


def _npz(path: Path) -> Table:
    """Read arrays only: arrays of Python objects would need pickle, which is refused."""
    if not zipfile.is_zipfile(path):
        raise zipfile.BadZipFile("it is no archive of arrays")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {key: _unless_pickled(archive, key) for key in archive.files}
    return read_arrays(arrays, str(path), path.stem)


def _unless_pickled(archive: Any, key: str) -> np.ndarray:
    try:
        return np.asarray(archive[key])
    except ValueError as error:
        if "pickle" not in str(error):
            raise
        return np.empty(0, dtype=object)


def _mat(path: Path) -> Table:
    arrays: dict[str, Any] = {}
    if _is_hdf5(path):  # v7.3
        with load_extra("h5py", "files", f"{path}: a MAT file of v7.3").File(path, "r") as file:
            file.visititems(lambda key, node: _collect_hdf5(arrays, key, node))
    else:
        found = scipy.io.loadmat(path, simplify_cells=True)
        _collect_structs(arrays, "", {k: v for k, v in found.items() if not k.startswith("__")})
    return read_arrays(arrays, str(path), path.stem)


def _is_hdf5(path: Path) -> bool:
    """Whether the signature of HDF5 stands at the start, or where MATLAB's own header ends."""
    with path.open("rb") as file:
        head = file.read(520)
    return _HDF5 in (head[:8], head[512:])


def _collect_hdf5(arrays: dict[str, Any], key: str, node: Any) -> None:
    """Numbers of a v7.3 file; MATLAB keeps its own bookkeeping under names with a #."""
    if hasattr(node, "shape") and not key.startswith("#"):
        arrays[key.replace("/", ".")] = node[()] if node.dtype.kind in "biuf" else np.empty(0, "O")


def _collect_structs(arrays: dict[str, Any], prefix: str, values: dict[str, Any]) -> None:
    """Variables of a v5 file; a field of a structure is found as structure.field."""
    for key, value in values.items():
        if isinstance(value, dict):
            _collect_structs(arrays, f"{prefix}{key}.", value)
        else:
            arrays[prefix + key] = value


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": _comma,
    ".tsv": partial(_separated, separator="\t"),
    ".txt": _blank_separated,
    ".dat": _blank_separated,
    ".parquet": _parquet,
    ".mat": _mat,
    ".npz": _npz,
}
