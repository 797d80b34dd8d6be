"""A linear model inside: its moments, the draws of A, and its backward pass."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.gp import make_keys
from gpssm.model import Affine, LinearPart

STATES, OUTPUTS, INPUTS, N = 3, 1, 2, 5


@pytest.fixture
def part():
    rng = np.random.default_rng(1)
    seen, signals = STATES + INPUTS + 1, STATES - OUTPUTS + 2 * OUTPUTS + INPUTS + 1
    gram = rng.normal(size=(2 * seen, seen))
    root = np.linalg.inv(np.linalg.cholesky(gram.T @ gram)).T
    return LinearPart(
        rng.normal(size=(STATES, seen)),
        root,
        rng.uniform(0.5, 2.0, STATES),
        rng.normal(size=(STATES - OUTPUTS, signals)),
        rng.uniform(0.5, 2.0, STATES - OUTPUTS),
    )


def point(n=N):
    rng = np.random.default_rng(2)
    return jnp.asarray(rng.normal(size=(STATES, n))), jnp.asarray(rng.normal(size=(INPUTS, n)))


def test_its_step_is_the_equation(part):
    dynamics, (x, u) = Affine.of(part), point()
    A = jnp.broadcast_to(jnp.asarray(part.weights)[..., None], (*part.weights.shape, N))
    f_mean, f_variance = x**2, jnp.abs(x) + 0.1
    mean, variance = dynamics.moments(A.reshape(-1, N), x, u, f_mean, f_variance)
    phi = np.concatenate([x, u, np.ones((1, N))])
    wanted = x + part.weights @ phi + part.scale[:, None] * f_mean
    assert np.asarray(mean) == pytest.approx(np.asarray(wanted))
    assert np.asarray(variance) == pytest.approx(part.scale[:, None] ** 2 * np.asarray(f_variance))


def test_draws_have_the_posterior_of_bayesian_linear_regression(part):
    draws = 20_000
    A = Affine.of(part).start(make_keys(jax.random.key(3), 1), draws)
    A = np.asarray(A).reshape(*part.weights.shape, draws)
    covariance = part.root @ part.root.T
    for i, (W, s) in enumerate(zip(part.weights, part.scale, strict=True)):
        wanted = s**2 * covariance
        std = np.sqrt(np.diag(wanted))
        assert np.all(np.abs(A[i].mean(axis=1) - W) < 4.5 * std / np.sqrt(draws))
        relative = np.cov(A[i]) / np.outer(std, std) - wanted / np.outer(std, std)
        assert np.max(np.abs(relative)) < 4.5 * np.sqrt(2.0 / draws)


def test_training_cannot_move_what_was_fitted_but_moves_q_of_a(part):
    dynamics, (x, u) = Affine.of(part), point(1)
    keys = make_keys(jax.random.key(0), 1)

    def loss(dynamics):
        zero = jnp.zeros((STATES, 1))
        mean, _ = dynamics.moments(dynamics.start(keys, 1), x, u, zero, zero)
        return jnp.sum(mean**2)

    gradient = jax.grad(loss)(dynamics)
    assert all(not np.any(each) for each in gradient.part)
    assert np.all(gradient.mean != 0)
    assert np.all(gradient.raw_std != 0)


def test_the_kl_is_zero_at_the_linear_fit_and_that_of_gaussians_elsewhere(part):
    dynamics = Affine.of(part)
    assert float(dynamics.parameter_kl()) == pytest.approx(0.0, abs=1e-12)
    moved = Affine(dynamics.part, dynamics.mean + 0.5, dynamics.raw_std)
    assert float(moved.parameter_kl()) == pytest.approx(0.125 * dynamics.mean.size)


def test_it_looks_back_by_its_gain(part):
    rng = np.random.default_rng(5)
    h, signal = rng.normal(size=(2, N)), rng.normal(size=(2 * OUTPUTS + INPUTS, N))
    before, seen = Affine.of(part).look_back(jnp.asarray(h), jnp.asarray(signal))
    wanted = part.backward @ np.concatenate([h, signal, np.ones((1, N))])
    assert np.asarray(before) == pytest.approx(wanted)
    assert np.asarray(seen) == pytest.approx(np.concatenate([h, signal]))
    mean, variance = Affine.of(part).moments_back(before, jnp.ones((2, N)), jnp.ones((2, N)))
    assert np.asarray(mean - before) == pytest.approx(np.tile(part.backward_scale[:, None], N))
    assert np.asarray(variance) == pytest.approx(np.tile(part.backward_scale[:, None] ** 2, N))
