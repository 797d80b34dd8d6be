"""What is wrong with a file is said with the file, the column, the row and the remedy."""

import gzip
import io
import os
import time
import zipfile

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io

import gpssm.data as gd
from gpssm.base.errors import DataError
from gpssm.data.io.files import read_table
from gpssm.data.io.tables import Request, resolve


def complaint(path, **request):
    with pytest.raises(DataError) as error:
        gd.read(path, **request)
    return str(error.value)


TIMED = {"inputs": "u", "outputs": "y", "time": "t"}

# A name for the fault: what the file holds, what its message must say besides the file.
FAULTS = {
    "non-numeric cell": (
        "t,u,y\n0,1,2\n1,off,3\n2,1,4\n",
        ["column 'u'", "row 3", "'off'", "a number", "Correct the cell"],
    ),
    "decimal comma": (
        't,u,y\n0,1,2\n1,"1,5",3\n',
        ["column 'u'", "row 3", "'1,5'", "decimal points"],
    ),
    "a date that could be two": (
        "t,u,y\n01/03/2024 10:00,1,2\n01/03/2024 10:01,1,3\n",
        ["column 't'", "dates such as 01/03/2024", "which number is the day", "2024-03-01"],
    ),
    "a day that no month has": (
        "t,u,y\n01.02.2024 10:00,1,2\n30.02.2024 10:01,1,3\n",
        ["column 't'", "row 3", "'30.02.2024 10:01'", "Correct the cell"],
    ),
    "a comma that may group thousands": (
        "t;u;y\n0;1,234;3\n1;999;3\n",
        ["column 'u'", "'1,234'", "1234 or 1.234", "without marks between thousands"],
    ),
    "a point that may group thousands": (
        "t;u;y\n0,5;1.234;3\n1,5;1.250;3\n",
        ["column 'u'", "'1.234'", "1234 or 1.234"],
    ),
    "two decimal marks": (
        "t;u;y\n0;1,5;3\n1;2.5;3\n",
        ["column 'u'", "'1,5' and '2.5'", "one decimal mark"],
    ),
    "commas that separate and mark decimals": ("y\n3,14\n2,71\n", ["row 1", "1 cells", "2"]),
    "numbers that may be names": (
        "0,1,2\n1,2,3\n2,3,4\n",
        ["0, 1, 2, …", "names or values", "a name for every column"],
    ),
    "different whole numbers above others": (
        "101,102,103\n0.5,1.5,2.5\n0.7,1.25,0.1\n",
        ["101, 102, 103, …", "names or values", "a name for every column"],
    ),
    "a header of integers without a counted index": (
        ",0,1\n5,1,2\n7,1,2\n",
        ["row 1", "none in column 1", "a name for every column"],
    ),
    "duplicate time stamp": (
        "t,u,y\n0,1,2\n1,1,3\n1,1,4\n2,1,4\n",
        ["column 't'", "row 4", "duplicate time stamp", "Remove one"],
    ),
    "unsorted time stamp": (
        "t,u,y\n0,1,2\n2,1,3\n1,1,4\n3,1,4\n",
        ["column 't'", "row 4", "unsorted", "2 is followed by 1", "Sort the rows"],
    ),
    "irregular sampling": (
        "t,u,y\n0,1,2\n1,1,3\n2,1,4\n3,1,4\n7,1,4\n",
        [
            "column 't'",
            "row 6",
            "irregular",
            "1 of 4 steps",
            "off the usual 1 s",
            "3 s at most",
            "--resample 1",
        ],
    ),
    "missing time stamp": (
        "t,u,y\n0,1,2\n,1,3\n2,1,4\n",
        ["column 't'", "row 3", "no time stamp", "sampling_time"],
    ),
    "a date that is none": (
        "t,u,y\n2024-01-01T00:00:00,1,2\n2024-01-01T00:00:01,1,2\nlater,1,3\n2024-01-01T00:00:03,1,2\n",
        ["column 't'", "row 4", "'later'", "a date", "Correct the cell"],
    ),
    "infinite output": (
        "t,u,y\n0,1,2\n1,1,3\n2,1,-inf\n",
        ["column 'y'", "row 4", "infinite", "empty cell"],
    ),
    "infinite input": (
        "t,u,y\n0,1,2\n1,1e999,3\n2,1,3\n",
        ["column 'u'", "row 3", "infinite", "Correct the value"],
    ),
    "output all missing": (
        "t,u,y\n0,1,\n1,1,nan\n2,1,\n",
        ["'y'", "missing values only", "Leave this output out"],
    ),
    "input with a gap": (
        "t,u,y\n0,1,2\n1,1,3\n2,,4\n",
        ["column 'u'", "row 4", "gap in an input", "Fill the gap"],
    ),
    "one row": ("t,u,y\n0,1,2\n", ["1 rows of data", "at least 2", "Record more"]),
    "no rows": ("t,u,y\n", ["0 rows of data", "at least 2"]),
    "a row cut off": ("t,u,y\n0,1,2\n1,1\n", ["row 3", "2 cells", "expected 3", "cut off"]),
    "a stray separator": ("t,u,y\n0,1,2\n1,1,3,4\n", ["row 3", "4 cells", "stray separator"]),
    "a name twice": ("t,u,u,y\n0,1,2,3\n", ["'u' twice", "row 1", "Rename"]),
    "an empty file": ("", ["empty first row", "names of the columns"]),
    "an open quote": ('t,u,y\n0,1,"2\n1,1,3\n', ["cannot be read", "export or copy it again"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_place_and_remedy(fault, tmp_path):
    text, words = FAULTS[fault]
    (tmp_path / "log.csv").write_text(text)
    message = complaint(tmp_path / "log.csv", **TIMED)
    for word in [str(tmp_path / "log.csv"), *words]:
        assert word in message


def test_rows_are_counted_as_an_editor_shows_them(tmp_path):
    """Blank lines and cells of several lines count as the lines they are."""
    path = tmp_path / "log.csv"
    path.write_text('remark,y\n"two\nlines",1\n\nfine,2\nbad,oops\n')
    assert "column 'y', row 6" in complaint(path, outputs="y")


def test_a_fault_of_one_experiment_is_found_at_its_row_in_the_file(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("run,t,y\na,0,1\nb,0,1\na,1,1\nb,1,1\na,2,1\nb,1,1\n")
    message = complaint(path, outputs="y", time="t", experiment="run")
    assert "column 't', row 7" in message
    assert "duplicate" in message


def test_a_row_without_an_experiment_is_named(tmp_path):
    frame = pd.DataFrame({"run": ["a", "a", None], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="column 'run', row 3: got an empty cell"):
        gd.Dataset.from_pandas(frame, outputs="y", experiment="run")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"outputs": "levl"}, ["'levl'", "Nearest: ['level']", "It has ['pump', 'level']"]),
        ({"outputs": "LEVEL"}, ["'LEVEL'", "Nearest: ['level']"]),
        ({"outputs": "level", "inputs": "level"}, ["'level' twice", "once"]),
        ({"outputs": 5}, ["column 5", "0 to 1"]),
        ({"outputs": []}, ["no column", "which columns were measured"]),
    ],
)
def test_a_wrong_column_is_answered_with_the_nearest_names(request_, words, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("pump,level\n1,2\n3,4\n")
    message = complaint(path, **request_)
    for word in words:
        assert word in message


def test_sampling_times_must_agree(tmp_path):
    for name, step in (("a", 1.0), ("b", 2.0)):
        rows = "".join(f"{step * i},1\n" for i in range(4))
        (tmp_path / f"{name}.csv").write_text("t,y\n" + rows)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    message = complaint(paths, outputs="y", time="t")
    assert "b.csv" in message
    assert "a step of 2 s" in message
    assert "1 s as in" in message
    assert "Resample" in message
    clash = complaint(paths[0], outputs="y", time="t", sampling_time=0.5)
    assert "0.5 s as in sampling_time" in clash


# ---------------------------------------------------------------------- files that cannot be read


def test_a_missing_file_and_an_unknown_suffix(tmp_path):
    message = complaint(tmp_path / "nowhere.csv", outputs="y")
    assert "nowhere.csv" in message
    assert "no such file" in message
    assert str(tmp_path) in message
    message = complaint(tmp_path / "log.docx", outputs="y")
    assert "'.docx'" in message
    assert "'.parquet'" in message


def good_file(path):
    frame = pd.DataFrame({"u": np.arange(2000.0), "y": np.sin(np.arange(2000.0))})
    writers = {
        ".parquet": lambda: frame.to_parquet(path),
        ".npz": lambda: np.savez_compressed(path, **{k: frame[k].to_numpy() for k in frame}),
        ".mat": lambda: scipy.io.savemat(path, {k: frame[k].to_numpy() for k in frame}),
    }
    writers[path.suffix]()
    return path.read_bytes()


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".mat"])
@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "flipped"])
def test_a_broken_binary_file_is_one_sentence(suffix, damage, tmp_path):
    path = tmp_path / f"log{suffix}"
    content = good_file(path)
    middle = len(content) // 2
    damaged = {
        "cut": content[:middle],
        "garbage": b"\x89 no such format" * 100,
        "empty": b"",
        "flipped": content[:100] + b"\xff" * 60 + content[160:],
    }
    path.write_bytes(damaged[damage])
    message = complaint(path, inputs="u", outputs="y")
    assert str(path) in message


