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


# ---------------------------------------------------------------------- exact sizes


def integers(kind):
    return np.arange(6, dtype=kind).reshape(2, 3)


@pytest.mark.parametrize("packed", [False, True])
def test_the_sizes_are_those_of_the_file(tmp_path, packed):
    """In a file that is not packed, each array follows its tag of eight bytes."""
    plain, path = tmp_path / "plain.mat", tmp_path / "log.mat"
    content = EVERYTHING | {
        "zeros": np.zeros(300_000),  # which unpack from few bytes
        "noise": np.random.default_rng(0).normal(size=20_000),  # which fill several pieces
    }
    scipy.io.savemat(plain, content)
    scipy.io.savemat(path, content, do_compression=packed)
    sizes = declared_sizes(path)
    assert HEADER + sum(TAG + size for size in sizes) == plain.stat().st_size
    assert sizes[-2:] == [300_000 * 8 + 56, 20_000 * 8 + 56]


V4_VALUES = {
    "double": np.arange(6.0),
    "single": np.arange(6, dtype=np.float32),
    "int32": integers(np.int32),
    "int16": integers(np.int16),
    "uint16": integers(np.uint16),
    "uint8": integers(np.uint8),
    "complex": np.array([1 + 2j, 3.0]),
}


def test_the_sizes_of_an_old_file_are_those_of_its_values(tmp_path):
    path = tmp_path / "log.mat"
    scipy.io.savemat(path, V4_VALUES, format="4")
    assert declared_sizes(path) == [48, 24, 24, 12, 12, 6, 32]
    names = sum(20 + len(name) + 1 for name in V4_VALUES)
    assert names + sum(declared_sizes(path)) == path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"an array of shape \(2, 1\)|\(1, 2\) that is cut off"):
        declared_sizes(path)


@pytest.mark.parametrize("order", "<>")
def test_old_files_of_both_byte_orders_are_read(tmp_path, order):
    path, kind = tmp_path / "log.mat", 0 if order == "<" else 1000
    values = struct.pack(f"{order}3d", 1.0, 2.0, 3.0)
    path.write_bytes(struct.pack(f"{order}5i", kind, 3, 1, 0, 2) + b"y\0" + values)
    assert declared_sizes(path) == [24]
    assert read_mat(path).columns["y"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("letters", "fits"), [(4096, True), (4097, False)])
def test_a_name_of_an_old_file_has_at_most_4096_letters(tmp_path, letters, fits):
    path = tmp_path / "log.mat"
    path.write_bytes(struct.pack("<5i", 0, 1, 1, 0, letters) + b"y" * letters + bytes(8))
    if fits:
        assert declared_sizes(path) == [8]
    else:
        with pytest.raises(ValueError, match="a name of 4097 letters"):
            declared_sizes(path)


@pytest.mark.parametrize("shape", [(-1, 1), (1, -1)])
def test_an_old_array_has_no_negative_side(tmp_path, shape):
    path = tmp_path / "log.mat"
    path.write_bytes(struct.pack("<5i", 0, *shape, 0, 2) + b"y\0" + bytes(8))
    with pytest.raises(ValueError, match=r"an array of shape \(-?1, -?1\) with a name of 2"):
        declared_sizes(path)


# ---------------------------------------------------------------------- elements, one by one


def element(kind, content, order="<"):
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def array(*parts, order="<"):
    """A file of one array."""
    head = b" " * 124 + struct.pack(f"{order}H", 0x0100) + (b"IM" if order == "<" else b"MI")
    return head + element(14, b"".join(parts), order)


def column(values, order="<", kind_of_array=6):
    return [
        element(6, struct.pack(f"{order}II", kind_of_array, 0), order),
        element(5, struct.pack(f"{order}2i", len(values), 1), order),
        element(1, b"y", order),
        element(9, struct.pack(f"{order}{len(values)}d", *values), order),
    ]


@pytest.mark.parametrize("order", "<>")
def test_files_of_both_byte_orders_are_read(tmp_path, order):
    path = tmp_path / "log.mat"
    path.write_bytes(array(*column([1.0, 2.0, 3.0], order), order=order))
    assert declared_sizes(path) == [16 + 16 + 16 + 32]
    assert read_mat(path).columns["y"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("values", "fits"), [(80, True), (81, False)])
