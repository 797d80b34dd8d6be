"""Trajectories that leave the data in training: they stop at a border and have no gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.inference import Weights
from gpssm.inference.forward import LEFT
from gpssm.inference.presets import pr_ssm
from support import elbo, linear_system, make_sequences

TIME = 200
NOISE = np.array([0.01]), np.array([0.1]), np.array([1.0])


def system(pole):
    """PR-SSM with exact linear dynamics of one state, which is the output."""
    config = pr_ssm(
        dim_x=1, recognition="output", function_draw="delta", covariance="delta", warmup=1,
        inducing_points=2, particles=3, informative_initial_state=True,
    )  # fmt: skip
    return linear_system(config, np.array([[pole]]), np.array([[0.5]]), *NOISE)


def gradients(pole):
    sequences = make_sequences(batch=2, time=TIME, dtype=jnp.float32)
    loss = lambda s: elbo(jax.random.key(0), s, sequences, Weights(inducing_kl=0.0)).total  # noqa: E731
    value, slopes = jax.value_and_grad(loss)(system(pole))
    return float(value), [np.asarray(leaf) for leaf in jax.tree.leaves(slopes)]


def test_an_explosive_model_has_a_finite_bound_and_a_finite_gradient():
    value, slopes = gradients(3.0)  # 3²⁰⁰ is no number of single precision
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in slopes)
    assert value > -0.5 * TIME * (LEFT + 10.0) ** 2 / NOISE[1][0]


@pytest.mark.parametrize("pole", [0.5, 0.9])
def test_a_stable_model_never_meets_the_border(pole, monkeypatch):
    value, slopes = gradients(pole)
    monkeypatch.setattr("gpssm.inference.forward.LEFT", 10.0 * LEFT)
    far, same = gradients(pole)
    assert far == value
    assert all(np.array_equal(a, b) for a, b in zip(slopes, same, strict=True))