def test_a_truncated_v73_file_is_one_sentence(tmp_path):
    path = tmp_path / "log.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["y"] = np.arange(5000.0)
    path.write_bytes(path.read_bytes()[:9000])
    message = complaint(path, outputs="y")
    assert str(path) in message
    assert "truncated" in message


def test_a_binary_file_called_csv_is_one_sentence(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(bytes(range(256)) * 4)
    message = complaint(path, outputs="y")
    assert str(path) in message
    assert "copy it again" in message


def test_a_text_that_was_cut_within_a_character_is_told_which_encodings_are_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes("u,y\n1,2\n".encode("utf-16")[:-1])
    assert "UTF-8, UTF-16 or Windows-1252" in complaint(path, outputs="y")


def test_folders_devices_and_pipes_are_refused_at_once(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name, what in (("folder", "a folder"), ("pipe", "a pipe"), ("zero", "a device")):
        assert what in complaint(tmp_path / f"{name}.csv", outputs="y")
    assert "a device" in complaint("/dev/zero", outputs="y")


def test_python_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    np.savez(tmp_path / "trap.npz", bad=np.array([Trap()], dtype=object), y=np.arange(4.0))
    assert gd.read(tmp_path / "trap.npz", outputs="y").num_rows == 4
    message = complaint(tmp_path / "trap.npz", outputs="bad")
    assert "column 'bad'" in message
    assert "plain array of numbers" in message


def test_what_is_no_column_of_numbers_says_why(tmp_path):
    path = tmp_path / "log.npz"
    np.savez(path, cube=np.zeros((3, 4, 5)), y=np.zeros(4), short=np.zeros(3))
    assert "(3, 4, 5)" in complaint(path, outputs="cube")
    message = complaint(path, outputs=["y", "short"])
    assert "column 'short'" in message
    assert "3 rows" in message
    assert "4, as in column 'y'" in message


# ---------------------------------------------------------------------- files that claim too much


def test_only_the_arrays_that_are_asked_for_are_read(tmp_path, monkeypatch):
    """The large one would be refused: it claims 4.8 GB in a file of some kilobytes."""
    with h5py.File(tmp_path / "log.mat", "w") as file:
        file.create_dataset("big", shape=(1, 600_000_000), chunks=(1, 10_000), compression="gzip")
        file["y"] = np.arange(5.0)[None]
    header = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(header, about)
    np.savez(tmp_path / "log.npz", y=np.arange(5.0))
    with zipfile.ZipFile(tmp_path / "log.npz", "a") as archive:
        archive.writestr("big.npy", header.getvalue() + bytes(80))
    for name, reason in (("log.mat", "2289 MiB"), ("log.npz", "cut off")):
        assert gd.read(tmp_path / name, outputs="y").num_rows == 5
        assert reason in complaint(tmp_path / name, outputs="big")


def test_a_packed_file_that_grows_without_bound_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("gpssm.data.io.opening._ALWAYS", 10_000)
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(b"y\n" + b"1\n" * 10_000_000, mtime=0))
    scipy.io.savemat(tmp_path / "log.mat", {"s": {"y": np.zeros(10**6)}}, do_compression=True)
    np.savez_compressed(tmp_path / "log.npz", y=np.zeros(10**6))
    for name, column in (("log.csv.gz", "y"), ("log.mat", "s.y"), ("log.npz", "y")):
        message = complaint(tmp_path / name, outputs=column)
        assert "MiB or more" in message or "MiB, expected" in message
        assert str(tmp_path / name) in message


def test_values_in_other_files_are_not_fetched(tmp_path):
    (tmp_path / "secret").write_bytes(np.arange(100.0).tobytes())
    layout = h5py.VirtualLayout(shape=(100,), dtype="f8")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "y", shape=(100,))
    with h5py.File(tmp_path / "log.mat", "w") as file:
        file["link"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/y")
        file.create_dataset("raw", (100,), "f8", external=[(str(tmp_path / "secret"), 0, 800)])
        file.create_virtual_dataset("virtual", layout)
    for name in ("link", "raw", "virtual"):
        message = complaint(tmp_path / "log.mat", outputs=name)
        assert f"column {name!r}" in message
        assert "another file" in message


def test_twenty_thousand_columns_are_no_matter(tmp_path):
    """Every step is linear in their number; a quadratic one takes many seconds."""
    names = [f"c{i}" for i in range(20_000)]
    rows = [",".join(names), ",".join(["1.5"] * len(names))]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    start = time.process_time()
    table = read_table(tmp_path / "log.csv")
    assert resolve(table, Request(tuple(names))).outputs == tuple(names)
    assert time.process_time() - start < 5.0
