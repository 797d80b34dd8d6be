"""The sparse GP against dense Gaussian algebra, GPJax and the exact GP."""

import equinox as eqx
import gpjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gpjax.variational_families import VariationalGaussian, WhitenedVariationalGaussian

from gpssm.gp import SparseGP, conditional, factorise, kl_divergence, make_kernel, make_keys
from gpssm.gp.sparse import (
    FIRST_JITTER,
    InducingPosterior,
    inducing_cholesky,
    make_inducing_posterior,
    sample_inducing,
)

M, INPUTS, OUTPUTS = 7, 3, 2
FAMILIES = [(c, w) for c in ("diagonal", "full", "delta") for w in (True, False)]


def make_gp(covariance: str, whitened: bool, groups: int = 1, seed: int = 0) -> SparseGP:
    """A sparse GP with values far from zero everywhere."""
    keys = jax.random.split(jax.random.key(seed), 4)
    kernel = make_kernel("rbf", INPUTS, groups, variance=1.3, lengthscale=1.1)
    if groups > 1:
        shift = 0.5 * jax.random.normal(keys[3], kernel.raw_lengthscales.shape)
        kernel = jax.tree.map(lambda a: a + (shift if a.ndim == 2 else 0.0), kernel)
    z = 1.5 * jax.random.normal(keys[0], (M, INPUTS))
    mean = 1.0 + jax.random.normal(keys[1], (OUTPUTS, M))
    q = make_inducing_posterior(mean, 0.6, covariance, whitened)
    if q.raw_scale is not None:
        noise = 0.3 * jax.random.normal(keys[2], q.raw_scale.shape)
        q = InducingPosterior(mean, q.raw_scale + noise, whitened, covariance)
    return SparseGP(kernel, z, q)


def dense(gp: SparseGP, output: int):
    """Kzz, and mean and covariance of q(u) in u-space, with plain numpy."""
    z, q = gp.inducing_inputs.T, gp.posterior
    K = np.asarray(gp.kernel.matrix(z, z))
    K = K[min(output, K.shape[0] - 1)]
    mean = np.asarray(q.mean[output])
    if q.covariance == "delta":
        S = np.zeros((M, M))
    elif q.covariance == "diagonal":
        S = np.diag(np.asarray(q.std[output]) ** 2)
    else:
        S = np.asarray(q.root[output] @ q.root[output].T)
    if q.whitened:
        L = np.linalg.cholesky(K)
        mean, S = L @ mean, L @ S @ L.T
    return K, mean, S


@eqx.filter_jit
def factored(gp: SparseGP, dtype=jnp.float64):
    Lz = inducing_cholesky(gp, dtype)
    return factorise(gp, Lz, dtype), Lz


@pytest.mark.parametrize("groups", [1, OUTPUTS])
@pytest.mark.parametrize(("covariance", "whitened"), FAMILIES)
def test_conditional_equals_dense_algebra(covariance, whitened, groups, key):
    gp = make_gp(covariance, whitened, groups)
    x = 1.5 * jax.random.normal(key, (INPUTS, 11))
    mean, variance = conditional(factored(gp)[0], x)
    for d in range(OUTPUTS):
        K, m, S = dense(gp, d)
        g = min(d, groups - 1)
        kx = np.asarray(gp.kernel.matrix(gp.inducing_inputs.T, x))[g]
        B = np.linalg.solve(K, kx)
        explained = np.sum(kx * B, axis=0)
        oracle = np.asarray(gp.kernel.diagonal(x))[g] - explained + np.sum(B * (S @ B), axis=0)
        np.testing.assert_allclose(mean[d], B.T @ m, rtol=1e-5)
        np.testing.assert_allclose(variance[d], oracle, rtol=1e-5, atol=1e-7)


def plain_moments(gp: SparseGP, x):
    """The moments of f(x) by solving with Kzz, all of it left to JAX's own derivatives."""
    z, q = gp.inducing_inputs.T, gp.posterior
    K = gp.kernel.matrix(z, z)
    scale = FIRST_JITTER["float64"] * jnp.mean(jnp.diagonal(K, axis1=-2, axis2=-1))
    K = K + scale * jnp.eye(M)[None]
    k = jnp.stack([gp.kernel.matrix(z, x)[g] for g in range(K.shape[0])])
    K, k = (jnp.broadcast_to(a, (OUTPUTS, *a.shape[1:])) for a in (K, k))
    L = jnp.linalg.cholesky(K)
    b = jnp.linalg.solve(K, k)
    to_q = jnp.swapaxes(L, 1, 2) @ b if q.whitened else b
    root = q.root if q.std is None else q.std[..., None] * jnp.eye(M)[None]
    added = 0.0
    if root is not None:
        added = jnp.sum(jnp.square(jnp.swapaxes(root, 1, 2) @ to_q), axis=1)
    mean = jnp.sum(q.mean[..., None] * to_q, axis=1)
    total = jnp.broadcast_to(gp.kernel.diagonal(x), mean.shape)
    return mean, total - jnp.sum(k * b, axis=1) + added


