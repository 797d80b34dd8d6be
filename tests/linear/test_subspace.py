"""N4SID on a known linear system, from several records, and from data in closed loop."""

import numpy as np
import pytest

from gpssm import Dataset
from gpssm.linear.subspace import SubspaceOrder, fit_n4sid, n4sid

A = np.array([[0.9, 0.3, 0.0], [-0.3, 0.8, 0.1], [0.0, 0.0, 0.6]])
B = np.array([[0.5, 0.0], [0.0, 0.4], [0.3, -0.5]])
C = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]])
D = np.array([[0.0, 0.2], [0.0, 0.0]])
K = np.array([[0.4, 0.0], [0.1, 0.3], [0.2, 0.0]])


def simulate(rows, noise, seed=0):
    rng = np.random.default_rng(seed)
    u, e = rng.standard_normal((rows, 2)), noise * rng.standard_normal((rows, 2))
    x, y = np.zeros(3), np.zeros((rows, 2))
    for t in range(rows):
        y[t] = C @ x + D @ u[t] + e[t]
        x = A @ x + B @ u[t] + K @ e[t]
    return u, y + 1.0


def records(noise, count=3, rows=2000):
    us, ys = zip(*(simulate(rows, noise, seed) for seed in range(count)), strict=True)
    return Dataset.from_arrays(list(ys), list(us))


@pytest.mark.parametrize(("noise", "tolerance"), [(1e-6, 1e-3), (0.1, 0.03)])
def test_the_eigenvalues_of_a_known_system_are_found(noise, tolerance):
    model = fit_n4sid(records(noise), SubspaceOrder(3, 10, 1e-9))
    for true in np.linalg.eigvals(A):
        assert np.abs(np.linalg.eigvals(model.A) - true).min() < tolerance


def test_the_noise_of_the_innovations_and_a_stable_filter_are_found():
    model = fit_n4sid(records(0.1), SubspaceOrder(3, 10, 1e-9))
    scale = model.normalisation.y_std
    np.testing.assert_allclose(np.sqrt(np.diag(model.R)) * scale, 0.1, rtol=0.05)
    assert np.abs(np.linalg.eigvals(model.A - model.K @ model.C)).max() < 1.0


def test_the_open_loop_follows_the_system():
    model = n4sid(records(1e-3, rows=400))
    u, y = simulate(300, 1e-3, seed=9)
    assert model.predict(u, y[:16]).after(16).score(y[16:])["rmse"][0] < 0.05 * y.std()


def test_the_variance_of_the_forecast_is_the_closed_form():
    """Var y[t] = C P C' + R with P[t+1] = A P A' + K R K', from P = 0 after the warm-up."""
    model = fit_n4sid(records(0.1, rows=500), SubspaceOrder(3, 5, 1e-6))
    u, y = simulate(60, 0.1)
    particles = 20_000
    forecast = model.predict(u, y[:20], particles=particles)
    P = np.zeros((3, 3))
    for t in range(20, 60):
        exact = np.diag(model.C @ P @ model.C.T + model.R) * model.normalisation.y_std**2
        assert np.all(np.abs(forecast.std[t] ** 2 - exact) < 5.0 * exact * np.sqrt(2 / particles))
        P = model.A @ P @ model.A.T + model.K @ model.R @ model.K.T


def test_an_integrator_stays_bounded_in_a_long_simulation():
    rng = np.random.default_rng(0)
    u = rng.standard_normal(600)
    y = np.cumsum(u) + 0.1 * rng.standard_normal(600)
    model = fit_n4sid(Dataset.from_arrays(y, u), SubspaceOrder(2, 5, 1e-6))
    assert np.abs(np.linalg.eigvals(model.A)).max() < 1.0
