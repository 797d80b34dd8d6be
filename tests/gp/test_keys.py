"""Keys: what a sequence draws is its own business."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.gp import Keys, make_keys

precisions = pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])


@precisions
def test_every_sequence_draws_what_jax_draws_with_its_key(key, dtype):
    keys = make_keys(key, 6)
    drawn = jax.jit(lambda keys: keys.normal((3, 2), 5, dtype))(keys).reshape(3, 2, 6, 5)
    for i, own in enumerate(keys.each):
        np.testing.assert_array_equal(drawn[:, :, i], jax.random.normal(own, (3, 2, 5), dtype))


def test_another_generator_than_threefry_may_be_used():
    keys = make_keys(jax.random.key(0, impl="rbg"), 4)
    drawn = np.asarray(keys.normal((50,), 100, jnp.float32))
    assert abs(drawn.var() - 1.0) < 5.0 * np.sqrt(2.0 / drawn.size)


@precisions
def test_a_batch_can_be_cut_anywhere(key, dtype):
    keys = make_keys(key, 6)
    whole = keys.normal((3, 2), 5, dtype)
    for begin, end in ((0, 2), (2, 6)):
        part = Keys(keys.shared, keys.each[begin:end]).normal((3, 2), 5, dtype)
        np.testing.assert_array_equal(part, whole[..., 5 * begin : 5 * end])


@precisions
def test_particles_can_be_cut_into_equal_shares(key, dtype):
    keys = make_keys(key, 4)
    purpose = keys.split(2)[1].normal((3,), 6, dtype).reshape(3, 4, 6)
    for i in range(3):
        share = Keys(keys.shared, keys.each, jnp.asarray(i), 3).split(2)[1]
        part = share.normal((3,), 2, dtype).reshape(3, 4, 2)
        np.testing.assert_array_equal(part, purpose[..., 2 * i : 2 * i + 2])


def test_splits_sequences_and_purposes_are_independent(key):
    first, second = make_keys(key, 4).split(2)
    draws = [np.ravel(k.normal((50,), 200, jnp.float64)) for k in (first, second)]
    assert abs(np.corrcoef(draws)[0, 1]) < 5.0 / np.sqrt(draws[0].size)
    by_sequence = draws[0].reshape(50, 4, 200).swapaxes(0, 1).reshape(4, -1)
    off_diagonal = np.corrcoef(by_sequence)[np.triu_indices(4, 1)]
    assert np.all(np.abs(off_diagonal) < 5.0 / np.sqrt(by_sequence.shape[1]))


def test_normal_numbers_are_standard_normal(key):
    draws = np.asarray(make_keys(key, 10).normal((20,), 500, jnp.float32))
    assert draws.dtype == np.float32
    assert abs(draws.mean()) < 5.0 / np.sqrt(draws.size)
    assert abs(draws.var() - 1.0) < 5.0 * np.sqrt(2.0 / draws.size)


def test_shared_key_is_the_one_that_was_given(key):
    assert make_keys(key, 3).shared == key
    assert not jnp.any(make_keys(key, 3).each == jax.random.key(0))
