"""NPZ files whose arrays have old, new, strange and false headers."""

import io
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from gpssm.base.errors import DataError
from gpssm.data.io.files import read_table

VALUES = np.arange(5.0)


def array_bytes(values, version=None):
    file = io.BytesIO()
    npy.write_array(file, values, version=version, allow_pickle=False)
    return file.getvalue()


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return read_table(path)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(tmp_path, version):
    table = archive(tmp_path / "log.npz", y=array_bytes(VALUES, version))
    assert table.columns["y"].tolist() == VALUES.tolist()
    assert table.name == "log"


def test_the_header_of_an_array_of_structures_is_long(tmp_path):
    many = np.zeros(3, dtype=[(f"field{i:05d}", "f8") for i in range(300)])
    table = archive(tmp_path / "log.npz", y=array_bytes(VALUES), many=array_bytes(many))
    assert table.columns["y"].tolist() == VALUES.tolist()
    assert "an array of type" in table.refused["many"]


def test_arrays_that_are_no_columns_leave_the_others_alone(tmp_path):
    content = array_bytes(VALUES)
    table = archive(
        tmp_path / "log.npz",
        y=content,
        short=content[:-1],
        text=array_bytes(np.array(["a", "b"])),
        empty=array_bytes(np.zeros(0)),
        number=array_bytes(np.array(3.0)),
        flags=array_bytes(np.array([True, False])),
        dates=array_bytes(np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[s]")),
        steps=array_bytes(np.array([1, 2], dtype="timedelta64[s]")),
        complex=array_bytes(np.array([1j, 2.0])),
    )
    assert set(table.columns) == {"y", "flags", "dates", "steps"}
    assert table.columns["y"].tolist() == VALUES.tolist()
    assert table.refused == {
        "short": "an array that is cut off, of shape (5,)",
        "text": "an array of type <U1 and shape (2,)",
        "complex": "an array of type complex128 and shape (2,)",
        "empty": "an array of shape (0,)",
        "number": "a single number",
    }


def test_an_array_of_a_negative_length_is_no_array(tmp_path):
    content = array_bytes(VALUES).replace(b"(5,)", b"(-5,)").replace(b" \n", b"\n", 1)
    with pytest.raises(DataError, match=r"cannot be read .*an array has the shape \(-5,\)"):
        archive(tmp_path / "log.npz", y=content)


def test_small_values_take_less_memory_than_large_ones(tmp_path, monkeypatch):
    """4000 values of a byte are below the limit, those of eight bytes are not."""
    monkeypatch.setattr("gpssm.data.io.opening._ALWAYS", 20_000)
    monkeypatch.setattr("gpssm.data.io.opening._RATIO", 0)
    small, large = np.zeros(4000, dtype=np.int8), np.zeros(4000)
    table = archive(tmp_path / "log.npz", small=array_bytes(small), large=array_bytes(large))
    assert len(table.columns["small"]) == 4000
    with pytest.raises(DataError, match="an array 'large'"):
        len(table.columns["large"])
