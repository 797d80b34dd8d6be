"""The Kalman smoother against one dense joint Gaussian of all states and outputs, with gaps."""

import numpy as np
import pytest

from gpssm.linear.smoothing import smooth
from gpssm.linear.states import Noise

STATES, OUTPUTS, STEPS = 3, 2, 7


@pytest.fixture
def problem():
    rng = np.random.default_rng(4)
    A = 0.6 * rng.normal(size=(STATES, STATES))
    B = rng.normal(size=(STATES, 2))
    noise = Noise(rng.uniform(0.1, 0.5, STATES), rng.uniform(0.1, 0.5, OUTPUTS))
    root = rng.normal(size=(STATES, STATES))
    initial = rng.normal(size=STATES), root @ root.T
    u = np.stack([rng.normal(size=STEPS), np.ones(STEPS)], axis=1)
    y = 1.0 + rng.normal(size=(STEPS, OUTPUTS))
    y[2, 0] = y[4] = np.nan
    return A, B, noise, initial, u, y


def joint(A, B, noise, initial, u):
    """Mean and covariance of all states, one after the other."""
    mean, root = [initial[0]], np.zeros((STEPS, STATES, STEPS, STATES))
    root[0, :, 0] = np.linalg.cholesky(initial[1])
    for t in range(1, STEPS):
        mean.append(A @ mean[-1] + B @ u[t - 1])
        root[t] = np.einsum("ij,jtk->itk", A, root[t - 1])
        root[t, :, t] += np.diag(np.sqrt(noise.Q))
    flat = root.reshape(STEPS * STATES, -1)
    return np.concatenate(mean), flat @ flat.T


def test_it_is_the_dense_posterior(problem):
    A, B, noise, initial, u, y = problem
    mean, P = joint(A, B, noise, initial, u)
    C = np.kron(np.eye(STEPS), np.eye(OUTPUTS, STATES))[~np.isnan(y).ravel()]
    R = np.diag(np.tile(noise.R, STEPS)[~np.isnan(y).ravel()])
    S, rest = C @ P @ C.T + R, y[~np.isnan(y)] - C @ mean
    gain = np.linalg.solve(S, C @ P).T
    wanted, covariance = (
        mean + gain @ rest,
        (P - gain @ C @ P).reshape(STEPS, STATES, STEPS, STATES),
    )
    density = -0.5 * (rest @ np.linalg.solve(S, rest) + np.linalg.slogdet(2 * np.pi * S)[1])

    found = smooth(A, B, noise, initial, u, y)

    assert found.mean.ravel() == pytest.approx(wanted, rel=1e-9, abs=1e-11)
    for t in range(STEPS):
        assert found.covariance[t] == pytest.approx(covariance[t, :, t], rel=1e-8, abs=1e-11)
    for t in range(STEPS - 1):
        assert found.cross[t] == pytest.approx(covariance[t + 1, :, t], rel=1e-8, abs=1e-11)
    assert found.log_likelihood == pytest.approx(density, rel=1e-10)
