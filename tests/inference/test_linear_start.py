"""A start from a linear model, against linear systems whose matrices are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm import ConfigError
from gpssm.gp import conditional, factorise
from gpssm.gp.sparse import inducing_cholesky
from gpssm.inference import Sequences, build, cbf_ssm
from gpssm.inference.linear_start import _solve, hidden_states, linear_start, output_steps
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


# ---------------------------------------------------------------------- replayed with plain loops


def missed(a, b):
    """What a regression on the columns of a leaves of b."""
    return b - a @ (np.linalg.pinv(a) @ b)


def regressors(y, u, reach):
    """Rows of (1, y[t]), of what is known at t, of its past and of its future."""
    now, known, past, future = [], [], [], []
    for n in range(len(y)):
        for t in range(reach, y.shape[1] - reach):
            now.append(np.r_[1.0, y[n, t]])
            known.append(np.r_[1.0, y[n, t], u[n, t : t + reach].ravel()])
            past.append(np.r_[y[n, t - reach : t].ravel(), u[n, t - reach : t].ravel()])
            future.append(y[n, t + 1 : t + 1 + reach].ravel())
    return (np.array(rows) for rows in (now, known, past, future))


def test_hidden_states_are_what_the_past_says_of_the_future():
    """By the eigenvectors of the covariance of the prediction, up to the sign."""
    parts = [respond(noise=0.3, batch=6, time=14, seed=seed) for seed in range(2)]
    u, y = (np.concatenate(each, axis=2) for each in zip(*parts, strict=True))
    now, known, past, future = regressors(y, u, 3)
    weights = np.linalg.pinv(missed(known, past)) @ missed(known, future)
    predicted = missed(known, past) @ weights
    directions = np.linalg.eigh(predicted.T @ predicted)[1][:, :-4:-1]
    wanted = missed(now, past @ weights @ directions)
    wanted /= wanted.std(axis=0)
    found = hidden_states(y, u, 3, reach=3).reshape(wanted.shape)
    found *= np.sign(np.sum(found * wanted, axis=0))
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_no_more_hidden_states_than_the_future_has_numbers():
    u, y = respond(noise=0.1, batch=6, time=14)
    found = hidden_states(y, u, 3, reach=1)
    np.testing.assert_allclose(found[..., 0].std(), 1.0)
    np.testing.assert_array_equal(found[..., 1:], 0.0)


@pytest.mark.parametrize(("share", "used"), [(0.8e-4, False), (1.4e-4, True)])
def test_a_hidden_state_predicts_a_ten_thousandth_of_the_variance(share, used):
    """y[t+1] is noise and, of this share of its variance, u[t-1]."""
    rng, rows = np.random.default_rng(0), 100_000
    u, e = rng.standard_normal((2, rows))
    by_chance = np.corrcoef(e[2:], u[:-2])[0, 1]
    y = 3.0 * e
    y[2:] += 3.0 * (np.sqrt(share) - by_chance) * u[:-2]
    y, u = y[None, :, None], u[None, :, None]
    ones, now, before, after = np.ones(rows - 2), slice(1, -1), slice(0, -2), slice(2, None)
    known = np.stack([ones, y[0, now, 0], u[0, now, 0]], axis=1)
    every = np.column_stack([known, y[0, before, 0], u[0, before, 0]])
    sizes = [np.sum(np.square(missed(a, y[0, after, 0]))) for a in (known, every)]
    found_share = (sizes[0] - sizes[1]) / np.sum(np.square(y[0, after] - y[0, after].mean()))
    assert found_share == pytest.approx(share, rel=0.2)
    assert np.any(hidden_states(y, u, 1, reach=1)) == used


@pytest.mark.parametrize("sees", ["steps", "next output", "nothing"])
def test_each_gp_starts_at_the_regression_on_what_it_sees(sees):
    """Steps of x on (y, h, u)[t]; steps back of h on (h[t+1], y[t+1] or its step, y[t], u[t])."""
    u, y = respond(noise=0.1, batch=4, time=25)
    next_output, steps = sees != "nothing", sees == "steps"
    config = cbf_ssm(dim_x=3, smoother_sees_next_output=next_output, smoother_sees_steps=steps)
    h, typical = hidden_states(y, u, 2, reach=10), np.sqrt(np.mean(np.diff(y, axis=1) ** 2))
    rows = [], [], [], []
    for n in range(4):
        for i in range(4):
            t = 10 + i
            later = (y[n, t + 1] - y[n, t]) / typical if steps else y[n, t + 1]
            x = [np.r_[y[n, t + j], h[n, i + j]] for j in range(2)]
            rows[0].append(np.r_[x[0], u[n, t]])
            rows[1].append(x[1] - x[0])
            rows[2].append(np.r_[h[n, i + 1], later[: 1 if next_output else 0], y[n, t], u[n, t]])
            rows[3].append(h[n, i] - h[n, i + 1])
    wanted = list(map(np.array, rows))
    for found in linear_start(config, as_sequences(u, y)):
        seen, outcome = wanted.pop(0), wanted.pop(0)
        np.testing.assert_allclose(found.seen, seen, rtol=1e-12)
        with_one = np.column_stack([seen, np.ones(len(seen))])
        np.testing.assert_allclose(found.weights, np.linalg.pinv(with_one) @ outcome, atol=1e-7)
        np.testing.assert_allclose(found(seen), (with_one @ found.weights).T, atol=1e-12)


@pytest.mark.parametrize(
    ("time", "rows"), [(4, 1), (5, 2), (12, 1), (13, 2), (21, 2), (22, 1), (30, 9)]
)
def test_up_to_ten_steps_on_either_side_are_past_and_future(time, rows):
    """The steps in between, less the last one, are regressed on."""
    for each in linear_start(cbf_ssm(dim_x=2), as_sequences(*respond(batch=5, time=time))):
        assert len(each.seen) == 5 * rows


def test_a_start_from_single_precision_is_computed_in_double():
    single = [values.astype(np.float32) for values in respond(noise=0.1)]
    double = [values.astype(np.float64) for values in single]
    starts = (linear_start(cbf_ssm(dim_x=3), as_sequences(*each)) for each in (single, double))
    for ours, wanted in zip(*starts, strict=True):
        np.testing.assert_array_equal(ours.weights, wanted.weights)


def test_sequences_without_two_steps_in_between_are_refused():
    with pytest.raises(ConfigError, match="sequence_length: got 3, expected at least 4 steps"):
        linear_start(cbf_ssm(dim_x=2), as_sequences(*respond(time=3)))


def test_a_step_of_an_output_is_its_root_mean_square_or_a_thousandth():
    y = np.array([[[0.0, 5.0], [3.0, 5.0], [-1.0, 5.0]]])
    np.testing.assert_allclose(output_steps(y), [np.sqrt((9.0 + 16.0) / 2.0), 1e-3], rtol=1e-12)


@pytest.mark.parametrize(("small", "found"), [(1.5e-6, 1.0 / 1.5e-6), (0.8e-6, 0.0)])
def test_directions_below_a_millionth_of_the_largest_are_left_out(small, found):
    solved = _solve(np.diag([1.0, small]), np.ones((2, 1)))
    np.testing.assert_allclose(solved, [[1.0], [found]], rtol=1e-9)
