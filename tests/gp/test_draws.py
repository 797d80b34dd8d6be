"""The five ways to draw f along a trajectory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_sparse import INPUTS, OUTPUTS, M, factored, make_gp

from gpssm.gp import FUNCTION_DRAWS, conditional, make_keys
from gpssm.gp.sparse import whitened_features

COUNT = 20_000


def moments_over_draws(name, factor, key, x):
    """Mean and variance of f(x) over many draws, with the standard errors of both."""
    draw = FUNCTION_DRAWS[name]
    state = draw.start(make_keys(key, 1), factor, COUNT)
    mean, variance = draw.evaluate(factor, state, jnp.tile(x[:, None], (1, COUNT)))
    noise = jax.random.normal(jax.random.key(9), mean.shape)
    f = np.asarray(mean + jnp.sqrt(variance) * noise)
    spread = f.var(axis=1)
    return f.mean(axis=1), spread, np.sqrt(spread / COUNT), spread * np.sqrt(2.0 / COUNT)


@pytest.mark.parametrize("whitened", [True, False])
@pytest.mark.parametrize("name", ["independent", "trajectory"])
def test_marginals_of_a_draw_are_those_of_the_sparse_gp(name, whitened, key):
    factor, _ = factored(make_gp("diagonal", whitened))
    x = jnp.array([0.4, -0.8, 1.1])
    mean, variance, mean_error, variance_error = moments_over_draws(name, factor, key, x)
    exact = conditional(factor, x[:, None])
    assert np.all(np.abs(mean - exact[0][:, 0]) < 5.0 * mean_error)
    assert np.all(np.abs(variance - exact[1][:, 0]) < 5.0 * variance_error)


@pytest.mark.parametrize("groups", [1, OUTPUTS])
def test_pathwise_moments_equal_matherons_rule_in_closed_form(groups, key):
    """Given the features φ: E f = aᵀm, Var f = |φ(x) − φ(z) Lz⁻ᵀa|² + the part of q(u)."""
    factor, _ = factored(make_gp("full", False, groups))
    x = jnp.array([0.4, -0.8, 1.1])
    mean, variance, mean_error, variance_error = moments_over_draws("pathwise", factor, key, x)
    features = FUNCTION_DRAWS["pathwise"].start(make_keys(key, 1), factor, 1).shared
    a = whitened_features(factor, x[:, None])
    for d in range(OUTPUTS):
        g = min(d, groups - 1)
        rest = features(x[:, None])[g] - features(factor.z)[g] @ factor.Lz_inverse[g].T @ a[g]
        exact = jnp.sum(rest**2) + jnp.sum((factor.root[d].T @ a[g]) ** 2)
        assert abs(mean[d] - factor.mean[d] @ a[g][:, 0]) < 5.0 * mean_error[d]
        assert abs(variance[d] - exact) < 5.0 * variance_error[d]


def test_pathwise_prior_part_tends_to_the_exact_conditional_variance(key):
    """Averaged over feature draws, |φ(x) − φ(z) Lz⁻ᵀa|² is k(x,x) − aᵀa."""
    factor, _ = factored(make_gp("delta", True))
    x = jnp.array([[0.4], [-0.8], [1.1]])
    a = whitened_features(factor, x)[0]
    start = FUNCTION_DRAWS["pathwise"].start

    def variance(key):
        features = start(make_keys(key, 1), factor, 1).shared
        rest = features(x)[0] - features(factor.z)[0] @ factor.Lz_inverse[0].T @ a
        return jnp.sum(rest**2)

    values = jax.vmap(variance)(jax.random.split(key, 400))
    exact = (factor.kernel.diagonal(x) - jnp.sum(a**2))[0, 0]
    assert abs(values.mean() - exact) < 4.0 * values.std() / 20.0


def test_pathwise_draws_one_function_per_particle(key):
    """The same x visited twice gives the same f; other particles have other functions."""
    factor, _ = factored(make_gp("diagonal", False))
    draw = FUNCTION_DRAWS["pathwise"]
    state = draw.start(make_keys(key, 1), factor, 6)
    there = jax.random.normal(key, (INPUTS, 6))
    first, variance = draw.evaluate(factor, state, there)
    draw.evaluate(factor, state, -there)
    again, _ = draw.evaluate(factor, state, there)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(variance, 0.0)
    same_x = draw.evaluate(factor, state, jnp.tile(there[:, :1], (1, 6)))[0]
    assert np.all(np.std(same_x, axis=1) > 0.05)


def test_a_trajectory_draw_is_consistent_at_the_inducing_inputs(key):
    """At z the conditional variance vanishes: f(z_m) is the drawn u_m, whenever it is visited."""
    gp = make_gp("diagonal", False)
    factor, Lz = factored(gp)
    draw = FUNCTION_DRAWS["trajectory"]
    state = draw.start(make_keys(key, 1), factor, M)
    mean, variance = draw.evaluate(factor, state, factor.z)
    u = jnp.diagonal(Lz[0] @ state.particles, axis1=1, axis2=2)
    np.testing.assert_allclose(mean, u, rtol=1e-5, atol=1e-6)
    assert np.all(variance < 1e-6)


@pytest.mark.parametrize(
    ("name", "count"),
    [("independent", 50), ("trajectory", 1), ("mean", 1), ("delta", 1), ("pathwise", 1)],
)
def test_kl_counts_every_step_only_where_u_is_drawn_anew(name, count):
    assert FUNCTION_DRAWS[name].kl_count(50) == count


@pytest.mark.parametrize("name", ["trajectory", "pathwise"])
def test_tiled_draws_are_the_same_functions_side_by_side(name, key):
    factor, _ = factored(make_gp("full", True))
    draw = FUNCTION_DRAWS[name]
    state = draw.start(make_keys(key, 1), factor, 4)
    x = jax.random.normal(key, (INPUTS, 4))
    once = draw.evaluate(factor, state, x)[0]
    thrice = draw.evaluate(factor, state.tile(3), jnp.tile(x, (1, 3)))[0]
    np.testing.assert_allclose(thrice, jnp.tile(once, (1, 3)), rtol=1e-12)
