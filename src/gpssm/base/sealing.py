"""Files of arrays with a checksum.

The header of a safetensors file is JSON, with our entries among its metadata. It is written in one
order, so that equal contents are equal files. The checksum is that of the whole file with zeros in
its own place.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialise

CHECKSUM = "checksum"
_BLANK = "0" * 64
# Inside of another text in the header its quotation marks have backslashes.
_SEAL = re.compile(rb'"checksum": "([0-9a-f]{64})"')
_LENGTH = 8  # bytes at the start of the file, the size of the header


def sealed(arrays: dict[str, np.ndarray], header: Mapping[str, str]) -> bytes:
    """A safetensors file with its checksum."""
    # What is written of an array that is not contiguous is not its content.
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data = serialise(arrays, metadata={**header, CHECKSUM: _BLANK})
    start = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    ordered = json.dumps(json.loads(data[_LENGTH:start]), sort_keys=True).encode()
    ordered += b" " * (-len(ordered) % _LENGTH)  # the arrays are aligned
    whole = len(ordered).to_bytes(_LENGTH, "little") + ordered + data[start:]
    return whole.replace(_entry(_BLANK), _entry(hashlib.sha256(whole).hexdigest()), 1)


def is_sealed(data: bytes) -> bool:
    """Whether the bytes of a file match the checksum in them."""
    found = _SEAL.search(data)
    if found is None:
        return False
    blank = data[: found.start()] + _entry(_BLANK) + data[found.end() :]
    return hashlib.sha256(blank).hexdigest().encode() == found[1]


class DamagedFileError(Exception):
    """Bytes that are no safetensors file, or arrays that NumPy does not have."""


def read_header(path: Path) -> dict[str, str]:
    """Our entries among the metadata."""
    with _opened(path) as file:
        return file.metadata() or {}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays by name."""
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    # Of NumPy: types that it does not have, and more dimensions than it can have.
    except (SafetensorError, OSError, AttributeError, TypeError, ValueError) as error:
        raise DamagedFileError(str(error)) from error


def _entry(checksum: str) -> bytes:
    return f'"{CHECKSUM}": "{checksum}"'.encode()
