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
from gpssm.data import Dataset, DataWarning, Normalisation, disk

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


@pytest.mark.filterwarnings("error")
def test_values_whose_difference_is_no_number_are_refused():
    data = Dataset.from_arrays(np.array([1.7e308, -1.7e308, 0.0]), np.arange(3.0))
    with pytest.raises(DataError, match=r"channel 'y'.*too far apart"):
        Normalisation.of(data)


def test_inputs_and_outputs_are_centred_and_scaled_channel_by_channel():
    arrays = ([1.0, 2.0], [4.0, 0.5], [10.0, 0.0], [2.0, 8.0])
    norm = Normalisation(*map(np.array, arrays))
    values = np.array([[[3.0, 3.0]]])
    assert norm.u(values).tolist() == [[[0.5, 2.0]]]
    assert norm.y(values).tolist() == [[[-3.5, 0.375]]]
    assert norm.y_mean_back(values).tolist() == [[[16.0, 24.0]]]
    assert norm.y_std_back(values).tolist() == [[[6.0, 24.0]]]


def test_constant_inputs_and_outputs_are_reported_in_this_order():
    data = Dataset.from_arrays(np.full(5, 3.0), np.full(5, 2.0))
    with pytest.warns(DataWarning, match=r"constant in the training part: u, y\."):
        norm = Normalisation.of(data)
    assert norm.constant_channels == ("u", "y")
    assert [each.tolist() for each in (norm.u_mean, norm.u_std, norm.y_mean, norm.y_std)] == [
        [2.0],
        [1.0],
        [3.0],
        [1.0],
    ]


@pytest.mark.parametrize(("rise", "constant"), [(0.6e-12, True), (1.5e-12, False)])
@pytest.mark.parametrize("level", [1.0, -1.0])
@pytest.mark.filterwarnings("ignore::gpssm.data.DataWarning")
def test_a_channel_is_constant_up_to_a_trillionth_of_its_size(rise, constant, level):
    norm = Normalisation.of(Dataset.from_arrays(level * np.array([1.0, 1.0 + rise])))
    assert (norm.constant_channels == ("y",)) is constant


def test_moments_of_single_rows_are_put_together(tmp_path, monkeypatch):
    """Of maps, one row at a time: gaps before, between and after the values."""
    monkeypatch.setattr(disk, "BLOCK", 1)
    nan = np.nan
    columns = [nan, 3.0, nan, -5.0, 10.0, nan], [nan] * 4 + [7.0, 9.0], [1.0, nan, 2.0] + [nan] * 3
    y = np.array(columns).T
    np.save(tmp_path / "y.npy", y)
    norm = Normalisation.of(Dataset.from_arrays(np.load(tmp_path / "y.npy", mmap_mode="r")))
    np.testing.assert_allclose(norm.y_mean, np.nanmean(y, axis=0), rtol=1e-12)
    np.testing.assert_allclose(norm.y_std, np.nanstd(y, axis=0), rtol=1e-12)


def test_whole_numbers_of_json_become_floating_point():
    arrays = {"u_mean": [0], "u_std": [1], "y_mean": [2], "y_std": [3]}
    norm = Normalisation.from_json({**arrays, "constant_channels": []})
    assert norm.y_std.dtype == np.float64
    with pytest.raises(DataError, match=r"\['constant_channels'\] not found"):
        Normalisation.from_json(arrays)
