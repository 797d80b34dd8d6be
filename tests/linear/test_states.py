"""Other forms of the same linear model forecast the same; and the noise of a known plant."""

import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import Normalisation
from gpssm.data.alignment import aligned
from gpssm.linear.feedthrough import in_units_of, without_feedthrough
from gpssm.linear.model import LinearModel
from gpssm.linear.noise import HeldOut, _filtered, _run_losses, fit_noise
from gpssm.linear.rollout import states_along
from gpssm.linear.states import Moments, Noise, state_form

A = np.array([[0.9, 0.3, 0.0], [-0.3, 0.8, 0.1], [0.0, 0.0, 0.6]])
B = np.array([[0.5, 0.0, 0.1], [0.0, 0.4, 0.0], [0.3, -0.5, 0.2]])
C = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]])
D = np.array([[0.7, 0.0, 0.3], [0.0, 0.2, -0.1]])
K = np.array([[0.4, 0.0], [0.1, 0.3], [0.2, 0.0]])


def units(seed):
    rng = np.random.default_rng(seed)
    return Normalisation(
        rng.normal(size=2), 1 + rng.random(2), rng.normal(size=2), 1 + rng.random(2)
    )


def plant(D=D, alignment=None):
    return LinearModel(A, B, C, D, K, np.eye(2), np.eye(3), units(0), alignment=alignment)


def signals(rows=50, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, 2)), rng.standard_normal((20, 2))


def test_an_aligned_input_is_that_of_another_row():
    u = np.arange(12.0).reshape(6, 2)
    found = aligned(u, (0, 3))
    np.testing.assert_array_equal(found[:, 0], [2, 4, 6, 8, 10, 10])
    np.testing.assert_array_equal(found[:, 1], [1, 1, 1, 3, 5, 7])


def test_other_units_change_no_forecast():
    u, y = signals()
    mean = plant().predict_mean(u, y)
    np.testing.assert_allclose(in_units_of(units(5), plant()).predict_mean(u, y), mean, atol=1e-9)


@pytest.mark.parametrize("alignment", [None, (0, 3)])
def test_one_step_ahead_is_the_first_forecast_after_all_rows_before(alignment):
    model, (u, _) = plant(alignment=alignment), signals()
    y = np.random.default_rng(2).standard_normal((len(u), 2))
    found = model.predict_one_step(u, y, warmup=len(u) - 1)[-1]
    np.testing.assert_allclose(found, model.predict_mean(u, y[:-1])[-1], atol=1e-9)


@pytest.mark.parametrize("alignment", [(0, 3), (5, 1)])
def test_without_noise_one_step_ahead_is_exact_with_feedthrough_and_dead_time(alignment):
    """The plant sees u[t+1−delay], beginning before the record."""
    model, (u, _) = plant(D=np.zeros((2, 3)), alignment=alignment), signals(rows=80)
    scales = model.normalisation
    delayed = np.zeros((80, 3))
    delayed[:, 2] = 1.0
    for j, delay in enumerate(alignment):
        rows = np.clip(np.arange(80) + 1 - delay, 0, 79)
        delayed[:, j] = ((u - scales.u_mean) / scales.u_std)[rows, j]
    x, y = np.array([1.0, -1.0, 0.5]), np.zeros((80, 2))
    for t in range(80):
        y[t] = C @ x
        x = A @ x + B @ delayed[t]
    y = scales.y_mean + scales.y_std * y
    np.testing.assert_allclose(model.predict_one_step(u, y)[40:], y[40:], atol=1e-6)


@pytest.mark.parametrize("alignment", [None, (1, 3)])
def test_feedthrough_becomes_a_state_that_sees_a_younger_input(alignment):
    """From a known first state: (x, ũ)[1]."""
    p, younger = without_feedthrough(plant(alignment=alignment))
    delays = alignment or (1, 1)
    assert younger == tuple(delay - 1 for delay in delays)
    u, x = signals()[0], np.array([[1.0, -1.0, 0.5]])
    one = np.ones((len(u), 1))
    old, new = (np.hstack([aligned(u, a), one]) for a in (delays, younger))
    y = states_along(A, B, old[None], x)[0] @ C.T + old @ D.T
    first = np.concatenate([x, old[:1, :2]], axis=1)
    again = states_along(p.A, p.B, new[None], first)[0] @ p.C.T + p.d
    np.testing.assert_allclose(again, y, atol=1e-12)


def test_without_feedthrough_nothing_changes():
    p, alignment = without_feedthrough(plant(D=D * np.array([0, 0, 1])))
    assert alignment == (1, 1)
    np.testing.assert_array_equal(p.A, A)


