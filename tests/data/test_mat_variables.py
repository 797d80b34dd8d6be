"""What a MAT file holds besides columns of numbers, and how each of them is called."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from gpssm.data import DataWarning
from gpssm.data.io.files import read_table
from gpssm.data.io.hdf5 import is_hdf5
from gpssm.data.io.matlab import collect

OPAQUE = "a MATLAB object"
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def objects(*values):
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


# ---------------------------------------------------------------------- before v7.3


def test_variables_that_are_no_columns_say_what_they_are(tmp_path):
    content = {
        "y": np.arange(4.0),
        "flags": np.array([True, False, True]),
        **{kind: np.arange(3, dtype=kind) for kind in INTEGERS},
        "text": "level",
        "sparse": scipy.sparse.eye(5).tocsc(),
        "log": {"a": np.arange(3.0), "note": "calm", "deep": {"b": np.arange(2.0)}},
        "empty": np.empty((0, 0), dtype=object),
    }
    scipy.io.savemat(tmp_path / "log.mat", content)
    table = read_table(tmp_path / "log.mat")
    assert set(table.columns) == {"y", "flags", "log.a", "log.deep.b", *INTEGERS}
    assert table.columns["log.deep.b"].tolist() == [0.0, 1.0]
    assert table.refused["text"] == "a text"
    assert table.refused["sparse"] == "a sparse matrix"
    assert table.refused["log.note"] == "a text"
    assert OPAQUE in table.refused["empty"]


def collected(name, value):
    """Columns by name, and what was refused."""
    variables, refused = [], {}
    collect(Path("log.mat"), name, value, variables, refused)
    return {each.name: each.load().tolist() for each in variables}, refused


def test_a_number_in_each_structure_of_an_array_is_a_column():
    runs = [{"gain": 1.5, "note": "calm", "y": np.arange(3.0)}, {"gain": 2, "y": np.arange(2.0)}]
    with pytest.warns(DataWarning, match=r"skipped runs\[0\]\.note of the array 'runs'"):
        found, refused = collected("runs", objects(*runs))
    assert found == {"runs[0].y": [0, 1, 2], "runs[1].y": [0, 1], "runs.gain": [1.5, 2.0]}
    assert refused == {"runs[0].note": "a text"}


def test_one_structure_alone_or_beside_an_array_has_no_columns_of_all():
    alone, _ = collected("runs", objects({"y": np.arange(2.0), "gain": 7.0}))
    assert alone == {"runs[0].y": [0, 1], "runs[0].gain": 7.0}
    mixed, _ = collected("cells", objects({"y": 7.0}, np.arange(4.0)))
    assert mixed == {"cells[0].y": 7.0, "cells[1]": [0, 1, 2, 3]}


def test_a_field_that_is_not_a_number_in_each_structure_is_no_column():
    pair = np.arange(2.0)
    found, _ = collected("runs", objects({"a": pair, "b": 1}, {"a": 7.0, "b": 2}))
    assert found == {"runs[0].a": [0, 1], "runs[1].a": 7.0, "runs.b": [1, 2]}
    lacking, _ = collected("runs", objects({"a": 1.0, "b": 1}, {"b": 2}))
    assert lacking == {"runs[0].a": 1.0, "runs.b": [1, 2]}


def test_what_was_refused_before_is_not_told_again(recwarn):
    collect(Path("log.mat"), "runs", objects({"b": 1}, {"b": 2}), [], {"runs[0].note": "a text"})
    assert not list(recwarn)


def test_arrays_of_different_lengths_are_cells():
    found, _ = collected("cells", [np.arange(3.0), np.arange(2.0)])
    assert found == {"cells[0]": [0, 1, 2], "cells[1]": [0, 1]}


# ---------------------------------------------------------------------- v7.3


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "log.mat", "w") as opened:
        yield opened


def table_of(file):
    name = file.filename
    file.close()
    return read_table(name)


def test_the_signature_stands_at_the_start_or_after_512_bytes(tmp_path):
    for block in (0, 512, 1024):
        path = tmp_path / f"{block}.mat"
        with h5py.File(path, "w", userblock_size=block) as made:
            made["y"] = np.arange(4.0)
        assert is_hdf5(path) is (block < 1024)
    path.write_bytes(b"\x89HDF\r\n\x1a")
    assert not is_hdf5(path)


def test_nodes_that_are_no_columns_say_what_they_are(file):
    file["log/y"] = np.arange(4.0)
    file["log/flags"] = np.array([True, False])
    file["text"] = np.arange(4, dtype=np.uint16)
    file["text"].attrs["MATLAB_class"] = np.bytes_("char")
    file["number"] = np.arange(4.0)
    file["number"].attrs["MATLAB_class"] = np.bytes_("double")
    file["empty"] = np.zeros(2, dtype=np.uint64)
    file["empty"].attrs["MATLAB_empty"] = 1
    file["full"] = np.ones(2)
    file["full"].attrs["MATLAB_empty"] = 0
    file["nothing"] = h5py.Empty("f8")
    file["complex"] = np.array([1j, 2.0])
    file["log/soft"] = h5py.SoftLink("/log/y")
    file["#refs#/y"] = np.arange(4.0)
    table = table_of(file)
    assert set(table.columns) == {"log.y", "log.flags", "number", "full"}
    assert table.columns["log.flags"].tolist() == [True, False]
    assert table.refused == {
        "text": "a text",
        "empty": "an empty array",
        "nothing": "an empty array",
        "complex": "an array of type complex128",
        "log.soft": "a link to /log/y, which is not followed",
    }


def test_cells_are_numbered_and_single_numbers_of_all_are_a_column(file):
    nodes = [file.create_dataset(f"#refs#/{i}", data=np.full((1, i + 1), i)) for i in range(3)]
    file["cells"] = np.array([each.ref for each in nodes[1:]], dtype=h5py.ref_dtype)
    numbers = [file.create_dataset(f"#refs#/n{i}", data=[[10.0 * i]]) for i in range(2)]
    file["gains"] = np.array([[each.ref for each in numbers]], dtype=h5py.ref_dtype)
    file["runs/y"] = np.array([each.ref for each in nodes[1:]], dtype=h5py.ref_dtype)
    table = table_of(file)
    assert {"cells[0]", "cells[1]", "gains", "runs[0].y", "runs[1].y"} <= set(table.columns)
    assert table.columns["cells[1]"].tolist() == [2, 2, 2]
    assert table.columns["runs[0].y"].tolist() == [1, 1]
    assert table.columns["gains"].tolist() == [0.0, 10.0]
    assert "cells" not in table.columns


def test_a_text_among_numbers_is_no_number_and_keeps_its_place(file):
    nodes = [file.create_dataset(f"#refs#/{i}", data=[[float(i)]]) for i in range(2)]
    text = file.create_dataset("#refs#/text", data=np.array([["a"]], dtype="S1"))
    file["mixed"] = np.array([nodes[0].ref, text.ref, nodes[1].ref], dtype=h5py.ref_dtype)
    with pytest.warns(DataWarning, match=r"skipped mixed\[1\] of the array 'mixed'"):
        table = table_of(file)
    assert "mixed" not in table.columns
    assert table.refused["mixed[1]"].startswith("an array of type")


def test_more_than_ten_thousand_references_are_not_followed(file):
    file.create_dataset("many", (10_001,), dtype=h5py.ref_dtype)
    file["y"] = np.arange(4.0)
    table = table_of(file)
    assert table.refused == {"many": "an array of 10001 arrays"}


def test_as_many_references_as_are_allowed_are_followed(file, monkeypatch):
    monkeypatch.setattr("gpssm.data.io.hdf5._MANY", 3)
    node = file.create_dataset("#refs#/0", data=np.arange(5.0))
    file["three"] = np.array([node.ref] * 3, dtype=h5py.ref_dtype)
    file["four"] = np.array([node.ref] * 4, dtype=h5py.ref_dtype)
    table = table_of(file)
    assert set(table.columns) == {"three[0]", "three[1]", "three[2]"}
    assert table.refused == {"four": "an array of 4 arrays"}
