"""The Cholesky factor, its inverse and their derivative, against JAX's own and against LAPACK."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from gpssm.gp.cholesky import cholesky

M = 7
JITTER = 1e-3  # large, so that its derivative counts


def matrices(key, *shape: int):
    """Symmetric and positive definite, of different sizes."""
    root = jax.random.normal(key, (*shape, M, M))
    size = (1.0 + np.arange(shape[-1])) * np.ones(shape)
    return size[..., None, None] * (root @ root.mT + np.broadcast_to(np.eye(M), root.shape))


def by_jax(K, jitter: float):
    """The same with JAX's derivatives."""
    scale = jnp.mean(jnp.diagonal(K, axis1=-2, axis2=-1))
    L = jnp.linalg.cholesky(K + jitter * scale * jnp.eye(M)[None])
    eye = jnp.broadcast_to(jnp.eye(M), L.shape)
    return L, jax.scipy.linalg.solve_triangular(L, eye, lower=True)


def some_number(factors):
    """That depends on every entry of both matrices in another way."""
    weights = [jnp.cos(1.0 + i + jnp.arange(f.size, dtype=float)) for i, f in enumerate(factors)]
    return sum(jnp.sum(w.reshape(f.shape) * f**2) for w, f in zip(weights, factors, strict=True))


def test_factor_and_inverse(key):
    K = matrices(key, 3)
    L, inverse = cholesky(K, 1e-8)
    np.testing.assert_allclose(L @ L.mT, K, rtol=1e-6)
    np.testing.assert_array_equal(L, jnp.tril(L))
    np.testing.assert_allclose(inverse @ L, jnp.broadcast_to(jnp.eye(M), L.shape), atol=1e-12)


@pytest.mark.parametrize("groups", [1, 3])
def test_derivative_equals_that_of_jax(groups, key):
    K = matrices(key, groups)
    ours = jax.grad(lambda K: some_number(cholesky(K, JITTER)))(K)
    theirs = jax.grad(lambda K: some_number(by_jax(K, JITTER)))(K)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * jnp.abs(theirs).max())


def test_derivative_equals_finite_differences(key):
    square = lambda root: root @ root.mT + jnp.eye(M)[None]  # noqa: E731
    value = lambda root: some_number(cholesky(square(root), JITTER))  # noqa: E731
    check_grads(value, (jax.random.normal(key, (2, M, M)),), order=1, modes=["rev"], rtol=1e-5)


def test_many_at_once_are_each_alone(key):
    """Values, derivatives and the jitter of each: the second matrix needs more of it."""
    K = matrices(key, 2, 1).at[1, 0, 0, :].set(0.0).at[1, 0, :, 0].set(0.0).at[1, 0, 0, 0].set(-0.1)
    both = jax.value_and_grad(lambda K: some_number(cholesky(K, 1e-8)))
    together = jax.vmap(both)(K)
    for i in range(2):
        for ours, oracle in zip(together, both(K[i]), strict=True):
            np.testing.assert_allclose(ours[i], oracle, rtol=1e-12)


def test_lapack_sees_one_matrix_at_a_time(key):
    """A batch of large ones can wait for another one for ever."""
    gradients = jax.vmap(jax.grad(lambda K: some_number(cholesky(K, 1e-8))))
    program = jax.jit(gradients).lower(matrices(key, 5, 3)).as_text()
    # what LAPACK is handed, the lines of which end with the types of operands and results
    calls = [line for line in program.splitlines() if "lapack_" in line]
    assert {name for line in calls for name in re.findall(r"@lapack_d(\w+?)_ffi", line)} == {
        "potrf",
        "trsm",
    }
    shapes = {shape for line in calls for shape in re.findall(r"tensor<([\dx]+)xf64>", line)}
    assert shapes == {f"{M}x{M}"}


def test_jitter_stays_where_it_is_not_needed():
    K = jnp.diag(jnp.array([1.0, 2.0, 3.0]))[None]
    L, _ = cholesky(K, 1e-8)
    np.testing.assert_allclose(L @ L.mT - K, 2e-8 * jnp.eye(3)[None], atol=1e-15)


def test_jitter_grows_until_the_factor_exists():
    """Indefinite by 1e-4 of its scale: a jitter of 1e-8 … 1e-5 fails, 1e-3 does not."""
    K = (jnp.diag(jnp.array([1.0, 1.0, -1e-4])))[None]
    L, inverse = cholesky(K, 1e-8)
    added = np.diagonal((L @ L.mT - K)[0])
    assert np.isfinite(L).all()
    assert np.isfinite(inverse).all()
    assert 1e-4 < added[0] < 2e-3
