"""Names and units of channels, and what a data set must have of each."""

import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import Dataset, Experiment
from gpssm.data.channels import (
    check_measured,
    check_units,
    common_units,
    labels,
    numbered,
    units_of,
    with_units,
)


def runs(*outputs):
    return [Experiment.of(np.array(y, dtype=float), name=f"run{i}") for i, y in enumerate(outputs)]


def test_channels_without_names_are_counted_from_one():
    assert numbered("y", 1) == ("y",)
    assert numbered("y", 3) == ("y1", "y2", "y3")
    assert numbered("u", 0) == ()


def test_labels_are_texts_one_for_each_channel():
    assert labels(["level", "flow"], "names", 2) == ("level", "flow")
    with pytest.raises(DataError, match="names: got 'ab', expected 2 of them, one per entry"):
        labels("ab", "names", 2)  # a text is no list of names, though it has two letters
    with pytest.raises(DataError, match=r"names: got \['a'\], expected 2 of them"):
        labels(["a"], "names", 2)


def test_a_unit_of_a_group_holds_for_its_channels():
    units = {"y": "m", "y[1]": "cm", "u": "V"}
    assert units_of(("y[0]", "y[1]", "u", "z"), units) == ("m", "cm", "V", "")


def test_files_may_name_units_that_others_do_not():
    found = [("a.csv", {"y": "m", "u": "V"}), ("b.csv", {"y": "m", "z": "s"}), ("c.csv", {})]
    assert common_units(found) == {"y": "m", "u": "V", "z": "s"}


def test_files_that_name_different_units_are_refused():
    found = [("a.csv", {"y": "m"}), ("b.csv", {"u": "V", "y": "cm"})]
    with pytest.raises(DataError, match=r"b\.csv, column 'y': got the unit 'cm', expected 'm' as"):
        common_units(found)


def test_only_units_that_both_know_are_compared():
    check_units(("a", "b", "c"), ("m", "", "V"), ("m", "s", ""))
    with pytest.raises(DataError, match="unit of 'b': got 'cm', expected 'm', as in training"):
        check_units(("a", "b"), ("V", "m"), ("V", "cm"))


def test_units_stand_behind_the_names_that_have_one():
    assert with_units(("level", "gain"), ("cm", "")) == ["level [cm]", "gain"]


def test_each_output_is_measured_in_some_experiment_and_something_in_each():
    gap = np.nan
    half, other = [[1, gap], [gap, gap]], [[gap, gap], [gap, 0]]
    check_measured(runs(half, other), ("a", "b"))
    with pytest.raises(DataError, match=r"log: output 'b': got missing values only"):
        check_measured(runs(half, half), ("a", "b"), "log: ")
    empty = [[gap, gap], [gap, gap]]
    with pytest.raises(DataError, match=r"log: experiment 'run1': got no output value at all"):
        check_measured(runs(half, empty, other), ("a", "b"), "log: ")


def test_all_experiments_have_as_many_inputs_as_the_first():
    with pytest.raises(DataError, match="'data-1': got 2 inputs and 1 outputs, expected 1 and 1"):
        Dataset.from_arrays([np.zeros(3)] * 2, [np.zeros((3, 1)), np.zeros((3, 2))])
