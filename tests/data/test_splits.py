"""Cuts at their limits, and what they refuse."""

import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import Dataset


def records(lengths=(40, 25, 33)):
    return Dataset.from_arrays([np.arange(float(n)) for n in lengths])


def shapes(data):
    return [(each.name, each.part, each.start, len(each)) for each in data]


def test_all_rows_may_train():
    whole = [("data-0", "train", 0, 40), ("data-1", "train", 0, 25), ("data-2", "train", 0, 33)]
    assert shapes(records().split(1.0)) == whole


def test_fractions_that_sum_to_one_leave_no_test_part():
    assert shapes(records((40,)).split(0.7, 0.3)) == [
        ("data", "train", 0, 28),
        ("data", "validation", 28, 12),
    ]


def test_fractions_may_sum_to_one_but_for_rounding():
    """0.58 + 0.42 is 1, 0.7 + 0.1 + 0.2 is less, and 1 + 2⁻⁵² is the next number."""
    train = 1.0 - 2**-53
    assert records((40,)).split(train, 2**-51).parts == ("train",)
    with pytest.raises(DataError, match="sum to at most 1"):
        records((40,)).split(0.9, 0.1 + 1e-9)
    for train, validation in ((0.9, -0.1), (0.0, 0.5), (1.1, 0.0)):
        with pytest.raises(DataError, match="sum to at most 1"):
            records((40,)).split(train, validation)
    with pytest.raises(DataError, match="got data that is already split into test, train"):
        records().split().split()


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ((10, 10), [("train", 10), ("test", 15)]),
        ((10, 25), [("train", 10), ("validation", 15)]),
        ((25,), [("train", 25)]),
        ((2,), [("train", 2), ("test", 23)]),
        ((23,), [("train", 23), ("test", 2)]),
    ],
)
def test_a_part_without_rows_is_left_out(rows, parts):
    cut = records((25,)).split_at(*rows)
    assert [(each.part, len(each)) for each in cut] == parts


@pytest.mark.parametrize("rows", [(0,), (20, 10), (10, 26)])
def test_rows_that_do_not_increase_are_refused(rows):
    with pytest.raises(DataError, match="increasing rows from 1 to 25, the length of experiment"):
        records((25,)).split_at(*rows)


@pytest.mark.parametrize("rows", [(1,), (10, 11), (24,)])
def test_a_part_of_one_row_is_refused(rows):
    with pytest.raises(DataError, match=r"part of experiment 'data' \(25 rows\): got 1 rows"):
        records((25,)).split_at(*rows)


@pytest.mark.parametrize(
    ("again", "method"),
    [
        (lambda d: d.split_at(10), "split_at"),
        (lambda d: d.split_experiments([0]), "split_experiments"),
    ],
)
def test_parts_are_not_cut_together(again, method):
    with pytest.raises(
        DataError, match=rf"{method}: got data .* into test, train.*train\.{method}"
    ):
        again(records().split())
    part = records().split(0.8).train
    assert {each.part for each in part.split_at(20)} == {"train", "test"}


def test_experiments_are_named_or_counted_from_either_end():
    cut = records().split_experiments(train=[-1], validation=["data-1"], test=[-3])
    assert [each.part for each in cut] == ["test", "validation", "train"]
    assert [each.part for each in records().split_experiments([2, 1])] == ["test", "train", "train"]


@pytest.mark.parametrize("key", [3, -4])
def test_a_position_beyond_the_experiments_is_refused(key):
    names = r"\['data-0', 'data-1', 'data-2'\]"
    with pytest.raises(DataError, match=rf"got {key}, .* one of the 3 experiments.*{names}"):
        records().split_experiments([key])


def test_an_unknown_name_is_answered_with_near_ones_or_the_first():
    named = Dataset.from_arrays([np.zeros(3)] * 6, experiment_names=["calm", *"abcde"])
    with pytest.raises(DataError, match=r"Nearest: \['calm'\]\."):
        named.split_experiments(["calmer"])
    with pytest.raises(DataError, match=r"Nearest: \['calm', 'a', 'b', 'c', 'd'\]\."):
        named.split_experiments(["storm"])
