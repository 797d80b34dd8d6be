"""The backward pass: its windows, its recursion, its entropy."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm import gp
from gpssm.inference import cbf_ssm
from gpssm.inference.backward import _deliver, _window_signals, plan_windows
from gpssm.inference.terms import factor_system
from support import SMALL, backward_pass, make_sequences, make_system

conditional = eqx.filter_jit(gp.conditional)


@settings(max_examples=20)
@given(length=st.integers(1, 400), lag=st.integers(1, 120))
def test_windows_deliver_every_step_once_with_enough_future(length, lag):
    """Depth near 2 · lag; each step sees `lag` steps ahead, or all that there are."""
    plan = plan_windows(length, lag)
    assert plan.depth <= lag + math.ceil(1.5 * lag)
    steps = np.stack([begin - np.arange(plan.depth) for begin in plan.begins], axis=1)
    begins = np.broadcast_to(plan.begins, steps.shape)
    both = jnp.asarray(np.stack([steps, begins], axis=1))
    time, begin = np.moveaxis(np.asarray(_deliver(both, plan, length)), 1, 0)
    np.testing.assert_array_equal(time[:, 0], np.arange(length))
    ahead = begin[:, 0] - time[:, 0]
    assert np.all(ahead >= np.minimum(lag, length - 1 - time[:, 0]))


@pytest.mark.parametrize(
    ("length", "begins", "depth", "chunk"),
    [(6, [5], 6, 6), (7, [6], 7, 4), (10, [6, 9], 7, 4), (13, [6, 10, 12], 7, 4)],
)
def test_windows_of_a_lag_of_three(length, begins, depth, chunk):
    """Worked by hand: one window up to twice the lag, then pieces of nearly equal length."""
    plan = plan_windows(length, 3)
    assert (plan.begins.tolist(), plan.depth, plan.chunk) == (begins, depth, chunk)


def test_no_lag_is_one_window_over_everything():
    plan = plan_windows(57, None)
    assert (plan.windows, plan.depth) == (1, 57)


def test_windows_see_the_signals_of_their_own_time():
    """(y[t+1], y[t], u[t]) for the step that makes h[t] from h[t+1]."""
    sequences = make_sequences(batch=2, time=23, dim_u=2)
    plan = plan_windows(23, 5)
    signals = np.asarray(_window_signals(sequences, plan, True))
    signals = signals.reshape(plan.depth - 1, 4, plan.windows, 2)
    for w, begin in enumerate(plan.begins):
        for i in range(plan.depth - 1):
            t = begin - 1 - i
            wanted = np.concatenate([sequences.y[t + 1], sequences.y[t], sequences.u[t]])
            np.testing.assert_array_equal(signals[i, :, w], wanted)


@pytest.mark.parametrize("sees_next", [True, False])
def test_recursion_is_the_one_of_the_paper(key, sees_next):
    """h[t] = h[t+1] + f_b(h[t+1], y[t+1], y[t], u[t]): the noise that explains each step is N(0,1).

    The recursion is replayed with a plain loop over the delivered h.
    """
    settings = {**SMALL, "particles": 400, "lag": None}
    config = cbf_ssm(dim_x=3, smoother_sees_next_output=sees_next, **settings)
    sequences = make_sequences(batch=2, time=7)
    system = make_system(config, sequences)
    factor = factor_system(system, jnp.float64).backward
    h = np.asarray(backward_pass(key, system, factor, sequences).hidden)
    residuals = []
    for t in range(5, -1, -1):
        seen = [sequences.y[t + 1]] * sees_next + [sequences.y[t], sequences.u[t]]
        signal = jnp.repeat(jnp.concatenate(seen), 400, axis=1)
        mean, variance = conditional(factor, jnp.concatenate([jnp.asarray(h[t + 1]), signal]))
        residuals.append((h[t] - h[t + 1] - mean) / np.sqrt(variance))
    residuals = np.concatenate(residuals)
    assert abs(residuals.mean()) < 5.0 / np.sqrt(residuals.size)
    assert abs(residuals.var() - 1.0) < 5.0 * np.sqrt(2.0 / residuals.size)


def test_it_begins_from_the_initial_state(key):
    config = cbf_ssm(dim_x=3, **{**SMALL, "particles": 5000})
    sequences = make_sequences(batch=1, time=4)
    system = make_system(config, sequences)
    factor = factor_system(system, jnp.float64).backward
    end = np.asarray(backward_pass(key, system, factor, sequences).hidden[-1])
    mean, variance = system.model.initial.mean[1:], system.model.initial.variance[1:]
    assert np.all(np.abs(end.mean(axis=1) - mean) < 5.0 * np.sqrt(variance / 5000))
    assert np.all(np.abs(end.var(axis=1) - variance) < 5.0 * variance * np.sqrt(2.0 / 5000))


def test_entropy_of_a_delta_free_pass_is_the_sum_of_gaussian_entropies(key):
    """Replayed: ½ log(2πe v) at every step, and that of N(μ1, Σ1) at the end."""
    config = cbf_ssm(dim_x=2, **{**SMALL, "lag": None})
    sequences = make_sequences(batch=2, time=5)
    system = make_system(config, sequences)
    factor = factor_system(system, jnp.float64).backward
    result = backward_pass(key, system, factor, sequences)
    total = 0.5 * np.log(2 * np.pi * np.e * np.asarray(system.model.initial.variance[1]))
    for t in range(3, -1, -1):
        signal = jnp.concatenate([sequences.y[t + 1], sequences.y[t], sequences.u[t]])
        x = jnp.concatenate([result.hidden[t + 1], jnp.repeat(signal, 4, axis=1)])
        variance = conditional(factor, x)[1]
        total += np.mean(0.5 * np.log(2 * np.pi * np.e * np.asarray(variance)))
    np.testing.assert_allclose(result.entropy, total, rtol=1e-10)


def test_shared_noise_moves_all_hidden_dimensions_with_one_draw(key):
    """With one draw the residuals of a step are proportional to the standard deviations."""
    config = cbf_ssm(dim_x=4, noise_draw="shared", **{**SMALL, "lag": None})
    sequences = make_sequences(batch=1, time=2)
    system = make_system(config, sequences)
    factor = factor_system(system, jnp.float64).backward
    h = backward_pass(key, system, factor, sequences).hidden
    signal = jnp.concatenate([sequences.y[1], sequences.y[0], sequences.u[0]])
    mean, variance = conditional(factor, jnp.concatenate([h[1], jnp.repeat(signal, 4, axis=1)]))
    eps = np.asarray((h[0] - h[1] - mean) / jnp.sqrt(variance))
    np.testing.assert_allclose(eps, np.tile(eps[:1], (3, 1)), rtol=1e-6)
    assert np.std(eps[0]) > 0.1


@pytest.mark.parametrize("lag", [None, 2])
def test_whole_functions_leave_only_the_entropy_of_the_end(lag, key):
    """A pathwise draw has no variance; only the last window delivers where it began."""
    config = cbf_ssm(dim_x=3, function_draw="pathwise", **{**SMALL, "lag": lag})
    sequences = make_sequences(batch=2, time=7)
    system = make_system(config, sequences)
    factor = factor_system(system, jnp.float64).backward
    found = backward_pass(key, system, factor, sequences).entropy
    variances = np.asarray(system.model.initial.variance[1:])
    np.testing.assert_allclose(found, 0.5 * np.log(2 * np.pi * np.e * variances).sum(), rtol=1e-12)
