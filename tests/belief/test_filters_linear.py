"""Filters and smoother on linear models, where a dense Gaussian of all states is exact."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm import Model
from gpssm.belief import FILTERS, Factored, FilterNoise, factored, gaussian_log_likelihood
from gpssm.belief.rows import advance, begin
from gpssm.belief.smoother import smooth
from gpssm.linear.smoothing import smooth as smooth_linear
from gpssm.linear.states import Noise
from gpssm.model import Affine, LinearPart
from support import linear_system, make_sequences, make_system

A = np.array([[0.9, 0.3, 0.0], [-0.2, 0.8, 0.1], [0.1, 0.0, 0.7]])
B = np.array([[0.4], [-0.7], [0.2]])
PROCESS, SENSOR = np.array([0.05, 0.03, 0.08]), np.array([0.1, 0.2])
DISTURBANCE = np.array([0.02, 0.0])
STEPS, MANY = 12, 60_000
# Independent draws that MANY members are worth: weights of particles differ.
WORTH = {"ensemble": MANY, "particle": MANY / 10}
JITTER = 1e-5  # that of k(z, z) moves A by less
CONFIG = Model(
    dim_x=3, target="observation", k=1, recognition="output", function_draw="delta",
    covariance="delta", warmup=1, inducing_points=4,
)  # fmt: skip


class Log(NamedTuple):
    """Row t of u leads from x[t] to x[t+1]."""

    u: np.ndarray
    y: np.ndarray
    mask: np.ndarray

    @property
    def on_device(self) -> tuple[jax.Array, ...]:
        return tuple(jnp.asarray(each) for each in self)


def make_log(missing: float = 0.3) -> Log:
    """A plant with a constant disturbance of its first output."""
    rng = np.random.default_rng(5)
    u, x, y = rng.standard_normal((STEPS, 1)), np.array([0.6, -0.4, 1.5]), []
    for t in range(STEPS):
        y.append(x[:2] + [0.7, 0.0] + np.sqrt(SENSOR) * rng.standard_normal(2))
        x = A @ x + B @ u[t] + np.sqrt(PROCESS) * rng.standard_normal(3)
    y = np.array(y)
    mask = rng.uniform(size=y.shape) >= missing
    mask[4] = False
    return Log(u, y, mask)


def make_noise(disturbance=DISTURBANCE) -> FilterNoise:
    return FilterNoise(*(jnp.asarray(each) for each in (PROCESS, SENSOR, disturbance)))


@pytest.fixture(scope="module")
def model() -> Factored:
    system = linear_system(CONFIG, A, B, PROCESS, SENSOR, np.array([0.5, 0.5, 2.0]))
    return factored(system, "float64")


class Exact(NamedTuple):
    """Of z[1:T] given the outputs up to some row."""

    mean: np.ndarray
    covariance: np.ndarray


def augmented():
    """z = (x, d), by dense matrices."""
    A_z, B_z = np.eye(5), np.zeros((5, 1))
    A_z[:3, :3], B_z[:3] = A, B
    H = np.hstack([np.eye(2, 3), np.eye(2)])
    return A_z, B_z, H


def dense(log: Log, disturbance: np.ndarray, rows: int) -> tuple[Exact, float]:
    """All states given the outputs of the first rows, and log p of these."""
    A_z, B_z, H = augmented()
    start = np.concatenate([[1.0, 1.0, 2.0], 100 * disturbance / (1 + 100 * disturbance)])
    Q = np.diag(np.concatenate([PROCESS, disturbance]))
    mean, blocks = [np.zeros(5)], np.zeros((STEPS, 5, STEPS, 5))
    blocks[0, :, 0] = np.diag(start)
    for t in range(1, STEPS):
        mean.append(A_z @ mean[-1] + B_z @ log.u[t - 1])
        for s in range(t):
            blocks[t, :, s] = A_z @ blocks[t - 1, :, s]
            blocks[s, :, t] = blocks[t, :, s].T
        blocks[t, :, t] = A_z @ blocks[t - 1, :, t - 1] @ A_z.T + Q
    P, m = blocks.reshape(5 * STEPS, 5 * STEPS), np.concatenate(mean)
    known = (log.mask & (np.arange(STEPS) < rows)[:, None]).ravel()
    C = np.kron(np.eye(STEPS), H)[known]
    S = C @ P @ C.T + np.diag(np.tile(SENSOR, STEPS)[known])
    e, K = log.y.ravel()[known] - C @ m, P @ C.T @ np.linalg.inv(S)
    density = -0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(2 * np.pi * S)[1])
    found = Exact((m + K @ e).reshape(STEPS, 5), (P - K @ C @ P).reshape(STEPS, 5, STEPS, 5))
    return found, float(density)


def run_filter(kind: str, model: Factored, noise: FilterNoise, log: Log, n: int, seed: int = 0):
    """What every row told, and the sum of the likelihoods."""
    key = jax.random.key_data(jax.random.key(seed))
    before = np.concatenate([log.u[:1], log.u[:-1]])
    y = np.where(log.mask, log.y, np.nan)
    moved = jax.jit(advance, static_argnums=0)
    carry = begin(kind, key, model, noise, n)
    carry, record = moved(kind, model, noise, carry, before, y, np.int32(STEPS))
    return record, float(carry.log_likelihood)


@pytest.mark.parametrize("disturbance", [np.zeros(2), DISTURBANCE], ids=["without", "with"])
def test_the_gaussian_filter_is_the_kalman_filter(model, disturbance):
    log = make_log()
    record, density = run_filter("gaussian", model, make_noise(disturbance), log, 2)
    for t in range(STEPS):
        exact, total = dense(log, disturbance, t + 1)
        np.testing.assert_allclose(record.mean[t], exact.mean[t], atol=JITTER)
        np.testing.assert_allclose(record.covariance[t], exact.covariance[t, :, t], atol=JITTER)
    np.testing.assert_allclose(density, total, atol=JITTER)
    assert bool(record.mean[-1, 3] > 0.3) == bool(disturbance[0] > 0)
    assert record.mean[-1, 4] == 0.0


@pytest.mark.parametrize("kind", ["ensemble", "particle"])
@pytest.mark.parametrize("disturbance", [np.zeros(2), DISTURBANCE], ids=["without", "with"])
def test_many_members_come_to_the_kalman_filter(model, kind, disturbance):
    """Within a few standard errors: resampling and gains make members depend on each other."""
    log = make_log()
    record, density = run_filter(kind, model, make_noise(disturbance), log, MANY)
    for t in range(STEPS):
        exact, total = dense(log, disturbance, t + 1)
        P = exact.covariance[t, :, t]
        error = 5.0 * np.sqrt(np.diag(P) / WORTH[kind]) + 1e-9
        assert np.all(np.abs(record.mean[t] - exact.mean[t]) <= error), t
        sizes = np.sqrt(np.outer(np.diag(P), np.diag(P)))
        error = 5.0 * sizes * np.sqrt(2 / WORTH[kind]) + 1e-9
        assert np.all(np.abs(record.covariance[t] - P) <= error), t
    assert abs(density - total) < 5.0 * np.sqrt(STEPS / WORTH[kind])


@pytest.mark.parametrize("kind", FILTERS)
def test_what_a_row_tells_is_its_forecast_from_the_rows_before(model, kind):
    log = make_log(missing=0.0)
    record, _ = run_filter(kind, model, make_noise(), log, MANY)
    _, _, H = augmented()
    for t in (1, 2, 5, STEPS - 1):
        exact, before = dense(log, DISTURBANCE, t)
        mean, S = H @ exact.mean[t], H @ exact.covariance[t, :, t] @ H.T + np.diag(SENSOR)
        tolerance = JITTER if kind == "gaussian" else 5.0 * np.sqrt(np.trace(S) / WORTH[kind])
        ahead = jax.tree.map(lambda leaf, row=t: np.asarray(leaf[row]), record.info)
        np.testing.assert_allclose(ahead.forecast.mean, mean, atol=tolerance)
        np.testing.assert_allclose(ahead.forecast.covariance, S, atol=2 * tolerance)
        e = np.where(log.mask[t], log.y[t] - mean, 0.0)
        np.testing.assert_allclose(ahead.innovation, e, atol=tolerance)
        if log.mask[t].all():
            nis = e @ np.linalg.solve(S, e)
            np.testing.assert_allclose(ahead.nis, nis, atol=20 * tolerance)
            gained = dense(log, DISTURBANCE, t + 1)[1] - before
            np.testing.assert_allclose(ahead.log_likelihood, gained, atol=20 * tolerance)


@pytest.mark.parametrize("disturbance", [np.zeros(2), DISTURBANCE], ids=["without", "with"])
def test_the_smoother_gives_the_states_given_all_outputs(model, disturbance):
    log = make_log()
    found = smooth(model, make_noise(disturbance), *log.on_device)
    exact, total = dense(log, disturbance, STEPS)
    np.testing.assert_allclose(found.mean, exact.mean, atol=JITTER)
    for t in range(STEPS):
        np.testing.assert_allclose(found.covariance[t], exact.covariance[t, :, t], atol=JITTER)
    np.testing.assert_allclose(found.log_likelihood, total, atol=JITTER)


def test_the_smoother_agrees_with_that_of_linear_models(model):
    log = make_log()
    found = smooth(model, make_noise(np.zeros(2)), *log.on_device)
    start = np.zeros(3), np.diag([1.0, 1.0, 2.0])
    y = np.where(log.mask, log.y, np.nan)
    with_one = np.hstack([B, np.zeros((3, 1))]), np.hstack([log.u, np.ones((STEPS, 1))])
    other = smooth_linear(A, with_one[0], Noise(PROCESS, SENSOR), start, with_one[1], y)
    np.testing.assert_allclose(found.mean[:, :3], other.mean, atol=JITTER)
    np.testing.assert_allclose(found.covariance[:, :3, :3], other.covariance, atol=JITTER)
    np.testing.assert_allclose(found.log_likelihood, other.log_likelihood, atol=JITTER)


# ---------------------------------------------------------------------- likelihood


def test_the_likelihood_is_that_of_the_dense_gaussian(model):
    log = make_log()
    found = gaussian_log_likelihood(model, make_noise(), *log.on_device)
    np.testing.assert_allclose(found, dense(log, DISTURBANCE, STEPS)[1], atol=JITTER)


def test_the_derivative_of_the_likelihood_by_the_noises(model):
    log, noise = make_log(), make_noise()
    likelihood = jax.jit(lambda noise: gaussian_log_likelihood(model, noise, *log.on_device))
    slopes = jax.jit(jax.grad(likelihood))(noise)
    for field in ("process", "sensor", "disturbance"):
        for i in range(len(getattr(noise, field))):
            step = 1e-5 * (0.1 + getattr(noise, field)[i])
            ends = [
                likelihood(noise._replace(**{field: getattr(noise, field).at[i].add(sign * step)}))
                for sign in ((0.0, 1.0) if getattr(noise, field)[i] == 0 else (-1.0, 1.0))
            ]
            width = step * (1.0 if getattr(noise, field)[i] == 0 else 2.0)
            slope = getattr(slopes, field)[i]
            assert abs(slope) > 1e-3
            np.testing.assert_allclose(slope, (ends[1] - ends[0]) / width, rtol=1e-3)


# ---------------------------------------------------------------------- an uncertain linear part


def affine_model(spread: float) -> Factored:
    """x + W (x, u, 1) with A as uncertain as `spread` says, and hardly a GP beside it."""
    config = Model(
        dim_x=3, linear_part=True, inducing_points=4, warmup=1, kernel_variance=1e-8,
        inducing_mean=0.0, inducing_std=1e-9,
    )  # fmt: skip
    system = make_system(config, make_sequences(dim_y=2), spread=0.0)
    rng = np.random.default_rng(2)
    part = LinearPart.blank(3, 2, 1)._replace(
        weights=np.hstack([A - np.eye(3), B, np.zeros((3, 1))]),
        root=spread * (np.eye(5) + 0.3 * np.tril(rng.standard_normal((5, 5)), -1)),
        scale=np.array([0.5, 1.0, 0.8]),
    )
    whole = factored(system, "float64")
    return Factored(Affine.of(part), whole.factor, whole.mean, jnp.asarray([1.0, 1.0, 2.0]))


def test_without_uncertainty_the_linear_part_is_the_linear_model():
    log = make_log()
    found = gaussian_log_likelihood(affine_model(1e-6), make_noise(), *log.on_device)
    np.testing.assert_allclose(found, dense(log, DISTURBANCE, STEPS)[1], atol=1e-3)


def test_the_factor_of_the_function_is_that_of_its_uncertainty():
    """c = 1/4 of what f adds is what half as wide weights add, and has a derivative."""
    log, noise = make_log(), make_noise()
    likelihood = jax.jit(partial(gaussian_log_likelihood, affine_model(0.4)))
    quarter = likelihood(noise._replace(function=jnp.asarray(0.25)), *log.on_device)
    half_as_wide = gaussian_log_likelihood(affine_model(0.2), noise, *log.on_device)
    np.testing.assert_allclose(quarter, half_as_wide, rtol=1e-6)

    def by_factor(c: jax.Array) -> jax.Array:
        return likelihood(noise._replace(function=c), *log.on_device)

    ends = [by_factor(jnp.asarray(0.25 + step)) for step in (-1e-5, 1e-5)]
    slope = jax.grad(by_factor)(jnp.asarray(0.25))
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / 2e-5, rtol=1e-4)
    assert abs(slope) > 1.0


def test_an_uncertain_linear_part_widens_a_step_by_what_its_draws_do():
    """s² τ² |Lᵀφ|² of a known state: in the Gaussian filter exactly, in the ensemble by draws."""
    model, noise = affine_model(0.4), make_noise(np.zeros(2))
    x, u = np.array([0.7, -1.1, 2.0]), np.array([0.5])
    phi = np.concatenate([x, u, [1.0]])
    part = model.dynamics.part
    added = np.square(part.scale) * np.sum(np.square(np.asarray(part.root).T @ phi))
    exact = np.diag(PROCESS + added)
    state = FILTERS["gaussian"].start(jax.random.key(0), model, noise, 2)
    z = jnp.concatenate([x, jnp.zeros(2)])
    known = state._replace(mean=z, covariance=jnp.zeros((5, 5)))
    found = FILTERS["gaussian"].predict(jax.random.key(0), model, noise, known, jnp.asarray(u))
    np.testing.assert_allclose(found.covariance[:3, :3], exact, rtol=1e-5, atol=JITTER)
    np.testing.assert_allclose(found.mean[:3], A @ x + B @ u, atol=1e-5)
    state = FILTERS["ensemble"].start(jax.random.key(0), model, noise, 2)
    members = state._replace(members=jnp.tile(z[:, None], (1, MANY)))
    cloud = FILTERS["ensemble"].predict(jax.random.key(1), model, noise, members, jnp.asarray(u))
    error = 6.0 * np.sqrt(2.0 / MANY) * np.diag(exact)
    assert np.all(np.abs(np.var(cloud.members[:3], axis=1) - np.diag(exact)) < error)