@pytest.mark.parametrize("groups", [1, OUTPUTS])
@pytest.mark.parametrize(("covariance", "whitened"), FAMILIES)
def test_derivatives_of_the_moments_equal_those_of_the_plain_formula(
    covariance, whitened, groups, key
):
    gp = make_gp(covariance, whitened, groups)
    x = 1.5 * jax.random.normal(key, (INPUTS, 11))
    weights = 1.0 + jax.random.uniform(jax.random.key(1), (2, OUTPUTS, 11))

    def some_number(moments):
        return jnp.sum(weights[0] * jnp.sin(moments[0]) + weights[1] * jnp.log(moments[1]))

    def gradient(moments):
        return eqx.filter_jit(jax.grad(lambda *given: some_number(moments(*given)), argnums=(0, 1)))

    ours, plain = gradient(lambda gp, x: conditional(factored(gp)[0], x)), gradient(plain_moments)
    for mine, theirs in zip(
        jax.tree.leaves(ours(gp, x)), jax.tree.leaves(plain(gp, x)), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("groups", [1, OUTPUTS])
@pytest.mark.parametrize(("covariance", "whitened"), FAMILIES)
def test_kl_equals_dense_algebra(covariance, whitened, groups):
    gp = make_gp(covariance, whitened, groups)
    oracle = 0.0
    for d in range(OUTPUTS):
        K, m, S = dense(gp, d)
        if covariance == "delta":  # −log p(u), in the space in which q is stated
            K = np.eye(M) if whitened else K
            m = np.asarray(gp.posterior.mean[d])
            oracle += 0.5 * (m @ np.linalg.solve(K, m) + np.linalg.slogdet(2 * np.pi * K)[1])
        else:
            trace, distance = np.trace(np.linalg.solve(K, S)), m @ np.linalg.solve(K, m)
            determinants = np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]
            oracle += 0.5 * (trace + distance - M + determinants)
    np.testing.assert_allclose(kl_divergence(gp, factored(gp)[1]), oracle, rtol=1e-5)


@pytest.mark.parametrize("whitened", [True, False])
def test_conditional_and_kl_equal_gpjax(whitened, key):
    gp = make_gp("full", whitened)
    x = 1.5 * jax.random.normal(key, (INPUTS, 5))
    factor, Lz = factored(gp)
    mean, variance = conditional(factor, x)
    family = WhitenedVariationalGaussian if whitened else VariationalGaussian
    prior = gpjax.gps.Prior(
        kernel=gpjax.kernels.RBF(
            lengthscale=gp.kernel.lengthscales[0], variance=gp.kernel.variance[0]
        ),
        mean_function=gpjax.mean_functions.Zero(),
        jitter=FIRST_JITTER["float64"],
    )
    total = 0.0
    for d in range(OUTPUTS):
        q = family(
            model=prior * gpjax.likelihoods.Gaussian(),
            inducing_inputs=gp.inducing_inputs,
            variational_mean=gp.posterior.mean[d][:, None],
            variational_root_covariance=gp.posterior.root[d],
        )
        theirs = q.predict(x.T)
        np.testing.assert_allclose(mean[d], theirs.mean.ravel(), rtol=1e-5)
        np.testing.assert_allclose(variance[d], theirs.variance, rtol=1e-5)
        total += q.prior_kl()
    np.testing.assert_allclose(kl_divergence(gp, Lz), total, rtol=1e-5)


@pytest.mark.parametrize("whitened", [True, False])
def test_optimal_inducing_values_at_the_data_recover_the_exact_gp(whitened, key):
    """With z at the data, the optimal q(u) is the exact posterior of f(z)."""
    noise = 0.1
    gp = make_gp("full", whitened)
    z = gp.inducing_inputs
    y = np.sin(np.asarray(z).sum(axis=1)) + 2.0
    K = np.asarray(gp.kernel.matrix(z.T, z.T))[0]
    gain = np.linalg.solve(K + noise * np.eye(M), K).T
    mean, S = gain @ y, K - gain @ K
    L = np.linalg.cholesky(K)
    if whitened:
        mean, S = np.linalg.solve(L, mean), np.linalg.solve(L, np.linalg.solve(L, S).T)
    root = np.linalg.cholesky(S)
    raw = np.tril(root, -1) + np.diag(np.log(np.expm1(np.diag(root))))
    q = InducingPosterior(jnp.asarray(mean)[None], jnp.asarray(raw)[None], whitened, "full")
    x = jax.random.normal(key, (INPUTS, 20))
    ours = conditional(factored(SparseGP(gp.kernel, z, q))[0], x)
    kx = np.asarray(gp.kernel.matrix(z.T, x))[0]
    solved = np.linalg.solve(K + noise * np.eye(M), kx)
    np.testing.assert_allclose(ours[0][0], solved.T @ y, rtol=1e-5)
    exact_variance = np.asarray(gp.kernel.diagonal(x))[0] - np.sum(kx * solved, axis=0)
    np.testing.assert_allclose(ours[1][0], exact_variance, rtol=1e-4)


