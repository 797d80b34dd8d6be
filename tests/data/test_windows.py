"""Windows: inside experiments, over all samples; batches pure in (key, step) and fair."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm.base.errors import DataError
from gpssm.data import (
    Dataset,
    Normalisation,
    Recency,
    batch,
    choose_windows,
    make_starts,
    make_windows,
    open_windows,
)
from gpssm.data.windows import Windows, WindowsOnDisk


def numbered(lengths):
    """Outputs that say which experiment and which row they are."""
    y = [100.0 * i + np.arange(n) for i, n in enumerate(lengths)]
    return Dataset.from_arrays(y, [np.stack([a, -a], axis=1) for a in y])


def windows_of(data, length, stride, dtype=np.float32):
    norm = Normalisation.identity(data.dim_u, data.dim_y)
    return make_windows(data, norm, length, stride, dtype)


@given(
    lengths=st.lists(st.integers(2, 40), min_size=1, max_size=4),
    length=st.integers(1, 40),
    stride=st.integers(1, 40),
)
@settings(max_examples=60, deadline=None)
def test_windows_cover_all_samples_and_cross_no_border(lengths, length, stride):
    length = min(length, *lengths)
    stride = min(stride, length)
    made = windows_of(numbered(lengths), length, stride)
    rows = np.asarray(made.starts)[:, None] + np.arange(length)
    assert set(rows.ravel()) == set(range(sum(lengths)))
    owner = np.repeat(np.arange(len(lengths)), lengths)[rows]
    assert (owner == owner[:, :1]).all()
    assert len(set(made.starts.tolist())) == len(made.starts)


def test_values_are_normalised_and_gaps_are_masked():
    y = np.array([2.0, np.nan, 6.0, 4.0])
    data = Dataset.from_arrays(y, y[[0, 0, 2, 3]])
    norm = Normalisation.of(data)
    made = make_windows(data, norm, 2, 2, np.float64)
    assert made.u.dtype == made.y.dtype == np.float64  # asked for, whatever the global flag
    np.testing.assert_array_equal(made.mask[:, 0], [True, False, True, True])
    assert made.y[1, 0] == 0.0
    np.testing.assert_allclose(norm.y_mean_back(np.asarray(made.y))[[0, 2, 3], 0], [2, 6, 4])
    np.testing.assert_array_equal(made.starts, [0, 2])


def test_a_system_without_inputs_has_windows_without_inputs():
    data = Dataset.from_arrays(np.arange(6.0))
    made = make_windows(data, Normalisation.of(data), 3, 2, np.float32)
    u, y, _ = batch(made, 3, jax.random.key(0), 0, 2)
    assert u.shape == (2, 3, 0)
    assert (np.diff(y[..., 0], axis=1) > 0).all()


@pytest.mark.parametrize(
    ("length", "stride", "words"),
    [
        (30, 1, ["'data-1'", "20 rows", "largest length that works is 20"]),
        (5, 6, ["stride 6", "stride <= length", "decimate"]),
        (5, 0, ["stride 0"]),
        (0, 1, ["length 0"]),
    ],
)
def test_windows_that_do_not_fit_are_refused(length, stride, words):
    with pytest.raises(DataError) as error:
        windows_of(numbered([50, 20]), length, stride)
    for word in words:
        assert word in str(error.value)


def test_a_batch_is_a_pure_function_of_key_and_step():
    made = windows_of(numbered([50, 20]), 5, 3)
    key = jax.random.key(3)
    jitted = jax.jit(batch, static_argnums=(1, 4))
    for step in (0, 1, 70000):
        plain, compiled = batch(made, 5, key, step, 4), jitted(made, 5, key, step, 4)
        for a, b in zip(plain, compiled, strict=True):
            np.testing.assert_array_equal(a, b)
    _, first, _ = jitted(made, 5, key, 0, 4)
    assert not np.array_equal(first, jitted(made, 5, key, 1, 4)[1])
    assert not np.array_equal(first, jitted(made, 5, jax.random.key(4), 0, 4)[1])


def test_a_batch_holds_whole_windows_with_inputs_that_match():
    made = windows_of(numbered([50, 20]), 5, 3)
    u, y, mask = batch(made, 5, jax.random.key(0), 1, 6)
    np.testing.assert_array_equal(np.diff(y[..., 0], axis=1), 1.0)
    np.testing.assert_array_equal(u[..., 0], y[..., 0])
    np.testing.assert_array_equal(u[..., 1], -y[..., 0])
    assert mask.all()


@pytest.mark.parametrize(("count", "size"), [(12, 4), (13, 4), (3, 8)])
def test_every_window_is_drawn_equally_often(count, size):
    """Also where the windows do not divide by the size, and where there are fewer of them."""
    made = windows_of(numbered([count + 1]), 2, 1)
    draws, key = 4000, jax.random.key(0)
    steps = jnp.arange(draws)
    firsts = jax.jit(jax.vmap(lambda step: batch(made, 2, key, step, size)[1][:, 0, 0]))(steps)
    counts = np.array([(np.asarray(firsts) == w).sum(axis=1) for w in range(count)])
    expected = size / count
    error = counts.std(axis=1) / np.sqrt(draws) + 1e-12
    assert (np.abs(counts.mean(axis=1) - expected) < 5 * error + 1e-9).all()
    # strata: the batch spreads, no window more often than one above its share
    assert counts.max() <= np.ceil(expected) + 1


def test_batches_do_not_depend_on_the_precision_flag():
    made = windows_of(numbered([50, 20]), 5, 3)
    key = jax.random.key(1)
    with jax.enable_x64(False):
        single = batch(made, 5, key, 2, 4)
    with jax.enable_x64(True):
        double = batch(made, 5, key, 2, 4)
    for a, b in zip(single, double, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------------- other starts, other weights


def mapped(path, values):
    np.save(path, values)
    return np.load(path, mmap_mode="r")


def test_rows_on_disk_and_in_memory_are_read_alike(tmp_path):
    numbers = 10.0 + np.arange(9.0)[:, None]
    numbers[4] = np.nan
    norm = Normalisation(*(np.array([each]) for each in (1.0, 4.0, 10.0, 2.0)))
    there = Dataset.from_arrays(numbers, np.arange(9.0))
    on_disk = Dataset.from_arrays(mapped(tmp_path / "y.npy", numbers), np.arange(9.0))
    for data, kind in ((there, Windows), (on_disk, WindowsOnDisk)):
        opened = open_windows(data, norm, 3, 3, np.float32)
        assert isinstance(opened, kind)
        assert opened.num_rows == 9
        u, y, mask = opened.read(np.array([[3], [6]]), 3)
        assert (u.dtype, y.dtype, u.shape) == (np.float32, np.float32, (2, 1, 3, 1))
        assert u[:, 0, :, 0].tolist() == [[0.5, 0.75, 1.0], [1.25, 1.5, 1.75]]
        assert y[:, 0, :, 0].tolist() == [[1.5, 0.0, 2.5], [3.0, 3.5, 4.0]]
        assert mask[:, 0, :, 0].tolist() == [[True, False, True], [True] * 3]
        other = opened.starting_at(make_starts(data, 5, 2))
        assert isinstance(other, kind)
        assert other.starts[np.arange(3)].tolist() == [0, 2, 4]
        assert len(other.starts) == 3


def test_the_last_window_of_each_experiment_is_flush_with_its_end():
    made = windows_of(numbered([10, 7]), 4, 3)
    assert made.starts.tolist() == [0, 3, 6, 10, 13]
    assert windows_of(numbered([11, 4]), 4, 3).starts.tolist() == [0, 3, 6, 7, 11]
    assert made.starts.dtype == np.int32
    assert choose_windows(jax.random.key(0), 0, 5, 2).dtype == np.int32


def test_weights_are_halved_for_every_half_life_of_age():
    starts = np.array([0, 10, 30, 40, 50])
    recency = Recency.of(starts, 10.0)
    weights = np.array([2.0**-5, 2.0**-4, 2.0**-2, 2.0**-1, 1.0])
    np.testing.assert_allclose(recency.cumulative, np.cumsum(weights), rtol=1e-12)
    assert recency.windows == 5
    assert recency.share == pytest.approx(weights.sum() / 5)
    assert isinstance(recency.share, float)


def test_windows_whose_weight_is_lost_in_rounding_are_left_out():
    """Of windows that start at each row those of 60 half-lives, and the newest."""
    recency = Recency.of(make_starts(numbered([250]), 1, 1), 3.0)
    assert len(recency.cumulative) == 181
    assert recency.windows == 250
    assert recency.choose(np.array([0.0])).tolist() == [69]
    assert recency.cumulative[0] == pytest.approx(0.5**60)


def test_a_share_of_the_weight_chooses_a_window():
    recency = Recency(np.array([1.0, 2.0, 4.0]), 10)
    shares = np.array([[0.0, 0.24], [0.25, 0.49], [0.5, 0.99], [1.0, 1.0]])
    assert recency.choose(shares).tolist() == [[7, 7], [8, 8], [9, 9], [9, 9]]
    assert recency.spread(4).tolist() == [7, 8, 9, 9]  # at 1/8, 3/8, 5/8 and 7/8


def test_the_shortest_experiment_may_be_one_window():
    assert windows_of(numbered([9, 5]), 5, 5).starts.tolist() == [0, 4, 9]
    assert windows_of(numbered([3]), 1, 1).starts.tolist() == [0, 1, 2]