def test_the_outputs_are_the_first_states_and_hidden_ones_are_uncorrelated_with_them():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    moments = Moments(rng.standard_normal(3), root @ root.T)
    form = state_form(A, B, C, D[:, -1], moments, (1, 1))
    u = np.concatenate([signals()[0], np.ones((50, 1))], axis=1)
    x = states_along(A, B, u[None], np.array([[1.0, 2.0, 3.0]]))
    z = states_along(form.A, form.B, u[None], x[:, 0] @ form.T.T + form.c)
    np.testing.assert_allclose(z, x @ form.T.T + form.c, atol=1e-10)
    np.testing.assert_allclose(z[0, :, :2], x[0] @ C.T + D[:, -1], atol=1e-10)
    covariance = form.T @ moments.covariance @ form.T.T
    np.testing.assert_allclose(covariance[2:, 2:], [[1.0]], atol=1e-6)
    np.testing.assert_allclose(covariance[2:, :2], 0.0, atol=1e-6)
    np.testing.assert_allclose((form.T @ moments.mean + form.c)[2], 0.0, atol=1e-9)


def test_outputs_that_depend_on_each_other_are_refused():
    twice = np.stack([C[0], 2 * C[0]])
    with pytest.raises(DataError, match="outputs that do not depend on each other"):
        state_form(A, B, twice, np.zeros(2), Moments(np.zeros(3), np.eye(3)), (1, 1))


def test_poles_and_settling_time():
    def with_radius(r):
        return LinearModel(r * np.eye(1), *[np.ones((1, 1))] * 6, units(0))

    np.testing.assert_allclose(
        np.sort_complex(plant().poles), np.sort_complex(np.linalg.eigvals(A))
    )
    assert abs(plant().poles[0]) == max(abs(plant().poles))
    assert 0.9 ** with_radius(0.9).settling_time == pytest.approx(0.05)
    assert 1.02 ** with_radius(1.02).settling_time == pytest.approx(10.0)
    assert with_radius(1.0).settling_time == np.inf


# ---------------------------------------------------------------------- noise

F = np.array([[0.9, 0.5], [-0.2, 0.7]])
Q, R = np.array([0.04, 0.01]), np.array([0.09])


def simulate(rows, seed=0):
    rng = np.random.default_rng(seed)
    z, y = np.zeros(2), np.zeros((rows, 1))
    for t in range(rows):
        y[t] = z[0] + np.sqrt(R) * rng.standard_normal(1)
        z = F @ z + np.sqrt(Q) * rng.standard_normal(2)
    return y


def stretches(y, length):
    starts = np.arange(0, len(y) - length, 5)
    return HeldOut(F, np.eye(2), np.stack([y[i : i + length] for i in starts]))


def test_forecasts_of_the_noise_are_those_of_a_dense_gaussian():
    """The density of y[t+h] given the warm-up, from the joint covariance of all of them."""
    run, warmup = stretches(simulate(80), 60), 25
    cov, P = {}, np.eye(2)
    for t in range(60):
        for s in range(t, 60):
            cov[s, t] = (np.linalg.matrix_power(F, s - t) @ P)[0, 0]
        P = F @ P @ F.T + np.diag(Q)
    joint = np.array([[cov[max(i, j), min(i, j)] for j in range(60)] for i in range(60)])
    joint += R * np.eye(60)
    found = _run_losses(run, Noise(Q[None], R[None]))
    assert sorted(found) == [1, 2, 4, 8, 16, 32]
    for h, values in found.items():
        row, seen = warmup - 1 + h, slice(0, warmup)
        gain = np.linalg.solve(joint[seen, seen], joint[seen, row])
        variance = joint[row, row] - gain @ joint[seen, row]
        e = run.rest[:, row, 0] - run.rest[:, seen, 0] @ gain
        exact = 0.5 * (e**2 / variance + np.log(2 * np.pi * variance))
        np.testing.assert_allclose(values[0], exact, rtol=1e-8)


def test_a_gap_moves_no_state():
    run = stretches(simulate(80), 60)
    gaps = run.rest.copy()
    gaps[:, 3:25] = np.nan
    z, _ = _filtered(run._replace(rest=gaps), Noise(Q[None], R[None]), 4)
    late, _ = _filtered(run._replace(rest=gaps), Noise(Q[None], R[None]), 10)
    np.testing.assert_allclose(late[0, 0], np.linalg.matrix_power(F, 7) @ _last(run, z), atol=1e-9)


def _last(run, z):
    """The state of the third row: the fourth one is its prediction."""
    return np.linalg.solve(F, z[0, 0])


def spread(noise, horizons):
    """Standard deviations of forecasts of the output, from a state that the filter knows."""
    run = HeldOut(F, np.eye(2), np.zeros((1, 25, 1)))
    _, P = _filtered(run, Noise(noise.Q[None], noise.R[None]), 25)
    P, found = P[0], []
    for _ in range(horizons):
        P = F @ P @ F.T + np.diag(noise.Q)
        found.append(np.sqrt(P[0, 0] + noise.R[0]))
    return np.array(found)


def test_the_noise_of_a_known_plant_gives_the_spread_of_its_forecasts():
    noise = fit_noise([stretches(simulate(1500, seed), 90) for seed in range(2)])
    np.testing.assert_allclose(spread(noise, 40), spread(Noise(Q, R), 40), rtol=0.1)
    np.testing.assert_allclose(noise.R, R, rtol=0.35)
