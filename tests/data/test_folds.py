"""Blocked folds: every row held out once, and no training window across the gap."""

import numpy as np
import pytest

from gpssm import DataError, Dataset
from gpssm.data.folds import blocked_folds


def rows_of(data, part):
    return [run.y[:, 0].tolist() for run in data if run.part == part]


def test_one_record_is_cut_and_its_two_sides_are_two_experiments():
    folds = blocked_folds(Dataset.from_arrays(np.arange(30.0)), 3)
    assert [len(fold.train) for fold in folds] == [1, 2, 1]
    held = [row for fold in folds for run in rows_of(fold, "test") for row in run]
    assert held == list(range(30))
    assert rows_of(folds[1], "train") == [list(range(10)), list(range(20, 30))]


def test_of_many_records_whole_ones_are_held_out():
    data = Dataset.from_arrays([np.arange(5.0) + 10 * i for i in range(7)])
    folds = blocked_folds(data, 3)
    assert [len(fold.test) for fold in folds] == [2, 3, 2]
    assert all(len(run) == 5 for fold in folds for run in fold)


def test_two_folds_are_the_fewest():
    folds = blocked_folds(Dataset.from_arrays(np.arange(30.0)), 2)
    assert [rows_of(fold, "train") for fold in folds] == [[list(range(15, 30))], [list(range(15))]]


def test_as_many_records_as_folds_are_held_out_whole():
    data = Dataset.from_arrays([np.arange(5.0) + 10 * i for i in range(3)])
    assert [[run.part for run in fold] for fold in blocked_folds(data, 3)] == [
        ["test", "train", "train"],
        ["train", "test", "train"],
        ["train", "train", "test"],
    ]


def test_a_single_fold_leaves_nothing_to_train_on():
    with pytest.raises(DataError, match="folds"):
        blocked_folds(Dataset.from_arrays(np.arange(30.0)), 1)


def test_ahead_only_the_past_of_a_stretch_trains():
    folds = blocked_folds(Dataset.from_arrays(np.arange(30.0)), 3, ahead=True)
    assert [rows_of(fold, "train") for fold in folds] == [[list(range(10))], [list(range(20))]]
    assert [rows_of(fold, "test")[0][0] for fold in folds] == [10, 20]


def test_ahead_only_earlier_records_train():
    data = Dataset.from_arrays([np.arange(5.0) + 10 * i for i in range(6)])
    folds = blocked_folds(data, 3, ahead=True)
    firsts = [[[run[0] for run in rows_of(f, part)] for part in ("train", "test")] for f in folds]
    assert firsts == [[[0, 10], [20, 30]], [[0, 10, 20, 30], [40, 50]]]


def test_ahead_rows_are_counted_through_the_records():
    """Two records, three stretches: nothing of the second trains for a future in the first."""
    data = Dataset.from_arrays([np.arange(30.0), 100 + np.arange(30.0)])
    first, second = blocked_folds(data, 3, ahead=True)
    assert rows_of(first, "train") == [list(range(20))]
    assert rows_of(first, "test") == [list(range(20, 30)), list(range(100, 110))]
    assert rows_of(second, "train") == [list(range(30)), list(range(100, 110))]
    assert rows_of(second, "test") == [list(range(110, 130))]


@pytest.mark.parametrize(("first", "rest"), [(18, [[100, 101]]), (19, [])])
def test_ahead_a_piece_of_two_rows_is_kept_and_one_row_is_dropped(first, rest):
    """The stretch from row 10 to 20 ends in the second record."""
    data = Dataset.from_arrays([np.arange(float(first)), 100 + np.arange(30.0 - first)])
    fold = blocked_folds(data, 3, ahead=True)[0]
    assert rows_of(fold, "test") == [list(range(10, first)), *rest]
