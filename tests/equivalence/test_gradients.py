"""Gradients of the ELBO against finite differences, for every preset and kind of draw."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.inference import Weights, cbf_ssm, method
from gpssm.inference.methods.registry import METHODS
from support import SMALL, elbo, make_sequences, make_system

WEIGHTS = Weights(state_kl=0.9, inducing_kl=0.1, entropy=0.1)
VARIANTS = {
    **{name: method(name, dim_x=2, **SMALL) for name in METHODS},
    "pathwise": cbf_ssm(dim_x=2, function_draw="pathwise", **SMALL),
    "mean": cbf_ssm(dim_x=2, function_draw="mean", **SMALL),
    "delta": cbf_ssm(dim_x=2, function_draw="delta", covariance="delta", **SMALL),
    "whitened full": cbf_ssm(dim_x=2, whitened=True, covariance="full", **SMALL),
    "whitened diagonal": cbf_ssm(dim_x=2, whitened=True, **SMALL),
    "full": cbf_ssm(dim_x=2, covariance="full", kernel="matern52+linear", **SMALL),
    "per output": cbf_ssm(dim_x=2, kernel_per_output=True, kernel="matern32", **SMALL),
    "gru": cbf_ssm(dim_x=2, recognition="gru", informative_initial_state=True, **SMALL),
    "conv": cbf_ssm(dim_x=2, recognition="conv", informative_initial_state=True, **SMALL),
    "inflated": cbf_ssm(dim_x=2, inflate_noise=True, noise_draw="shared", **SMALL),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_gradient_equals_finite_differences(name, key):
    """Along random directions in the space of all parameters, with the noise held fixed."""
    sequences = make_sequences(batch=2, time=6, missing=0.2)
    system = make_system(VARIANTS[name], sequences)
    flat, unravel = jax.flatten_util.ravel_pytree(system)

    @jax.jit
    def value(vector):
        return elbo(key, unravel(vector), sequences, WEIGHTS).total

    gradient = jax.jit(jax.grad(value))(flat)
    assert np.isfinite(gradient).all()
    for seed in range(3):
        direction = jax.random.normal(jax.random.key(seed), flat.shape)
        step = 1e-5
        difference = (value(flat + step * direction) - value(flat - step * direction)) / (2 * step)
        np.testing.assert_allclose(jnp.vdot(gradient, direction), difference, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_has_a_part_in_the_elbo(name, key):
    """No parameter is accepted and ignored."""
    sequences = make_sequences(batch=2, time=6)
    system = make_system(method(name, dim_x=2, **SMALL), sequences)
    gradient = jax.jit(jax.grad(lambda s: elbo(key, s, sequences, WEIGHTS).total))(system)
    silent = [
        jax.tree_util.keystr(path)
        for path, leaf in jax.tree_util.tree_leaves_with_path(gradient)
        if leaf.size and not np.any(leaf != 0)
    ]
    # PR-SSM and VCDT have no backward pass that would begin at μ1, Σ1 of the outputs.
    assert not [path for path in silent if ".initial" not in path], silent
