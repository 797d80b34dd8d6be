"""One run: what it refuses, and what becomes of its rows and stamps when it is cut."""

import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import Dataset, Experiment, disk
from gpssm.data.experiment import summary
from gpssm.data.stamps import Stamps


def run(rows=10, **options):
    y = np.arange(2.0 * rows).reshape(rows, 2)
    return Experiment(-y[:, :1], y, stamps=Stamps("t", 5.0 + np.arange(rows)), **options)


def mapped(path, values):
    np.save(path, values)
    return np.load(path, mmap_mode="r")


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Experiment.of(np.zeros(4), np.zeros(3), "a"), "'a': got 3 rows of inputs and 4"),
        (lambda: Experiment.of(np.zeros(4), [5.0]), "1 rows of inputs and 4 of outputs"),
        (lambda: Experiment.of(np.zeros((3, 0))), "no outputs, expected at least one output"),
        (lambda: run(part="testing"), r"part: got 'testing', expected one of \('train'"),
        (lambda: run().every(10, False), "got 1 rows, expected at least 2.*decimate less"),
        (
            lambda: Experiment.of(np.zeros(4), stamps=Stamps("t", np.zeros(3))),
            "got 3 time stamps for 4 rows, expected one for each row",
        ),
        (lambda: run().cut(3, 4, "test"), r"test part of the experiment \(10 rows\): got 1 rows"),
    ],
)
def test_what_is_no_run_is_refused(make, words):
    with pytest.raises(DataError, match=words):
        make()


def test_the_first_fault_is_named_by_row_and_channel():
    y = np.zeros((5, 3))
    y[3, 1], y[4, 0] = -np.inf, np.inf
    with pytest.raises(DataError, match="outputs of experiment 'a': got -inf at row 3, channel 1"):
        Experiment.of(y, name="a")


def test_no_inputs_may_be_given_in_several_ways():
    for nothing in (None, [], np.zeros((4, 0))):
        assert Experiment.of(np.zeros(4), nothing).u.shape == (4, 0)
    assert Experiment.of(np.zeros(2), [5.0, 6.0]).u.tolist() == [[5.0], [6.0]]


# ---------------------------------------------------------------------- what it holds


def test_arrays_become_double_precision_in_the_order_of_time():
    y = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))
    made = Experiment(y[:, :0], y)
    assert (made.u.dtype, made.y.dtype) == (np.float64, np.float64)
    assert made.y.flags.c_contiguous


def test_measured_values_are_counted_by_output_over_all_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "BLOCK", 3)
    y = np.ones((8, 2))
    y[[0, 4, 7], 0], y[5, 1] = np.nan, np.nan
    for outputs in (y, mapped(tmp_path / "y.npy", y)):
        assert Experiment.of(outputs).measured.tolist() == [5, 7]


def test_a_run_is_on_disk_if_its_inputs_or_outputs_are(tmp_path):
    on_disk, in_memory = mapped(tmp_path / "u.npy", np.ones((4, 1))), np.ones((4, 1))
    for u, y, wanted in (
        (on_disk, in_memory, True),
        (in_memory, on_disk, True),
        (in_memory, in_memory, False),
    ):
        assert Experiment(u, y).is_on_disk is wanted


def test_a_map_of_whole_numbers_is_copied(tmp_path):
    made = Experiment.of(mapped(tmp_path / "y.npy", np.arange(4)))
    assert not made.is_on_disk
    assert made.y.dtype == np.float64


# ---------------------------------------------------------------------- cut and thinned


def test_a_cut_knows_its_rows_and_its_stamps():
    part = run(start=100, stride=3).cut(4, 6, "test")
    assert (part.part, part.start, part.stride) == ("test", 112, 3)
    assert part.rows.tolist() == [112, 115]
    assert part.y.tolist() == [[8, 9], [10, 11]]
    assert part.u.tolist() == [[-8], [-10]]
    assert part.stamps.values.tolist() == [9.0, 10.0]


def test_every_third_row_keeps_its_stamp():
    thin = run(start=7, stride=2).every(3, average_inputs=False)
    assert thin.rows.tolist() == [7, 13, 19, 25]
    assert thin.stamps.values.tolist() == [5.0, 8.0, 11.0, 14.0]
    assert thin.u[:, 0].tolist() == [0, -6, -12, -18]
    means = run().every(3, average_inputs=True)
    assert means.u[:, 0].tolist() == [-2, -8, -14, -18]
    assert means.y[:, 1].tolist() == [1, 7, 13, 19]


# ---------------------------------------------------------------------- in words


def test_a_summary_counts_rows_and_gaps():
    gap = np.array([1.0, np.nan, 3.0, 4.0])
    some = Dataset.from_arrays([np.zeros(4), gap, np.zeros(6)])
    assert summary(some.experiments) == "3 experiments of 4 to 6 rows, 7.1 % of the outputs missing"
    assert summary(some.experiments[:1]) == "1 experiment of 4 rows"
    assert summary(some.experiments[::2]) == "2 experiments of 4 to 6 rows"
