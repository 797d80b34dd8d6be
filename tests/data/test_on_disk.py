"""Data larger than memory: maps stay maps, Parquet becomes arrays once, nothing else changes."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait

import jax
import numpy as np
import pandas as pd
import pytest

from gpssm import DataError, Dataset, Normalisation, read
from gpssm.base.files import leftovers
from gpssm.data import choose_windows, disk, make_windows, open_windows
from gpssm.data.disk import stays_on_disk
from gpssm.data.io import conversion

ROWS, BLOCK = 1000, 64
COLUMNS = {"inputs": ["u", "v"], "outputs": "y", "time": "t", "experiment": "run"}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks, and borders of experiments at, before and after those of blocks."""
    monkeypatch.setattr(disk, "BLOCK", BLOCK)
    monkeypatch.setattr(conversion, "BLOCK", BLOCK)


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = 1e4 + np.cumsum(rng.standard_normal(ROWS))
    y[rng.random(ROWS) < 0.1] = np.nan
    run = np.repeat(["a", "b", "c", "d"], [BLOCK, BLOCK + 1, 2 * BLOCK - 2, ROWS - 4 * BLOCK + 1])
    values = {"t": 0.5 * np.arange(ROWS), "u": rng.random(ROWS), "v": rng.random(ROWS), "y": y}
    return pd.DataFrame({**values, "run": run, "remark": "none"})


@pytest.fixture
def path(tmp_path):
    frame().to_parquet(tmp_path / "log.parquet", row_group_size=150)
    return tmp_path / "log.parquet"


def mapped(folder, name, values):
    np.save(folder / f"{name}.npy", values)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def assert_same(ours: Dataset, theirs: Dataset) -> None:
    assert str(ours) == str(theirs)
    assert ours.sampling_time == pytest.approx(theirs.sampling_time)
    for a, b in zip(ours, theirs, strict=True):
        assert a.name == b.name
        np.testing.assert_array_equal(a.u, b.u)
        np.testing.assert_array_equal(a.y, b.y)


@pytest.mark.parametrize(
    "request_",
    [
        COLUMNS,
        {"outputs": ["y", "u"]},
        {"outputs": 3, "inputs": [1], "time": 0},
        {"outputs": "y", "sampling_time": 0.5, "units": {"y": "m"}},
    ],
    ids=["experiments", "no inputs", "positions", "units"],
)
def test_parquet_on_disk_is_as_in_memory(path, tmp_path, request_):
    ours = read(path, **request_, on_disk=tmp_path / "arrays")
    assert all(stays_on_disk(each.y) for each in ours)
    assert all(stays_on_disk(each.u) for each in ours if ours.input_names)
    assert_same(ours, read(path, **request_))
    halves = ours.split(0.6)
    assert stays_on_disk(halves.test[0].y)
    assert_same(halves, read(path, **request_).split(0.6))


def test_several_files_and_a_time_of_dates(path, tmp_path):
    dates = pd.date_range("2024-01-01", periods=ROWS, freq="500ms")
    other = frame().assign(t=dates, run="x")
    other.to_parquet(tmp_path / "other.parquet")
    both = [path, tmp_path / "other.parquet"]
    assert_same(read(both, **COLUMNS, on_disk=tmp_path / "arrays"), read(both, **COLUMNS))


