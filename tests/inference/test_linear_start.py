"""A start from a linear model, against linear systems whose matrices are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm import ConfigError
from gpssm.gp import conditional, factorise
from gpssm.gp.sparse import inducing_cholesky
from gpssm.inference import Sequences, build, cbf_ssm
from gpssm.inference.linear_start import hidden_states, linear_start
from support import SMALL, make_sequences

A = np.array([[0.9, 0.5, 0.0], [-0.3, 0.8, 0.2], [0.0, 0.1, 0.7]])
B = np.array([[0.0], [1.0], [0.4]])


def respond(noise=0.0, order=3, batch=40, time=60, seed=0):
    """y[t] = (x[t])₁ of the system above, or of its first state alone."""
    rng = np.random.default_rng(seed)
    a, b = (A, B) if order == 3 else (A[:1, :1], np.ones((1, 1)))
    u = rng.standard_normal((batch, time, 1))
    x, rows = rng.standard_normal((batch, order)), []
    for t in range(time):
        rows.append(x[:, :1])
        x = x @ a.T + u[:, t] @ b.T
    y = np.stack(rows, axis=1)
    return u, y + noise * rng.standard_normal(y.shape)


def as_sequences(u, y):
    arrays = (jnp.asarray(np.moveaxis(a, 0, -1)) for a in (u, y))
    return Sequences(*arrays, jnp.ones((y.shape[1], y.shape[2], y.shape[0]), bool))


def test_finds_the_poles_of_a_linear_system():
    forward, _ = linear_start(cbf_ssm(dim_x=3), as_sequences(*respond()))
    found = np.linalg.eigvals(np.eye(3) + forward.weights[:3].T)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.linalg.eigvals(A)), 1e-5)


@pytest.mark.parametrize("sees_next", [True, False])
def test_backward_function_returns_to_the_state_before(sees_next):
    """Without noise, three states and one output: h[t] follows exactly from what comes later."""
    u, y = respond()
    config = cbf_ssm(dim_x=3, smoother_sees_next_output=sees_next)
    _, backward = linear_start(config, as_sequences(u, y))
    h = hidden_states(y, u, 2, reach=10)
    step = backward(backward.seen).T.reshape(h[:, 1:].shape)
    np.testing.assert_allclose(h[:, 1:] + step, h[:, :-1], atol=1e-5)


def test_hidden_states_are_scaled_and_tell_what_the_output_does_not():
    u, y = respond(noise=0.05)
    h = hidden_states(y, u, 2, reach=8).reshape(-1, 2)
    present = y[:, 8:-8].ravel()
    np.testing.assert_allclose(h.std(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_allclose(h.T @ (present - present.mean()) / len(h), 0.0, atol=1e-9)


def test_a_state_that_predicts_nothing_stays_at_zero():
    u, y = respond(order=1, noise=1e-6)
    np.testing.assert_array_equal(hidden_states(y, u, 2, reach=8), 0.0)


@pytest.mark.parametrize("whitened", [True, False])
def test_both_gps_start_at_the_affine_functions(whitened, key):
    sequences = as_sequences(*respond(noise=0.02))
    settings = {**SMALL, "inducing_points": 30, "inducing_mean": 0.0}
    config = cbf_ssm(dim_x=3, start="linear", whitened=whitened, **settings)
    system = build(key, config, sequences)
    gps = system.model.transition.gp, system.posterior.smoother
    for gp, start in zip(gps, linear_start(config, sequences), strict=True):
        z = gp.inducing_inputs
        factor = factorise(gp, inducing_cholesky(gp, "float64"), "float64")
        mean, _ = conditional(factor, z.T)
        np.testing.assert_allclose(mean, start(np.asarray(z)), atol=1e-4)
        assert np.ptp(np.asarray(mean)) > 0.5


@pytest.mark.parametrize(("dim_u", "dim_y"), [(0, 1), (2, 3)])
def test_a_system_without_inputs_or_without_hidden_states_starts_too(dim_u, dim_y, key):
    sequences = make_sequences(batch=8, time=30, dim_u=dim_u, dim_y=dim_y)
    system = build(key, cbf_ssm(dim_x=3, start="linear", **SMALL), sequences)
    assert np.isfinite(system.model.transition.gp.posterior.mean).all()
    assert (system.posterior.smoother is None) == (dim_y == 3)


def test_sequences_too_short_for_a_past_and_a_future_are_refused(key):
    with pytest.raises(ConfigError, match="sequence_length: got 3, expected at least 4 steps"):
        build(key, cbf_ssm(dim_x=2, start="linear", **SMALL), make_sequences(time=3))


def test_starts_belong_to_the_key(key):
    sequences = as_sequences(*respond(noise=0.02))
    config = cbf_ssm(dim_x=3, start="linear", **SMALL)
    first, again, other = (
        np.asarray(build(k, config, sequences).model.transition.gp.inducing_inputs)
        for k in (key, key, jax.random.key(0))
    )
    np.testing.assert_array_equal(first, again)
    assert np.all(first != other)