def test_an_array_has_at_least_a_byte_for_each_value(tmp_path, values, fits):
    """Of the 80 bytes of the array; a sparse one may have fewer."""
    parts = column([1.0, 2.0, 3.0])
    parts[1] = element(5, struct.pack("<2i", values, 1))
    path = tmp_path / "log.mat"
    path.write_bytes(array(*parts))
    if fits:
        assert declared_sizes(path) == [80]
    else:
        with pytest.raises(ValueError, match=r"an array of shape \(81, 1\) in 80 bytes"):
            declared_sizes(path)
    parts[0] = element(6, struct.pack("<II", 0x0405, 0))  # 5 is sparse, beside a flag
    places = [element(5, struct.pack("<2i", 0, 1))] * 2
    path.write_bytes(array(*parts[:3], *places, parts[3]))
    assert declared_sizes(path) == [80 + 2 * 16]


def test_no_side_of_an_array_is_negative(tmp_path):
    parts = column([1.0, 2.0, 3.0])
    parts[1] = element(5, struct.pack("<2i", -1, 0))
    (tmp_path / "log.mat").write_bytes(array(*parts))
    with pytest.raises(ValueError, match=r"an array of shape \(-1, 0\) in 80 bytes"):
        declared_sizes(tmp_path / "log.mat")


@pytest.mark.parametrize("small", [1, 4, 5])
def test_a_small_element_has_at_most_four_bytes_in_its_tag(tmp_path, small):
    parts = column([1.0])
    parts[2] = struct.pack("<HH4s", 1, small, b"yyyy")
    (tmp_path / "log.mat").write_bytes(array(*parts))
    if small < 5:
        assert declared_sizes(tmp_path / "log.mat") == [16 + 16 + 8 + 16]
        assert list(read_mat(tmp_path / "log.mat").columns) == ["y" * small]
    else:
        with pytest.raises(ValueError, match="an element of type 1 and 5 bytes"):
            declared_sizes(tmp_path / "log.mat")


def test_an_element_ends_where_its_array_does(tmp_path):
    parts = column([1.0, 2.0, 3.0])
    path, content = tmp_path / "log.mat", array(*parts)
    claimed = HEADER + TAG + 16 + 16 + 16 + 4  # the size of the values, 24 bytes
    path.write_bytes(damage(bytearray(content), claimed, 25))
    with pytest.raises(ValueError, match="an element of type 9 and 25 bytes"):
        declared_sizes(path)
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="the file ends in an element"):
        declared_sizes(path)


def test_the_last_element_may_lack_what_fills_it_up(tmp_path):
    parts = column([1.0])
    parts[3] = element(2, bytes(3))  # and five bytes more
    path, content = tmp_path / "log.mat", array(*parts)
    for missing in (1, 5):
        path.write_bytes(content[:-missing])
        assert declared_sizes(path) == [16 + 16 + 16 + 16]
    path.write_bytes(content[:-6])
    with pytest.raises(ValueError, match="the file ends in an element"):
        declared_sizes(path)


@pytest.mark.parametrize("kind", range(20))
def test_the_types_of_elements_are_those_of_the_format(tmp_path, kind):
    """Numbers 1 to 7, 9, 12 and 13, and texts 16 to 18; no arrays (14) in one of numbers."""
    parts = column([1.0])
    parts[3] = element(kind, b"")
    (tmp_path / "log.mat").write_bytes(array(*parts))
    if kind in (1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18):
        assert declared_sizes(tmp_path / "log.mat") == [16 + 16 + 16 + 8]
    else:
        said = "an array in one" if kind == 14 else f"an element of type {kind} and 0 bytes"
        with pytest.raises(ValueError, match=said):
            declared_sizes(tmp_path / "log.mat")


@pytest.mark.parametrize(("arrays", "fits"), [(51, True), (52, False)])
def test_arrays_stand_in_each_other_at_most_fifty_deep(tmp_path, arrays, fits):
    inner, cell = b"", column([1.0], kind_of_array=1)[:3]
    for _ in range(arrays - 1):
        inner = b"".join([*cell, element(14, inner)])
    (tmp_path / "log.mat").write_bytes(array(inner))
    if fits:
        assert declared_sizes(tmp_path / "log.mat") == [(3 * 16 + 8) * 50]
    else:
        with pytest.raises(ValueError, match="more than 50 deep"):
            declared_sizes(tmp_path / "log.mat")


