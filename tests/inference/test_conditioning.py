"""The soft conditioning step against Kalman's update and dense algebra."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpssm.inference import soft_condition

RNG = np.random.default_rng(0)
MEAN, TARGET = RNG.standard_normal((3, 5)), RNG.standard_normal((3, 5))
VARIANCE, NOISE = RNG.uniform(0.2, 2.0, (3, 5)), RNG.uniform(0.1, 1.5, (3, 1))
KNOWN = np.ones((3, 1), bool)


def condition(k, known=KNOWN, **options):
    arrays = (jnp.asarray(a) for a in (MEAN, VARIANCE, TARGET, NOISE, known))
    return soft_condition(*arrays, k, **options)


def test_factor_one_is_the_kalman_update():
    """With C = I: K = P (P + R)⁻¹, m + K (y − m), (I − K) P, as full matrices."""
    mean, variance = condition(1.0)
    for n in range(5):
        P, R = np.diag(VARIANCE[:, n]), np.diag(NOISE[:, 0])
        K = P @ np.linalg.inv(P + R)
        np.testing.assert_allclose(mean[:, n], MEAN[:, n] + K @ (TARGET - MEAN)[:, n], rtol=1e-12)
        np.testing.assert_allclose(variance[:, n], np.diag((np.eye(3) - K) @ P), rtol=1e-12)


@pytest.mark.parametrize("k", [1.5, 7.0, 50.0])
def test_variance_is_that_of_the_linear_map(k):
    """m + K (x̃ − m) with x̃ = x + noise is the map [I − K, K] of (m⁻ error, noise)."""
    _, variance = condition(k)
    for n in range(5):
        P, R = np.diag(VARIANCE[:, n]), np.diag(NOISE[:, 0])
        K = P @ np.linalg.inv(R + k * P)
        map_ = np.concatenate([np.eye(3) - K, K], axis=1)
        dense = map_ @ np.block([[P, np.zeros((3, 3))], [np.zeros((3, 3)), R]]) @ map_.T
        np.testing.assert_allclose(variance[:, n], np.diag(dense), rtol=1e-12)
        short_form = np.diag((np.eye(3) - K) @ P)
        assert np.all(np.abs(short_form / variance[:, n] - 1.0) > 1e-3)


def test_inflated_noise_is_the_kalman_update_with_a_noisier_target():
    """r + (k − 1) v⁻ in the gain and in the variance: an ordinary update with that noise."""
    k = 4.0
    mean, variance = condition(k, inflate_noise=True)
    noisy = NOISE + (k - 1.0) * VARIANCE
    K = VARIANCE / (VARIANCE + noisy)
    np.testing.assert_allclose(mean, MEAN + K * (TARGET - MEAN), rtol=1e-12)
    np.testing.assert_allclose(variance, (1.0 - K) * VARIANCE, rtol=1e-12)


def test_infinite_factor_changes_nothing():
    mean, variance = condition(float("inf"))
    np.testing.assert_array_equal(mean, MEAN)
    np.testing.assert_array_equal(variance, VARIANCE)


def test_unknown_targets_change_nothing():
    known = np.array([[True], [False], [True]])
    mean, variance = condition(2.0, known)
    np.testing.assert_array_equal(mean[1], MEAN[1])
    np.testing.assert_array_equal(variance[1], VARIANCE[1])
    assert np.all(np.abs(mean[::2] - MEAN[::2]) > 1e-4)


@given(k=st.floats(1.0, 1e4), variance=st.floats(1e-6, 1e3), noise=st.floats(1e-6, 1e3))
def test_gain_and_variance_fall_with_the_factor(k, variance, noise):
    """0 < K ≤ 1/k, and conditioning never makes a state more uncertain."""
    one = lambda value: jnp.full((1, 1), value)  # noqa: E731
    known = jnp.ones((1, 1), bool)
    mean, new = soft_condition(one(0.0), one(variance), one(1.0), one(noise), known, k)
    assert 0.0 < mean[0, 0] <= 1.0 / k * (1 + 1e-9)
    assert 0.0 < new[0, 0] <= variance * (1 + 1e-9)
