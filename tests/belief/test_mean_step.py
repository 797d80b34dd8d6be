"""The mean step and rollout: their numbers, their derivatives, and their units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.belief import factored, mean_rollout, mean_step
from support_belief import UNITS, A, B, black_box, linear_run, physics_run

X, U = jnp.asarray([0.7, -1.2]), jnp.asarray([0.4])


PLANTS = {
    "black box": lambda: black_box(dim_x=2),
    "linear part": lambda: black_box(dim_x=2, linear_part=True),
    "physics": lambda: physics_run(normalisation=UNITS),
}


def test_of_a_linear_model_it_is_the_linear_model():
    run = linear_run()
    np.testing.assert_allclose(mean_step(run.system, X, U), A @ X + B @ U, atol=1e-6)
    x, u = np.asarray(X), np.linspace(-1.0, 1.0, 7)[:, None]
    states = mean_rollout(factored(run.system, "float64"), X, jnp.asarray(u))
    for t in range(7):
        x = A @ x + B @ u[t]
        np.testing.assert_allclose(states[t], x, atol=1e-5)
    in_units = run.rollout_function()(X, run.normalisation.u_mean + 0.5 * u)
    np.testing.assert_allclose(in_units, 10.0 + 4.0 * states[:, :1], rtol=1e-9)
    one = run.step_function()(X, UNITS.u_mean + 0.5 * u[0])
    np.testing.assert_allclose(one, states[0], rtol=1e-9)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_it_is_the_mean_of_the_model(plant):
    """Of many draws from one state, with hardly any spread of what enters nonlinearly."""
    run = plant()
    belief = run.belief(particles=20_000).update(UNITS.u_mean, UNITS.y_mean)
    members = np.broadcast_to(np.concatenate([X, [0.0]])[:, None], (3, 20_000))
    state = belief._carry.state._replace(members=jnp.asarray(members))
    belief._carry = belief._carry._replace(state=state)
    belief._past = belief._past._replace(rows=np.asarray(run.normalisation.u(np.array([[2.2]]))))
    belief.update(np.array([2.0]), np.array([np.nan]))
    mean = run.step_function()(X, jnp.asarray([2.2]))
    error = 6.0 * np.sqrt(np.diag(belief.cov) / 20_000)
    assert np.all(np.abs(belief.mean - mean) < error + 2e-3)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_the_derivatives_of_a_rollout_are_those_of_differences(plant):
    """By the first state and by the inputs, in units of the data."""
    run = plant()
    rollout = run.rollout_function()
    weights = jnp.asarray([1.0, -0.5, 0.3, 2.0])
    cost = jax.jit(lambda x, u: jnp.sum(weights * rollout(x, u)[:, 0]))
    u = jnp.asarray([[2.0], [2.4], [1.8], [2.1]])
    by_x, by_u = jax.jit(jax.grad(cost, argnums=(0, 1)))(X, u)
    assert float(jnp.min(jnp.abs(by_x))) > 1e-3
    assert float(jnp.max(jnp.abs(by_u))) > 1e-3
    h = 1e-5
    for i in range(2):
        step = h * jnp.eye(2)[i]
        slope = (cost(X + step, u) - cost(X - step, u)) / (2 * h)
        np.testing.assert_allclose(by_x[i], slope, rtol=1e-5, atol=1e-7)
    for t in range(4):
        step = h * jnp.eye(4)[t][:, None]
        slope = (cost(X, u + step) - cost(X, u - step)) / (2 * h)
        np.testing.assert_allclose(by_u[t, 0], slope, rtol=1e-5, atol=1e-7)


def test_many_at_once_are_those_one_by_one():
    step = black_box(dim_x=2).step_function()
    x = jnp.asarray(np.random.default_rng(0).standard_normal((5, 2)))
    u = jnp.asarray(np.linspace(1.0, 3.0, 5)[:, None])
    together = jax.jit(jax.vmap(step))(x, u)
    alone = jnp.stack([step(x[i], u[i]) for i in range(5)])
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_in_single_precision_too():
    """Where JAX has no double precision, as it is when a user starts it."""
    run = black_box(dim_x=2)
    exact = run.step_function()(X, jnp.asarray([2.2]))
    with jax.enable_x64(False):
        found = run.step_function()(np.array([0.7, -1.2]), np.array([2.2]))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, exact, atol=1e-3)
