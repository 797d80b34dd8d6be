"""The filter that runs back, against the dense joint Gaussian of a long record."""

import numpy as np
import pytest

from gpssm.linear.backward import backward_gain


def plant(rng):
    """Two outputs and two hidden states, stable, with every state driven by noise."""
    A = rng.normal(size=(4, 4))
    A *= 0.95 / np.max(np.abs(np.linalg.eigvals(A)))
    B, root = rng.normal(size=(4, 3)), rng.normal(size=(4, 4))
    return A, B, root @ root.T / 4 + 0.1 * np.eye(4)


def simulate(rng, A, B, Q, steps):
    """States and inputs, the last input a constant one."""
    u = np.concatenate([rng.normal(size=(steps, 2)), np.ones((steps, 1))], axis=1)
    w = rng.multivariate_normal(np.zeros(4), Q, size=steps)
    x = np.zeros((steps, 4))
    for t in range(steps - 1):
        x[t + 1] = A @ x[t] + B @ u[t] + w[t]
    return x, u


def dense_estimate(A, B, Q, x, u, start, steps):
    """E h[start] given y[start : start + steps], each y known exactly and h at first unknown.

    All noises after `start` and h[start] are one Gaussian vector; the outputs are linear in it.
    """
    h, noise = np.eye(2) * 1e6, np.kron(np.eye(steps - 1), Q)
    prior = np.block([[h, np.zeros((2, 4 * steps - 4))], [np.zeros((4 * steps - 4, 2)), noise]])
    effect = np.zeros((4, prior.shape[0]))
    effect[2:, :2] = np.eye(2)
    mean = np.concatenate([x[start, :2], np.zeros(2)])
    rows, rest = [], []
    for t in range(steps - 1):
        mean, effect = A @ mean + B @ u[start + t], A @ effect
        effect[:, 2 + 4 * t : 6 + 4 * t] += np.eye(4)
        rows.append(effect[:2].copy())
        rest.append(x[start + t + 1, :2] - mean[:2])
    E, r = np.concatenate(rows), np.concatenate(rest)
    return (prior @ E.T @ np.linalg.solve(E @ prior @ E.T, r))[:2]


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_posterior_mean_given_later_outputs(seed, monkeypatch):
    monkeypatch.setattr("gpssm.linear.backward._PRIOR", 1e-9)
    rng = np.random.default_rng(seed)
    A, B, Q = plant(rng)
    x, u = simulate(rng, A, B, Q, 120)
    G = backward_gain(A, B, Q, 1e-12 * np.eye(2))
    h = np.zeros(2)
    for t in range(118, 9, -1):
        h = G @ np.concatenate([h, x[t + 1, :2], x[t, :2], u[t]])
    wanted = dense_estimate(A, B, Q, x, u, start=10, steps=60)
    assert h == pytest.approx(wanted, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_the_recursion_is_stable_also_where_the_plant_is_not(seed):
    rng = np.random.default_rng(seed)
    A, B, Q = plant(rng)
    for factor in (0.1, 1.0, 1.3):
        G = backward_gain(factor * A, B, Q, 0.01 * np.eye(2))
        assert np.max(np.abs(np.linalg.eigvals(G[:, :2]))) < 1.0


def test_a_hidden_state_that_nothing_shows_stays_at_zero():
    A = np.diag([0.9, 0.8])
    G = backward_gain(A, np.zeros((2, 1)), 0.1 * np.eye(2), 0.1 * np.eye(1))
    assert np.max(np.abs(np.linalg.eigvals(G[:, :1]))) < 1.0
    assert G[:, 1:] == pytest.approx(0.0, abs=1e-12)
