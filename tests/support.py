"""Small systems and data for the tests, and a linear one whose evidence is known exactly."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from gpssm import inference
from gpssm.gp import Linear, SparseGP, make_keys
from gpssm.gp.positive import raw_positive
from gpssm.gp.sparse import InducingPosterior
from gpssm.inference import Model, Sequences, System, backward, build
from gpssm.inference.methods.abstract import find_method
from gpssm.inference.sequences import from_batch_first
from gpssm.inference.terms import factor_system
from gpssm.model import Emission, InitialState, StateSpaceModel, Transition

SMALL = {"inducing_points": 5, "particles": 4, "warmup": 3, "lag": 4}


def make_sequences(batch=3, time=9, dim_u=1, dim_y=1, seed=0, missing=0.0, dtype=jnp.float64):
    """Smooth random outputs and inputs, some of them missing."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((batch, time, dim_u))
    y = np.cumsum(0.4 * rng.standard_normal((batch, time, dim_y)), axis=1) + 0.5
    mask = rng.uniform(size=y.shape) >= missing
    arrays = jnp.asarray(u, dtype), jnp.asarray(y, dtype)
    return from_batch_first(*arrays, jnp.asarray(mask))


def make_system(config: Model, sequences: Sequences, seed: int = 0, spread: float = 0.3) -> System:
    """A system whose parameters are all away from where training starts."""
    system = build(jax.random.key(seed), config, sequences)
    rng = np.random.default_rng(seed + 1)
    move = lambda leaf: jnp.asarray(leaf + spread * rng.standard_normal(leaf.shape))  # noqa: E731
    system = jax.tree.map(move, system)
    return eqx.tree_at(
        lambda s: s.model.transition.raw_noise, system, raw_positive(np.full(config.dim_x, 0.05))
    )


# Compiled, as training runs them; eager, a scan takes far longer.


@eqx.filter_jit
def elbo(key, system, sequences, weights=None):
    """The ELBO with the keys that training would make of one key."""
    return inference.elbo(make_keys(key, sequences.batch), system, sequences, weights)


@eqx.filter_jit
def run_posterior(key, system, sequences, conditioned=None):
    """One pass through the posterior in the dtype of the sequences."""
    factors = factor_system(system, sequences.y.dtype)
    keys = make_keys(key, sequences.batch)
    method = find_method(system.config)
    return method.posterior_pass(keys, system, factors, sequences, conditioned or sequences.length)


@eqx.filter_jit
def backward_pass(key, system, factor, sequences):
    """The backward pass alone."""
    return backward.backward_pass(make_keys(key, sequences.batch), system, factor, sequences)


# ---------------------------------------------------------------------- linear-Gaussian oracle


def linear_system(config: Model, A, B, process, output, initial_variance, seed=0) -> System:
    """x[t+1] = A x + B u + noise, exactly: a linear kernel, z spanning its inputs, a delta q(u)."""
    dim_x, dim_u = B.shape
    inputs, dim_y = dim_x + dim_u, len(output)
    examples = make_sequences(batch=2, time=6, dim_u=dim_u, dim_y=dim_y)
    system = build(jax.random.key(seed), config, examples)
    z = 2.0 * np.eye(inputs)
    values = np.concatenate([A - np.eye(dim_x), B], axis=1) @ z.T
    q = InducingPosterior(jnp.asarray(values), None, False, "delta")
    gp = SparseGP(Linear(raw_positive(np.ones((1, inputs)))), jnp.asarray(z), q)
    model = StateSpaceModel(
        InitialState(jnp.zeros(dim_x), raw_positive(initial_variance), True),
        Transition(gp, raw_positive(process)),
        Emission(raw_positive(output)),
    )
    return System(model, system.posterior, config)


def joint_gaussian(A, B, process, output, initial_variance, u):
    """Mean and covariance of (x[1:T], y[1:T]) of one sequence, stacked, by dense algebra."""
    steps, dim_x, dim_y = len(u), len(A), len(output)
    C = np.eye(dim_y, dim_x)
    mean, blocks = [np.zeros(dim_x)], np.zeros((steps, dim_x, steps, dim_x))
    blocks[0, :, 0] = np.diag(initial_variance)
    for t in range(1, steps):
        mean.append(A @ mean[-1] + B @ u[t - 1])
        for s in range(t):
            blocks[t, :, s] = A @ blocks[t - 1, :, s]
            blocks[s, :, t] = blocks[t, :, s].T
        blocks[t, :, t] = A @ blocks[t - 1, :, t - 1] @ A.T + np.diag(process)
    cov_x = blocks.reshape(steps * dim_x, steps * dim_x)
    lift = np.kron(np.eye(steps), C)
    cov_y = lift @ cov_x @ lift.T + np.kron(np.eye(steps), np.diag(output))
    return np.concatenate(mean), cov_x, lift, cov_y


def log_evidence(A, B, process, output, initial_variance, u, y):
    """log p(y[1:T]) of one sequence of a linear-Gaussian model."""
    mean_x, _, lift, cov_y = joint_gaussian(A, B, process, output, initial_variance, u)
    rest = y.ravel() - lift @ mean_x
    _, log_det = np.linalg.slogdet(2.0 * np.pi * cov_y)
    return -0.5 * (log_det + rest @ np.linalg.solve(cov_y, rest))
