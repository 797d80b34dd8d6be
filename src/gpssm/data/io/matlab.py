"""MAT files before v7.3: variables, fields of structures, and arrays of structures."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from .hdf5 import is_hdf5, read_hdf5
from .matlab_elements import declared_sizes
from .opening import oversize
from .tables import Table
from .variables import Variable, variables_table, warn_skipped

_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_NUMBERS = {"double", "single", "logical", *_INTEGERS}
_OPAQUE = (
    "a MATLAB object (a table, timetable, string or the like); export it with writetimetable "
    "or writetable, or save its columns as arrays"
)
_KINDS = {"char": "a text", "sparse": "a sparse matrix", "function": "a function"}


def read_mat(path: Path) -> Table:
    """A file of any version; v7.3 is HDF5."""
    return read_hdf5(path) if is_hdf5(path) else _read_v5(path)


def _read_v5(path: Path) -> Table:
    variables: list[Variable] = []
    refused: dict[str, str] = {}
    sizes = declared_sizes(path)  # before SciPy, which believes a damaged file
    for (name, shape, kind), size in zip(scipy.io.whosmat(path), sizes, strict=False):
        load = partial(_load, path, name)
        if kind in _NUMBERS:
            variables.append(Variable(path, name, shape, load))
        elif kind in ("struct", "cell"):
            if fault := oversize(path, f"a structure {name!r}", size):
                refused[name] = str(fault.given)
                continue
            collect(path, name, load(), variables, refused)
        else:
            refused[name] = _KINDS.get(kind, _OPAQUE)
    return variables_table(path, variables, refused)


def _load(path: Path, name: str) -> Any:
    return scipy.io.loadmat(path, variable_names=[name], simplify_cells=True)[name]


def collect(
    path: Path, name: str, value: Any, variables: list[Variable], refused: dict[str, str]
) -> None:
    """A field of a structure is `structure.field`, a structure of an array is `structures[0]`."""
    if isinstance(value, dict):
        for key, entry in value.items():
            collect(path, f"{name}.{key}", entry, variables, refused)
        return
    array = _as_array(value)
    if array.dtype.kind in "biuf":
        variables.append(Variable.of(path, name, array))
    elif array.dtype.kind == "O" and array.size:
        _collect_elements(path, name, list(array.flat), variables, refused)
    else:
        refused[name] = "a text" if array.dtype.kind in "US" else _OPAQUE


def _as_array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:  # arrays of different lengths
        array = np.empty(len(value), dtype=object)
        array[:] = value
        return array


def _collect_elements(
    path: Path,
    name: str,
    elements: Sequence[Any],
    variables: list[Variable],
    refused: dict[str, str],
) -> None:
    """An array of structures; a field that is one number in each of them is a column as well."""
    before, numbers = set(refused), _numbers_of(elements)
    for i, element in enumerate(elements):
        rest = element
        if isinstance(element, dict):  # its numbers stand in the columns below
            rest = {key: each for key, each in element.items() if key not in numbers}
        collect(path, f"{name}[{i}]", rest, variables, refused)
    variables += [Variable.of(path, f"{name}.{key}", each) for key, each in numbers.items()]
    warn_skipped(path, name, [key for key in refused if key not in before])


def _numbers_of(elements: Sequence[Any]) -> dict[str, np.ndarray]:
    """The fields that are one number in each structure of an array of them."""
    structures = [each for each in elements if isinstance(each, dict)]
    if len(structures) < len(elements) or len(elements) < 2:
        return {}
    found = {key: [np.asarray(s.get(key)) for s in structures] for key in structures[0]}
    return {
        key: np.array(cells)
        for key, cells in found.items()
        if all(cell.ndim == 0 and cell.dtype.kind in "biuf" for cell in cells)
    }