def test_without_a_folder_the_arrays_are_in_the_cache(path, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = path.rename(tmp_path / "log.PARQUET")
    ours = read([path], outputs="y", on_disk=True)
    assert_same(ours, read(path.rename(tmp_path / "log.parquet"), outputs="y"))
    (place,) = (tmp_path / "cache/gpssm/arrays").glob("log-*/about.json")
    assert re.fullmatch(r"log-[0-9a-f]{16}", place.parent.name)


def test_each_choice_of_columns_has_arrays_of_its_own(path, tmp_path):
    for outputs in ("y", "u", "y", ["y", "u"]):
        data = read((path, path), outputs=outputs, on_disk=tmp_path / "deep/arrays")
        assert data.output_names == tuple(outputs)
        assert data.name == "data"
    assert len(list((tmp_path / "deep/arrays").glob("log-*/about.json"))) == 3
    assert read((path, path), outputs="y", name="rig").name == "rig"


def test_the_step_is_the_mean_of_all_blocks(tmp_path):
    """Steps of 1 s, then of 1.04 s; the last block is a short one."""
    t = np.cumsum(np.where(np.arange(150) < 90, 1.0, 1.04))
    pd.DataFrame({"t": t, "y": np.ones(150)}).to_parquet(tmp_path / "log.parquet")
    data = read(tmp_path / "log.parquet", outputs="y", time="t", on_disk=tmp_path / "arrays")
    assert data.sampling_time == pytest.approx((t[-1] - t[0]) / 149, rel=1e-12)


def test_normalisation_in_one_pass_equals_that_in_memory(path, tmp_path):
    ours = Normalisation.of(read(path, **COLUMNS, on_disk=tmp_path / "arrays"))
    theirs = Normalisation.of(read(path, **COLUMNS))
    for name in ("u_mean", "u_std", "y_mean", "y_std"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_maps_stay_on_disk_and_give_the_same_windows(tmp_path, dtype):
    table = frame()
    y, u = table["y"].to_numpy(dtype), table[["u", "v"]].to_numpy(dtype)
    ours = Dataset.from_arrays(mapped(tmp_path, "y", y), mapped(tmp_path, "u", u)).split(0.5)
    theirs = Dataset.from_arrays(y, u).split(0.5)
    assert all(stays_on_disk(each.u) and stays_on_disk(each.y) for each in ours)
    norm = Normalisation.of(theirs)
    for length, stride in ((20, 1), (20, 7), (500, 500)):
        lazy = open_windows(ours, norm, length, stride, np.float32)
        there = make_windows(theirs, norm, length, stride, np.float32)
        assert lazy.num_rows == there.num_rows
        index = np.arange(len(there.starts)).reshape(1, -1)
        first = lazy.starts[index]
        np.testing.assert_array_equal(first, there.starts[index])
        for a, b in zip(lazy.read(first, length), there.read(first, length), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_a_map_that_may_be_written_is_copied(tmp_path):
    np.save(tmp_path / "y.npy", np.arange(10.0))
    y = np.load(tmp_path / "y.npy", mmap_mode="r+")
    data = Dataset.from_arrays(y)
    y[3] = 100.0
    assert data[0].y[3, 0] == 3.0


def test_many_windows_are_chosen_without_overflow():
    """More cells than 32 bits can count; beside the same in Python's integers."""
    key, count, size = jax.random.key(0), 2_000_000_011, 37
    cell = jax.random.randint(jax.random.fold_in(key, 5), (size,), 0, count, dtype=np.int32)
    wanted = [(i * count + int(c)) // size for i, c in enumerate(cell)]
    assert choose_windows(key, 5, count, size).tolist() == wanted


# ---------------------------------------------------------------------- what can be wrong


def complaint(path, **changes):
    with pytest.raises(DataError) as error:
        read(path, **{**COLUMNS, **changes}, on_disk=path.parent / "arrays")
    return str(error.value)


def spoil(path, column, row, value):
    table = frame()
    table[column] = table[column].astype(object) if isinstance(value, str) else table[column]
    table.loc[row, column] = value
    if isinstance(value, str):
        table[column] = table[column].astype(str)
    table.to_parquet(path)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("u", np.nan, ["column 'u', row 701", "gap in an input", "Fill the gap"]),
        ("y", np.inf, ["column 'y', row 701", "infinite"]),
        ("u", "off", ["column 'u', row 701", "'off'", "a number"]),
        ("t", 349.5, ["column 't', row 701", "duplicate time stamp"]),
    ],
)
def test_a_fault_deep_in_the_file_is_named_with_its_place(path, column, value, words):
    spoil(path, column, 700, value)
    message = complaint(path)
    for word in (str(path), *words):
        assert word in message
    assert not list((path.parent / "arrays").glob("log-*/about.json"))


def test_rows_of_an_experiment_in_several_places_are_refused(path):
    """Apart in the file, or within one block."""
    spoil(path, "run", 700, "a")
    message = complaint(path, time=None)
    assert "experiment 'a' in several places" in message
    assert "Sort the rows" in message
    spoil(path, "run", 400, "later")
    assert "in several places" in complaint(path, time=None)
    spoil(path, "run", ROWS - 10, "later")  # in the last block
    assert "rows of experiment one of them in several places" in complaint(path, time=None)


def test_experiments_and_blocks_have_one_step(path):
    table = frame()
    table["t"] *= np.where(table["run"] == "b", 2.0, 1.0)
    table.to_parquet(path)
    message = complaint(path)
    assert f"{path}, experiment 'b': got a step of 1 s, expected 0.5 s as in {path}," in message
    later = frame().index >= 6 * BLOCK
    table = frame().assign(t=np.cumsum(np.where(later, 0.6, 0.5)))
    table.to_parquet(path)
    assert "experiment 'd': got a step of 0.5" in complaint(path)


def test_a_fault_at_the_border_of_two_blocks_is_seen(path):
    table = frame()
    table.loc[5 * BLOCK :, "t"] += 3.0
    table.to_parquet(path)
    assert f"column 't', row {5 * BLOCK + 1}" in complaint(path, experiment=None)


def test_a_file_that_is_cut_off_or_missing_or_no_parquet(path, tmp_path):
    path.write_bytes(path.read_bytes()[:500])
    assert "cannot be read" in complaint(path)
    path.unlink()
    assert "no such file" in complaint(path)
    (tmp_path / "log.csv").write_text("t,u,v,y,run\n")
    assert "leave on_disk out" in complaint(tmp_path / "log.csv")


def test_a_folder_that_cannot_be_written_is_named(path, tmp_path):
    (tmp_path / "arrays").write_text("a file")
    assert "Name another one with on_disk" in complaint(path)


def test_an_input_of_a_map_that_is_not_finite_is_named(tmp_path):
    u = np.zeros(ROWS)
    u[500] = np.nan
    with pytest.raises(DataError, match="nan at row 500, channel 0"):
        Dataset.from_arrays(mapped(tmp_path, "y", np.ones(ROWS)), mapped(tmp_path, "u", u))


# ---------------------------------------------------------------------- what is kept


def test_a_file_is_converted_once_and_again_when_it_has_changed(path, tmp_path, monkeypatch):
    place = tmp_path / "arrays"
    read(path, **COLUMNS, on_disk=place)
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "_convert", None)  # calling it would fail
        read(path, **COLUMNS, on_disk=place)
    table = frame()
    table.loc[3, "y"] = 5.0
    table.to_parquet(path)
    os.utime(path, (1, 1))
    assert read(path, **COLUMNS, on_disk=place)[0].y[3, 0] == 5.0


@pytest.mark.parametrize("file", ["y.npy", "u.npy", "about.json"])
def test_damaged_arrays_are_made_again(path, tmp_path, file):
    read(path, **COLUMNS, on_disk=tmp_path / "arrays")
    damaged = next((tmp_path / "arrays").glob(f"log-*/{file}"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert_same(read(path, **COLUMNS, on_disk=tmp_path / "arrays"), read(path, **COLUMNS))


KILLED = """
import os, signal, sys
from gpssm.data import read
from gpssm.data.io import conversion

conversion.BLOCK, seen, split_table = 64, [], conversion.split_table

def split(*args, **kwargs):
    seen.append(1)
    if len(seen) > 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return split_table(*args, **kwargs)

conversion.split_table = split
path, place = sys.argv[1:]
read(path, inputs=["u", "v"], outputs="y", time="t", experiment="run", on_disk=place)
"""


def test_a_kill_in_the_middle_leaves_nothing_broken(path, tmp_path):
    place = tmp_path / "arrays"
    command = [sys.executable, "-c", KILLED, str(path), str(place)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (left,) = leftovers(place)
    another = place / ".other-0123.77.gpssm-tmp"  # of a process that converts another file
    another.mkdir()
    assert_same(read(path, **COLUMNS, on_disk=place), read(path, **COLUMNS))
    assert not left.exists()
    assert list(leftovers(place)) == [another]


PAUSED = KILLED.replace(
    "os.kill(os.getpid(), signal.SIGKILL)", "print('here', flush=True); time.sleep(600)"
)


def test_others_wait_for_the_process_that_converts(path, tmp_path):
    place = tmp_path / "arrays"
    command = [sys.executable, "-c", f"import time\n{PAUSED}", str(path), str(place)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first,
        ThreadPoolExecutor() as pool,
    ):
        try:
            assert first.stdout.readline() == "here\n"
            second = pool.submit(read, path, **COLUMNS, on_disk=place)
            assert not wait([second], timeout=0.5).done
        finally:
            first.kill()
        assert_same(second.result(60), read(path, **COLUMNS))