def test_nested_arrays_are_checked_in_their_own_byte_order(tmp_path):
    inner = element(14, b"".join(column([1.0], ">")), ">")
    wrong = column([1.0], ">")
    wrong[1] = element(5, struct.pack(">2i", 99, 1), ">")
    parts = column([1.0], ">", kind_of_array=1)[:3]
    (tmp_path / "log.mat").write_bytes(array(*parts, inner, order=">"))
    assert len(declared_sizes(tmp_path / "log.mat")) == 1
    inner = element(14, b"".join(wrong), ">")
    (tmp_path / "log.mat").write_bytes(array(*parts, inner, order=">"))
    with pytest.raises(ValueError, match=r"an array of shape \(99, 1\) in 64 bytes"):
        declared_sizes(tmp_path / "log.mat")


# ---------------------------------------------------------------------- what SciPy is left to judge


@pytest.mark.parametrize(
    ("part", "fits"),
    [
        (element(5, struct.pack("<2i", 3, 1) + b"??"), True),  # half a side more
        (element(5, b""), True),
        (element(6, struct.pack("<2I", 1000, 1)), False),
        (struct.pack("<HHi", 5, 4, 1000), False),  # one side, in the tag
        (struct.pack("<HHi", 5, 3, 1000), True),  # three quarters of one
    ],
)
def test_sides_are_whole_numbers_after_the_flags(tmp_path, part, fits):
    parts = column([1.0, 2.0, 3.0])
    parts[1] = part
    (tmp_path / "log.mat").write_bytes(array(*parts))
    if fits:
        assert declared_sizes(tmp_path / "log.mat") == [sum(map(len, parts))]
    else:
        with pytest.raises(ValueError, match=r"an array of shape \(1000,( 1)?\) in"):
            declared_sizes(tmp_path / "log.mat")


@pytest.mark.parametrize(
    ("order", "kind", "size"),
    [("<", 50, 1), (">", 1050, 1), ("<", 60, 8), (">", 1060, 8), ("<", 10, 4), ("<", 5000, 8)],
)
def test_values_of_an_old_file_have_the_size_of_their_type(tmp_path, order, kind, size):
    """The tens of its type; eight bytes where it is not known."""
    path = tmp_path / "log.mat"
    path.write_bytes(struct.pack(f"{order}5i", kind, 3, 2, 0, 2) + b"y\0" + bytes(6 * size))
    assert declared_sizes(path) == [6 * size]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="cut off"):
        declared_sizes(path)


def test_packed_arrays_are_found_whatever_the_pieces_they_are_read_in(tmp_path, monkeypatch):
    """In pieces of four bytes, the checksum at the end of each array is not read."""
    plain, path = tmp_path / "plain.mat", tmp_path / "log.mat"
    scipy.io.savemat(plain, EVERYTHING)
    scipy.io.savemat(path, EVERYTHING, do_compression=True)
    monkeypatch.setattr("gpssm.data.io.matlab_elements._CHUNK", 4)
    assert declared_sizes(path) == declared_sizes(plain)


def test_a_packed_array_ends_where_its_tag_says(tmp_path):
    path = tmp_path / "log.mat"
    content = saved(path, packed=True)
    size = struct.unpack_from("<I", content, HEADER + 4)[0]
    path.write_bytes(damage(content, HEADER + 4, size - 20))
    with pytest.raises(ValueError, match="the file ends in an element"):
        declared_sizes(path)


def test_old_arrays_may_be_empty_and_have_types_up_to_5000(tmp_path):
    path = tmp_path / "log.mat"
    path.write_bytes(struct.pack("<5i", 0, 0, 3, 0, 2) + b"y\0")
    assert declared_sizes(path) == [0]
    path.write_bytes(struct.pack("<5i", 5001, 1, 1, 0, 2) + b"y\0" + bytes(8))
    with pytest.raises(ValueError, match="an array of shape"):
        declared_sizes(path)
