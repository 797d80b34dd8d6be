"""Compressed files, sizes that cannot be true, and no file that stays open."""

import bz2
import gzip
import lzma
import os
import zipfile
from pathlib import Path

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pytest
import scipy.io

from gpssm.base.errors import DataError
from gpssm.data.io import opening
from gpssm.data.io.files import read_columns, read_table
from gpssm.data.io.opening import explained, oversize, plain_name, read_bytes

TEXT = b"u,y\n" + b"1,2\n" * 30


def zipped(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        archive.mkdir("folder")
        for name in names:
            archive.writestr(name, TEXT)
    return path


@pytest.fixture
def packed(tmp_path):
    writers = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    for suffix, compress in writers.items():
        (tmp_path / f"LOG.CSV{suffix.upper()}").write_bytes(compress(TEXT))
    zipped(tmp_path / "LOG.CSV.ZIP", "folder/log.csv")
    (tmp_path / "LOG.CSV").write_bytes(TEXT)
    return sorted(tmp_path.iterdir())


def test_compressed_texts_are_unpacked_in_pieces_whatever_the_case(packed, monkeypatch):
    monkeypatch.setattr(opening, "_CHUNK", 50)
    assert len(packed) == 5
    for path in packed:
        assert read_bytes(path) == TEXT
        assert plain_name(path).upper() == "LOG.CSV"
        table = read_table(path)
        assert (list(table.columns), len(table.columns["y"])) == (["u", "y"], 30)


def test_a_text_may_unpack_to_the_limit_and_no_further(packed, monkeypatch):
    monkeypatch.setattr(opening, "_CHUNK", 50)
    monkeypatch.setattr(opening, "_RATIO", 0)
    monkeypatch.setattr(opening, "_ALWAYS", len(TEXT))
    assert all(read_bytes(path) == TEXT for path in packed)
    monkeypatch.setattr(opening, "_ALWAYS", len(TEXT) - 1)
    for path in packed[1:]:
        with pytest.raises(DataError, match="the unpacked text of 0 MiB or more"):
            read_bytes(path)
    assert read_bytes(packed[0]) == TEXT  # which was not packed


@pytest.mark.parametrize("names", [(), ("a.csv", "b.csv")])
def test_a_zip_file_holds_one_text(tmp_path, names):
    path = zipped(tmp_path / "log.csv.zip", *names)
    with pytest.raises(DataError, match=rf"got {len(names)} files in it, expected one"):
        read_table(path)


@pytest.mark.parametrize(("stored", "limit"), [(0, 2**28), (1_000_000, 2**28), (2**21, 200 << 21)])
def test_a_file_holds_at_most_256_mebibytes_or_200_times_its_size(tmp_path, stored, limit):
    path = tmp_path / "log.npz"
    path.touch()
    os.truncate(path, stored)
    assert oversize(path, "an array", limit) is None
    fault = oversize(path, "an array", limit + 1)
    size = f"{limit >> 20} MiB"
    assert fault.given == f"an array of {size} or more, in a file of {stored} bytes"
    assert fault.wanted == f"at most {size}"


def test_an_error_that_explains_itself_stays_as_it_is(tmp_path):
    (tmp_path / "log.csv").touch()
    with pytest.raises(DataError, match=r"^mine$"), explained(tmp_path / "log.csv"):
        raise DataError("mine")
    other = r"cannot be read \(KeyError: 3\), expected a valid \.csv file"
    with pytest.raises(DataError, match=other), explained(tmp_path / "log.csv"):
        raise KeyError(3)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("log.docx", "got suffix '.docx', expected one of"),
        ("log", "got suffix '', expected one of"),
        ("log.mat.gz", "got suffix '.mat.gz', expected one of"),
        ("log.gz", "got suffix '.gz', expected one of"),
    ],
)
def test_a_suffix_that_is_not_read_is_named(tmp_path, name, words):
    with pytest.raises(DataError, match=words):
        read_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="got a folder, expected a regular file"):
        read_table(tmp_path / name)


# ---------------------------------------------------------------------- frames


def test_columns_of_a_frame_keep_their_types_and_gaps():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], dtype="Int64"),
            "number": [1.5, np.nan],
            "flag": [True, False],
            "text": ["a", None],
            "when": pd.to_datetime(["2024-01-01", None]),
            3: [1, 2],
        }
    )
    found = read_columns(frame, "the frame", "log")
    assert (found.source, found.name) == ("the frame", "log")
    assert list(found.columns) == ["whole", "number", "flag", "text", "when", "3"]
    assert found.columns["whole"].tolist() == [1, None]
    assert found.columns["text"].tolist() == ["a", None]
    kinds = [found.columns[name].dtype.kind for name in ("number", "flag", "when", "3")]
    assert kinds == ["f", "b", "M", "i"]


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([[1, 2, 3]], columns=["b", 1, "1"])
    with pytest.raises(DataError, match="the frame: got two columns '1', expected different names"):
        read_columns(frame, "the frame", "log")


# ---------------------------------------------------------------------- files that stay open


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file["y"] = np.arange(5.0)


def write_sheet(path):
    book = openpyxl.Workbook()
    for row in (["y"], [1], [2]):
        book.active.append(row)
    book.save(path)


WRITERS = {
    "log.npz": lambda path: np.savez(path, y=np.arange(5.0)),
    "log.mat": lambda path: scipy.io.savemat(path, {"y": np.arange(5.0)}),
    "log73.mat": write_hdf5,
    "log.xlsx": write_sheet,
    "log.csv": lambda path: path.write_text("y\n1\n2\n"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_was_read_is_closed(tmp_path, name):
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("only Linux lists open files")
    WRITERS[name](tmp_path / name)
    table = read_table(tmp_path / name)
    assert len(table.columns["y"]) in (2, 5)
    opened = [os.readlink(each) for each in descriptors.iterdir() if os.path.lexists(each)]
    assert str(tmp_path / name) not in opened