@pytest.mark.parametrize(("covariance", "whitened"), FAMILIES)
def test_single_precision_rollout_stays_close_to_double(covariance, whitened, key):
    """The factor is computed in float64; only the products run in float32."""
    gp = make_gp(covariance, whitened)
    x = 1.5 * jax.random.normal(key, (INPUTS, 50))
    exact = conditional(factored(gp)[0], x)
    single = conditional(factored(gp, jnp.float32)[0], x.astype(jnp.float32))
    assert single[0].dtype == single[1].dtype == jnp.float32
    for ours, oracle in zip(single, exact, strict=True):
        np.testing.assert_allclose(ours, oracle, rtol=2e-3, atol=2e-3)


# Where the inducing inputs are crowded: the worst relative error of any gradient that is borne.
CROWDED = {
    "rbf, long length scales": (("rbf", 5, 20, 6.0), 5e-3),
    "rbf, many": (("rbf", 6, 60, 4.0), 1e-2),
    "matern52": (("matern52", 4, 60, 4.0), 1e-2),
    "linear, more than inputs": (("linear", 6, 40, 1.0), 0.4),
}


@pytest.mark.parametrize(("crowd", "bearable"), CROWDED.values(), ids=CROWDED.keys())
def test_single_precision_gradients_stay_close_to_double(crowd, bearable, key):
    """Training takes them as they are: a bound that rounding crosses is a model that never learns.

    What is drawn at each step of a rollout is m + √v ε, and log v is in its density.
    """
    name, inputs, m, lengthscale = crowd
    keys = jax.random.split(key, 5)
    z, x = jax.random.normal(keys[0], (m, inputs)), jax.random.normal(keys[1], (inputs, 500))
    mean = 0.3 * jnp.sin(jax.random.normal(keys[2], (4, inputs)) @ z.T)
    q = make_inducing_posterior(mean, 1e-2, "diagonal", whitened=False)
    gp = SparseGP(make_kernel(name, inputs, 1, 0.25, lengthscale), z, q)
    noise, slope = jax.random.normal(keys[3], (2, 4, 500))

    @eqx.filter_jit
    def gradients(gp, x, dtype):
        return jax.grad(some_number, argnums=(0, 1))(gp, x, dtype)

    def some_number(gp, x, dtype):
        Lz = inducing_cholesky(gp, jnp.float32)  # the jitter is the model's, not the rounding's
        mean, variance = conditional(factorise(gp, Lz, dtype), x.astype(dtype))
        drawn = mean + jnp.sqrt(variance + 1e-4) * noise.astype(dtype)
        return jnp.sum(slope * drawn + 0.5 * jnp.log(variance + 1e-4))

    single, double = (gradients(gp, x, dtype) for dtype in (jnp.float32, jnp.float64))
    for ours, oracle in zip(jax.tree.leaves(single), jax.tree.leaves(double), strict=True):
        assert jnp.linalg.norm(ours - oracle) < bearable * jnp.linalg.norm(oracle)


def test_coinciding_inducing_inputs_have_a_finite_gradient():
    gp = make_gp("diagonal", False)
    z = jnp.tile(gp.inducing_inputs[:1], (M, 1))

    def value(z):
        twin = SparseGP(gp.kernel, z, gp.posterior)
        factor, Lz = factored(twin)
        mean, variance = conditional(factor, jnp.ones((INPUTS, 4)))
        return jnp.sum(mean) + jnp.sum(variance) + kl_divergence(twin, Lz)

    assert np.isfinite(jax.jit(jax.grad(value))(z)).all()


@pytest.mark.parametrize(("covariance", "whitened"), [f for f in FAMILIES if f[0] != "delta"])
def test_sampled_inducing_values_have_the_moments_of_q(covariance, whitened, key):
    gp = make_gp(covariance, whitened)
    draws, count = sample_inducing(make_keys(key, 1), factored(gp)[0], 50_000), 50_000
    for d in range(OUTPUTS):
        K, m, S = dense(gp, d)
        u = np.linalg.cholesky(K) @ np.asarray(draws[d])
        assert np.all(np.abs(u.mean(axis=1) - m) < 5.0 * np.sqrt(np.diag(S) / count) + 1e-6)
        spread = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / count)
        assert np.all(np.abs(np.cov(u) - S) < 5.0 * spread + 1e-6)
