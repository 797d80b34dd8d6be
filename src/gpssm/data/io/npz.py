"""NPZ files: arrays by name, known by their headers."""

import io
import math
import struct
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from .tables import Table
from .variables import Variable, variables_table

_MAGIC, _LONGEST = 8, 100_000  # bytes of a header


def read_npz(path: Path) -> Table:
    """Read arrays only: arrays of Python objects would need pickle, which is refused."""
    variables, refused = [], {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                shape, dtype = _header(file)
                claimed = dtype.itemsize * math.prod(shape)
                if dtype.kind not in "biufmM":
                    refused[name] = f"an array of type {dtype} and shape {shape}"
                elif claimed > member.file_size - file.tell():
                    refused[name] = f"an array that is cut off, of shape {shape}"
                else:
                    load = _Member(path, member)
                    variables.append(Variable(path, name, shape, load, dtype.itemsize))
    return variables_table(path, variables, refused)


class _Member:
    """Reads one array of the archive."""

    def __init__(self, path: Path, member: zipfile.ZipInfo) -> None:
        self._path, self._member = path, member

    def __call__(self) -> np.ndarray:
        with zipfile.ZipFile(self._path) as archive, archive.open(self._member) as file:
            return npy.read_array(file, allow_pickle=False)


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of an array, without its values."""
    magic = file.read(_MAGIC)
    size = "<H" if magic[6:7] == b"\1" else "<I"
    length = file.read(struct.calcsize(size))
    content = file.read(min(struct.unpack(size, length)[0], _LONGEST))
    return _parsed(magic + length + content)


@lru_cache(maxsize=64)  # many arrays of a file have the same header
def _parsed(header: bytes) -> tuple[tuple[int, ...], np.dtype]:
    file = io.BytesIO(header)
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if any(length < 0 for length in shape):
        raise ValueError(f"an array has the shape {shape}")
    return shape, dtype
