"""The forward pass, replayed with plain formulas from the particles that it gives."""

import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.inference import Model, Sequences, Weights
from support import linear_system, make_sequences, run_posterior

A, B = np.array([[3.0, 0.2], [-0.1, 0.4]]), np.array([[0.4], [-0.7]])
PROCESS, OUTPUT, K, PARTICLES = np.array([0.3, 0.2]), np.array([0.5, 0.1]), 2.0, 5


def system(**settings):
    """A plant that leaves every range, conditioned softly on both of its states."""
    config = Model(
        dim_x=2, target="observation", k=K, recognition="output", function_draw="delta",
        covariance="delta", warmup=1, inducing_points=3, particles=PARTICLES, **settings,
    )  # fmt: skip
    return linear_system(config, A, B, PROCESS, OUTPUT, np.ones(2))


@pytest.fixture(scope="module")
def sequences():
    """Far from zero on both sides, so that trajectories leave on both."""
    made = make_sequences(batch=2, time=12, dim_y=2)
    return Sequences(made.u, made.y + jnp.array([[[40.0, -40.0], [0.0, 0.0]]]), made.mask)


def replay(x, sequences):
    """Mean and variance of x[t+1] from x[t], before and after the step of conditioning."""
    u = np.repeat(sequences.u[:-1], PARTICLES, axis=2)
    y = np.repeat(sequences.y[1:], PARTICLES, axis=2)
    before = np.einsum("ij,tjn->tin", A, x[:-1]) + np.einsum("ij,tjn->tin", B, u)
    gain = (PROCESS / (OUTPUT + K * PROCESS))[None, :, None]
    after = before + gain * (y - before)
    P, R = PROCESS[None, :, None], OUTPUT[None, :, None]
    return before, P, after, (1.0 - gain) ** 2 * P + gain**2 * R


def test_the_kl_ends_where_a_trajectory_leaves_the_data(key, sequences):
    """Within a hundred spreads, counted at the state before the step; states stop there."""
    found = run_posterior(key, system(), sequences).forward
    x = np.asarray(found.x)
    before, P, after, V = replay(x, sequences)
    kl = 0.5 * (V / P + (after - before) ** 2 / P - 1.0 - np.log(V / P)).sum(axis=1)
    there = (np.abs(x[:-1]) < 100.0).all(axis=1)
    assert 0.1 < there.mean() < 0.9
    assert (x.min(), x.max()) == (-100.0, 100.0)
    wanted = np.where(there, kl, 0.0).mean(axis=1).sum()
    np.testing.assert_allclose(found.state_kl, wanted, rtol=1e-4)  # the jitter of k(z, z)


def test_one_draw_of_the_noise_moves_all_states(key, sequences):
    found = run_posterior(key, system(noise_draw="shared"), sequences).forward
    x = np.asarray(found.x)
    _, _, after, V = replay(x, sequences)
    inside = np.abs(x[1:]).max(axis=1) < 100.0
    noise = np.moveaxis((x[1:] - after) / np.sqrt(V), 1, 0)[:, inside]
    np.testing.assert_allclose(noise[0], noise[1], atol=5e-3)
    assert noise.std() > 0.5


def test_the_weights_of_a_plain_bound_are_one_and_zero_for_the_entropy():
    assert Weights() == (1.0, 1.0, 0.0, 1.0)
