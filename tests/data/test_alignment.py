"""Which row of an input a model sees."""

import numpy as np
import pytest

from gpssm import ConfigError, Dataset
from gpssm.data.alignment import align_inputs, aligned

U = np.arange(12.0).reshape(6, 2)


def test_a_row_holds_the_input_that_acts_on_the_next_state():
    moved = aligned(U, (0, 3))
    assert moved[:, 0].tolist() == [2, 4, 6, 8, 10, 10]  # u[t+1]
    assert moved[:, 1].tolist() == [1, 1, 1, 3, 5, 7]  # u[t−2]


def test_a_delay_of_one_changes_nothing():
    assert aligned(U, (1, 1)) is U


def test_batches_are_aligned_one_by_one():
    both = np.stack([U, 10 * U])
    assert np.array_equal(aligned(both, (0, 2))[1], aligned(10 * U, (0, 2)))


def test_every_run_of_a_data_set_is_aligned_by_itself():
    data = Dataset.from_arrays([np.zeros(6), np.zeros(6)], [U, U + 100])
    moved = align_inputs(data, (0, 1))
    assert np.array_equal(moved[1].u, aligned(U + 100, (0, 1)))
    assert align_inputs(data, None) is data
    assert align_inputs(data, (1, 1)) is data
    assert np.array_equal(align_inputs(data, (2, 2))[0].u, aligned(U, (2, 2)))
    assert aligned(U, (2, 2))[:, 0].tolist() == [0, 0, 2, 4, 6, 8]  # u[t−1]


def test_a_delay_is_needed_for_each_input():
    data = Dataset.from_arrays(np.zeros(6), U)
    with pytest.raises(ConfigError, match="input_delays: got 1 numbers, expected 2"):
        align_inputs(data, (0,))
