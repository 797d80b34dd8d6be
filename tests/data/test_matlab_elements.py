"""MAT files whose elements say what is not true are refused before SciPy believes them."""

import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from gpssm.base.errors import DataError
from gpssm.data.io.files import read_table
from gpssm.data.io.matlab import read_mat
from gpssm.data.io.matlab_elements import declared_sizes

HEADER, TAG = 128, 8
EVERYTHING = {
    "y": np.arange(30.0).reshape(15, 2),
    "u": np.arange(7, dtype=np.int16),
    "text": "level",
    "log": {"a": np.arange(3.0), "b": {"c": [1.0, 2.5]}},
    "cells": np.array([np.arange(3), "x"], dtype=object),
    "many": np.array([(1, 2.0), (3, 4.0)], dtype=[("x", int), ("y", float)]),
    "sparse": scipy.sparse.eye(50).tocsc(),
    "complex": np.array([1 + 2j]),
    "empty": np.zeros((0, 3)),
}


@pytest.mark.parametrize("version", ["4", "5"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_scipy_writes_passes(tmp_path, version, packed):
    kinds = ("y", "u", "text", "complex") if version == "4" else EVERYTHING
    content = {name: EVERYTHING[name] for name in kinds}
    scipy.io.savemat(tmp_path / "log.mat", content, format=version, do_compression=packed)
    assert len(declared_sizes(tmp_path / "log.mat")) == len(content)
    assert {"u", "y[0]", "y[1]"} <= set(read_mat(tmp_path / "log.mat").columns)


def saved(path, packed=False):
    scipy.io.savemat(path, {"y": np.arange(30.0)}, do_compression=packed)
    return bytearray(path.read_bytes())


def damage(content: bytearray, place: int, value: int) -> bytearray:
    content[place : place + 4] = struct.pack("<I", value)
    return content


# of the one array: its tag, flags (16 bytes), dimensions (16), name (8: it is short), values
VALUES = HEADER + TAG + 16 + 16 + 8


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (VALUES, 16393, "type 16393"),  # which ends the process in SciPy
        (VALUES + 4, 2**31, "2147483648 bytes"),
        (HEADER + 4, 2**31, "the file ends"),
        (HEADER, 9, "where an array should begin"),
        (HEADER + TAG + 24, 2**30, "an array of shape"),
        (VALUES, 14, "an array in one with flags 0x6"),
        (HEADER + TAG + 16, 14, "an array in one"),
        (HEADER + TAG, 5, "begins with type 5"),
        (HEADER + TAG + 4, 4, "begins with type 6 and 4 bytes"),
        (HEADER + TAG + 8, 0x0806, "flags 0x806 of 4 elements"),  # complex, which it is not
        (HEADER + TAG + 8, 0x0005, "flags 0x5 of 4 elements"),  # sparse
    ],
)
def test_a_damaged_element_is_refused(tmp_path, place, value, reason):
    path = tmp_path / "log.mat"
    path.write_bytes(damage(saved(path), place, value))
    with pytest.raises(ValueError, match=reason):
        declared_sizes(path)


def test_a_packed_array_is_checked_like_another(tmp_path):
    path = tmp_path / "log.mat"
    content = saved(path, packed=True)
    path.write_bytes(content[:-20])
    with pytest.raises(ValueError, match="the file ends"):
        declared_sizes(path)


@pytest.mark.parametrize(
    ("shape", "name", "reason"),
    [((589_824, 1_048_576), 2, "cut off"), ((1, 1), 2**30, "a name of"), ((-1, 1), 2, "shape")],
)
def test_an_old_file_claims_no_more_than_it_holds(tmp_path, shape, name, reason):
    path = tmp_path / "log.mat"
    path.write_bytes(struct.pack("<5i", 0, *shape, 0, name) + b"y\0" + bytes(8))
    with pytest.raises(ValueError, match=reason):
        declared_sizes(path)


def test_arrays_in_arrays_without_end_are_refused(tmp_path):
    path = tmp_path / "log.mat"
    saved(path)
    header, inner = path.read_bytes()[:HEADER], b""
    cell = struct.pack("<10I", 6, 8, 1, 0, 5, 8, 1, 1, 1, 0)  # flags, dimensions, no name
    for _ in range(60):
        inner = struct.pack("<II", 14, len(cell + inner)) + cell + inner
    path.write_bytes(header + inner)
    with pytest.raises(ValueError, match="deep"):
        declared_sizes(path)


def test_the_message_names_the_file(tmp_path):
    path = tmp_path / "log.mat"
    path.write_bytes(damage(saved(path), VALUES, 16393))
    with pytest.raises(DataError, match=r"log\.mat: got a file that cannot be read"):
        read_table(path)
