"""Kernels against GPJax, against their own random features, and against the law they obey."""

import gpjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.test_util import check_grads

from gpssm.gp import Linear, Product, Stationary, Sum, make_kernel
from gpssm.gp.positive import positive, raw_positive

LENGTHSCALES = np.array([0.7, 1.3, 2.1])
VARIANCE = 1.7
GPJAX = {
    "rbf": gpjax.kernels.RBF,
    "matern12": gpjax.kernels.Matern12,
    "matern32": gpjax.kernels.Matern32,
    "matern52": gpjax.kernels.Matern52,
}


def stationary(profile: str) -> Stationary:
    return Stationary(raw_positive([VARIANCE]), raw_positive(LENGTHSCALES[None]), profile)


@pytest.fixture
def points(key):
    return jax.random.normal(key, (3, 6)), 2.0 * jax.random.normal(jax.random.key(1), (3, 9))


@pytest.mark.parametrize("profile", GPJAX)
def test_stationary_kernels_equal_gpjax(profile, points):
    z, x = points
    theirs = GPJAX[profile](lengthscale=jnp.asarray(LENGTHSCALES), variance=VARIANCE)
    np.testing.assert_allclose(
        stationary(profile).matrix(z, x)[0], theirs.cross_covariance(z.T, x.T), rtol=1e-5
    )


@pytest.mark.parametrize("profile", GPJAX)
def test_derivatives_of_stationary_kernels_equal_finite_differences(profile, points):
    kernel = Stationary(
        raw_positive([VARIANCE, 0.4]), raw_positive([LENGTHSCALES, LENGTHSCALES[::-1]]), profile
    )
    weights = 1.0 + jax.random.uniform(jax.random.key(2), (2, 6, 9))

    def some_number(*point):
        kernel, z, x = jax.tree.map(jnp.asarray, point)  # `check_grads` makes NumPy arrays of them
        return jnp.sum(weights * kernel.matrix(z, x))

    check_grads(some_number, (kernel, *points), order=1, modes=["rev"], rtol=1e-6)


def test_sum_product_and_linear_equal_gpjax(points):
    z, x = points
    rbf, matern = stationary("rbf"), stationary("matern32")
    linear = Linear(raw_positive(np.full((1, 3), VARIANCE)))
    theirs = [
        gpjax.kernels.RBF(lengthscale=jnp.asarray(LENGTHSCALES), variance=VARIANCE),
        gpjax.kernels.Matern32(lengthscale=jnp.asarray(LENGTHSCALES), variance=VARIANCE),
        gpjax.kernels.Linear(variance=VARIANCE),
    ]
    ours = Sum(Product(rbf, matern), linear).matrix(z, x)[0]
    oracle = (theirs[0] * theirs[1] + theirs[2]).cross_covariance(z.T, x.T)
    np.testing.assert_allclose(ours, oracle, rtol=1e-6)


@pytest.mark.parametrize("name", ["rbf", "matern12", "linear", "rbf+linear", "rbf*matern52+linear"])
def test_diagonal_is_the_diagonal_of_the_matrix(name, points):
    kernel = make_kernel(name, inputs=3, groups=2, variance=0.8, lengthscale=1.5)
    x = points[1]
    full = jnp.diagonal(kernel.matrix(x, x), axis1=1, axis2=2)
    np.testing.assert_allclose(kernel.diagonal(x), full, rtol=1e-5)


def test_groups_are_separate_kernels(points):
    z, x = points
    lengthscales = np.array([[0.5, 1.0, 2.0], [3.0, 0.4, 1.1]])
    variances = np.array([0.3, 2.0])
    both = Stationary(raw_positive(variances), raw_positive(lengthscales), "matern52")
    for g in range(2):
        one = Stationary(raw_positive(variances[[g]]), raw_positive(lengthscales[[g]]), "matern52")
        np.testing.assert_allclose(both.matrix(z, x)[g], one.matrix(z, x)[0], rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(["rbf", "matern12", "matern32", "matern52", "linear", "rbf*linear"]),
    inputs=st.integers(1, 5),
    n=st.integers(1, 12),
    seed=st.integers(0, 2**16),
)
def test_every_kernel_matrix_is_positive_semidefinite(name, inputs, n, seed):
    x = 3.0 * jax.random.normal(jax.random.key(seed), (inputs, n))
    matrix = make_kernel(name, inputs).matrix(x, x)[0]
    assert np.linalg.eigvalsh(matrix).min() > -1e-8 * np.trace(matrix)


@pytest.mark.parametrize("name", [*GPJAX, "linear", "rbf+linear", "matern32*linear"])
def test_random_features_have_the_kernel_as_their_covariance(name, points):
    """E[φ(z)ᵀφ(x)] = k(z, x): the average over features, in standard errors."""
    z, x = points
    kernel, count = make_kernel(name, inputs=3, variance=VARIANCE, lengthscale=1.4), 40_000
    features = kernel.features(jax.random.key(3), count, jnp.float64)
    products = count * features(z)[0][:, :, None] * features(x)[0][:, None, :]
    error = np.abs(products.mean(axis=0) - kernel.matrix(z, x)[0])
    assert np.all(error < 5.0 * products.std(axis=0) / np.sqrt(count))


def test_unknown_kernel_is_named_with_what_there_is():
    with pytest.raises(ValueError, match="got 'rbff', expected one of rbf, matern12"):
        make_kernel("rbff", inputs=1)


@given(st.floats(1e-8, 1e6))
def test_positive_parameters_round_trip(value):
    np.testing.assert_allclose(positive(raw_positive(value)), value, rtol=1e-9)


def test_positive_parameters_refuse_zero():
    with pytest.raises(ValueError, match="above zero"):
        raw_positive([1.0, 0.0])
