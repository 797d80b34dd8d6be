"""MAT files of v7.3, which are HDF5; whatever they would fetch from other files is refused."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.base.extras import load_extra

from .tables import Table
from .variables import Variable, variables_table, warn_skipped

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ELSEWHERE = "values that are stored in another file, which is not read"
_MANY = 10_000  # elements of an array of structures


def is_hdf5(path: Path) -> bool:
    """Whether the signature of HDF5 stands at the start, or where MATLAB's own header ends."""
    with path.open("rb") as file:
        head = file.read(520)
    return _SIGNATURE in (head[:8], head[512:])


def read_hdf5(path: Path) -> Table:
    """Arrays of numbers by name; a field of a group is `group.field`."""
    h5py = load_extra("h5py", "files", f"{path}: a MAT file of v7.3")
    variables: list[Variable] = []
    refused: dict[str, str] = {}

    def look(key: str, link: Any) -> None:
        name = key.replace("/", ".")
        if isinstance(link, h5py.ExternalLink):
            refused[name] = f"a link to another file ({link.filename}), which is not followed"
        elif isinstance(link, h5py.SoftLink):
            refused[name] = f"a link to {link.path}, which is not followed"

    with h5py.File(path, "r") as file:
        file.visititems_links(look)
        file.visititems(partial(_collect, path, h5py, variables, refused))
    return variables_table(path, variables, refused)


def _collect(
    path: Path, h5py: Any, variables: list[Variable], refused: dict[str, str], key: str, node: Any
) -> None:
    """One object of the file; MATLAB keeps its own bookkeeping under names with a #."""
    if key.startswith("#") or not isinstance(node, h5py.Dataset):
        return
    name = key.replace("/", ".")
    kind = node.attrs.get("MATLAB_class", b"")
    dtype = node.dtype  # HDF5 makes it at each call
    if h5py.check_ref_dtype(dtype) is h5py.Reference:
        _collect_references(path, h5py, variables, refused, name, node)
    elif reason := _reason(node, kind, dtype):
        refused[name] = reason
    else:
        load = partial(_load, path, node.name)  # it may be found by a reference
        variables.append(Variable(path, name, node.shape, load, dtype.itemsize))


def _reason(node: Any, kind: bytes, dtype: np.dtype) -> str:
    """Why a variable is no column; empty if it is one."""
    if node.external or node.is_virtual:
        return _ELSEWHERE
    if kind == b"char":
        return "a text"
    if node.attrs.get("MATLAB_empty", 0) or node.shape is None:
        return "an empty array"
    if dtype.kind not in "biuf":
        return f"an array of type {dtype}"
    return ""


def _collect_references(
    path: Path, h5py: Any, variables: list[Variable], refused: dict[str, str], name: str, node: Any
) -> None:
    """A field of an array of structures, or a cell array: one reference per element."""
    if node.external or node.is_virtual or node.size > _MANY:
        refused[name] = _ELSEWHERE if node.size <= _MANY else f"an array of {node.size} arrays"
        return
    parent, dot, field = name.rpartition(".")
    elements = [node.file[each] if each else None for each in np.ravel(node[()])]
    held = [each for each in elements if each is not None]
    plain = all(isinstance(e, h5py.Dataset) and e.dtype.kind in "biuf" for e in held)
    if held and plain and all(e.size == 1 for e in held):
        values = np.array([_only_value(each) for each in elements])
        variables.append(Variable.of(path, name, values))
    before = set(refused)
    for i, element in enumerate(elements):
        place = f"{parent}[{i}].{field}" if dot else f"{name}[{i}]"
        if element is None:
            refused[place] = "a null reference"
        else:
            _collect(path, h5py, variables, refused, place, element)
    warn_skipped(path, name, [each for each in refused if each not in before])


def _only_value(element: Any) -> Any:
    """The number of an element; NaN where it is none, so that the others keep their places."""
    if element is None or _reason(element, b"", element.dtype):
        return np.nan
    return np.ravel(element[()])[0]


def _load(path: Path, key: str) -> np.ndarray:
    h5py = load_extra("h5py", "files", f"{path}: a MAT file of v7.3")
    with h5py.File(path, "r") as file:
        return file[key][()]
