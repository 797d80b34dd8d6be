"""Maps are read in blocks, and their pages are given back to the system."""

from pathlib import Path

import numpy as np
import pytest

from gpssm.data import Experiment, disk
from gpssm.data.disk import blocks, give_back
from gpssm.data.windows import Spool

MEGABYTE = 2**20


@pytest.fixture
def large(tmp_path):
    """Four megabytes on disk."""
    np.save(tmp_path / "large.npy", np.arange(4 * MEGABYTE / 8)[:, None])
    return np.load(tmp_path / "large.npy", mmap_mode="r")


def resident(values) -> int:
    """Bytes of the map that are in the memory of this process."""
    maps = Path("/proc/self/smaps")
    if not maps.exists():
        pytest.skip("only Linux lists the pages of a map")
    text = maps.read_text(encoding="utf-8").partition(str(values.filename))[2]
    return 1024 * int(text.partition("Rss:")[2].split()[0])


def test_blocks_of_a_map_have_65536_rows(large):
    found = [(first, len(rows)) for first, rows in blocks(large)]
    assert found == [(65536 * i, 65536) for i in range(8)]


def test_an_array_in_memory_is_one_block():
    values = np.zeros((65537, 1))
    ((first, rows),) = blocks(values)
    assert first == 0
    assert rows is values


def test_blocks_are_double_precision_and_begin_where_they_say(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "BLOCK", 4)
    np.save(tmp_path / "y.npy", np.arange(9, dtype=np.float32)[:, None])
    values = np.load(tmp_path / "y.npy", mmap_mode="r")
    found = [(first, rows.dtype, rows[:, 0].tolist()) for first, rows in blocks(values)]
    assert found == [(0, np.float64, [0, 1, 2, 3]), (4, np.float64, [4, 5, 6, 7]), (8, float, [8])]


def test_a_map_that_was_read_in_blocks_takes_no_memory(large):
    assert sum(rows.sum() for _, rows in blocks(large)) == len(large) * (len(large) - 1) / 2
    assert resident(large) < MEGABYTE / 2


def test_the_pages_of_a_map_and_of_its_slices_are_given_back(large):
    for values in (large, large[10:], np.asarray(large)[:, 0]):
        large.sum()
        assert resident(large) > 3 * MEGABYTE
        give_back(values)
        assert resident(large) < MEGABYTE / 2
    give_back(np.zeros(3))  # which is no map


def test_a_batch_leaves_no_pages_behind(large):
    spool = Spool([Experiment(large, large)])
    give_back(large)
    _, y = spool.read(np.array([0, 100_000]), 100_000)
    assert y[1, 0, 0] == 100_000
    assert resident(large) < MEGABYTE / 2
