"""Normalisation: from the training part, around gaps and constants, and back."""

import json
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpssm.base.errors import DataError
from gpssm.data import Dataset, DataWarning, Normalisation

finite = st.floats(-1e6, 1e6, allow_subnormal=False)


def test_mean_and_spread_are_those_of_the_training_part_without_its_gaps():
    y = np.array([1.0, np.nan, 3.0, 5.0, 100.0, 200.0])
    u = np.array([0.0, 2.0, 0.0, 2.0, 50.0, 60.0])
    norm = Normalisation.of(Dataset.from_arrays(y, u).split_at(4).train)
    assert norm.y_mean[0] == pytest.approx(3.0)
    assert norm.y_std[0] == pytest.approx(np.std([1.0, 3.0, 5.0]))
    assert norm.u_mean[0] == pytest.approx(1.0)
    assert norm.u_std[0] == pytest.approx(1.0)
    assert norm.constant_channels == ()


@pytest.mark.parametrize("level", [0.0, 5.0, -1e8, 0.1])
def test_a_constant_channel_is_reported_and_not_divided_by_zero(level):
    u = np.stack([np.full(7, level), np.arange(7.0)], axis=1)
    data = Dataset.from_arrays(np.arange(7.0), u, input_names=("valve", "pump"), name="plant")
    with pytest.warns(DataWarning, match=r"'plant'.*valve"):
        norm = Normalisation.of(data)
    assert norm.constant_channels == ("valve",)
    assert norm.u_std[0] == 1.0
    np.testing.assert_allclose(norm.u(data[0].u)[:, 0], 0.0, atol=1e-9 * max(1.0, abs(level)))


def test_a_channel_that_is_missing_in_the_training_part_is_refused():
    y = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 1.0], [4.0, 2.0]])
    data = Dataset.from_arrays(y, output_names=("a", "b")).split_at(2)
    with pytest.raises(DataError, match=r"channel 'b'.*missing values only"):
        Normalisation.of(data.train)


@given(y=hnp.arrays(np.float64, (9, 3), elements=finite))
@settings(max_examples=50, deadline=None)
@pytest.mark.filterwarnings("ignore::gpssm.data.DataWarning")
def test_what_goes_in_comes_back(y):
    norm = Normalisation.of(Dataset.from_arrays(y, y[:, :2]))
    scale = np.abs(y).max() + 1e-300
    np.testing.assert_allclose(norm.y_mean_back(norm.y(y)), y, atol=1e-9 * scale)
    back = norm.y_mean_back(norm.y(y) + 2.0) - norm.y_mean_back(norm.y(y))
    np.testing.assert_allclose(back, norm.y_std_back(np.full((9, 3), 2.0)), atol=1e-9 * scale)


@given(values=hnp.arrays(np.float64, (4, 2), elements=finite))
@settings(max_examples=30, deadline=None)
def test_json_keeps_every_bit(values):
    norm = Normalisation(*values, constant_channels=("a",))
    again = Normalisation.from_json(json.loads(json.dumps(norm.to_json())))
    for name in ("u_mean", "u_std", "y_mean", "y_std"):
        np.testing.assert_array_equal(getattr(again, name), getattr(norm, name))
    assert again.constant_channels == ("a",)
    with pytest.raises(DataError, match="u_std"):
        Normalisation.from_json({"u_mean": [0.0]})


def test_identity_changes_nothing_and_particles_need_no_rank_promotion():
    norm = Normalisation.identity(2, 3)
    particles = jnp.arange(24.0).reshape(2, 4, 3)
    with jax.numpy_rank_promotion("raise"):
        assert jnp.array_equal(norm.y_mean_back(norm.y(particles)), particles)
    assert norm.u(np.zeros((5, 2))).shape == (5, 2)


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.0])
def test_very_large_and_very_small_values_neither_overflow_nor_vanish(size):
    values = np.random.default_rng(0).uniform(-3.0, 5.0, (200, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Normalisation.of(Dataset.from_arrays(size * values))
        normal = found.y(size * values)
    np.testing.assert_allclose(found.y_mean / size, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.y_std / size, values.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(normal.std(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.y_mean_back(normal), size * values, rtol=1e-10)


def test_values_whose_difference_is_no_number_are_refused():
    with pytest.raises(DataError, match="too far apart"):
        Normalisation.of(Dataset.from_arrays(np.array([1.7e308, -1.7e308, 0.0])))
