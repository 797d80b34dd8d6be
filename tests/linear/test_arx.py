"""The linear ARX against systems whose coefficients and forecast variances are known."""

import numpy as np
import pytest

from gpssm import Dataset
from gpssm.linear import arx, constant_mean
from gpssm.linear.arx import ArxOrder, fit_arx

A1, A2 = np.array([[1.2, 0.1], [0.0, 0.7]]), np.array([[-0.5, 0.0], [0.1, -0.2]])
B0, B1 = np.array([[0.0, 0.4], [0.3, 0.0]]), np.array([[0.5, 0.0], [0.2, -0.6]])
NOISE = np.array([[0.04, 0.01], [0.01, 0.02]])
ORDER = ArxOrder(outputs=2, inputs=1, ridge=1e-9)


def simulate(rows, seed=0, noise=NOISE, offset=3.0):
    """y[t] = A1 y[t−1] + A2 y[t−2] + B0 u[t] + B1 u[t−1] + e[t], shifted by a constant."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((rows, 2))
    e = rng.multivariate_normal(np.zeros(2), noise, rows)
    y = np.zeros((rows, 2))
    for t in range(2, rows):
        y[t] = A1 @ y[t - 1] + A2 @ y[t - 2] + B0 @ u[t] + B1 @ u[t - 1] + e[t]
    return u, y + offset


def in_units(model):
    """The coefficients of y[t−1], y[t−2], u[t−1] and u[t] in the units of the data."""
    y, u = model.normalisation.y_std, model.normalisation.u_std
    scale = y[:, None] / np.concatenate([y, y, u])
    return np.split(model.C * scale, [2, 4], axis=1), model.D[:, :-1] * y[:, None] / u


def test_the_coefficients_of_a_known_arx_are_found():
    u, y = simulate(20_000)
    model = fit_arx(Dataset.from_arrays(y, u), ORDER)
    (a1, a2, b1), b0 = in_units(model)
    for found, true in ((a1, A1), (a2, A2), (b1, B1), (b0, B0)):
        np.testing.assert_allclose(found, true, atol=0.03)
    scale = model.normalisation.y_std
    np.testing.assert_allclose(model.R * np.outer(scale, scale), NOISE, rtol=0.05, atol=1e-3)


def test_without_noise_a_forecast_is_exact():
    u, y = simulate(600, noise=1e-14 * np.eye(2), offset=0.0)
    model = fit_arx(Dataset.from_arrays(y[:400], u[:400]), ORDER)
    forecast = model.predict(u[400:], y[400:416])
    np.testing.assert_allclose(forecast.mean, y[400:], atol=1e-3)


def test_the_variance_of_a_forecast_is_the_closed_form():
    """Var y[t+h] = Σ Ψ_i R Ψ_iᵀ over the h+1 last noises, Ψ the response to an impulse."""
    u, y = simulate(3000)
    model = fit_arx(Dataset.from_arrays(y, u), ORDER)
    particles, warmup, steps = 20_000, 20, 30
    forecast = model.predict(u[: warmup + steps], y[:warmup], particles=particles)
    (a1, a2, _), _ = in_units(model)
    scale = model.normalisation.y_std
    R = model.R * np.outer(scale, scale)
    responses, total = [np.zeros((2, 2)), np.eye(2)], np.zeros((2, 2))
    for h in range(steps):
        total = total + responses[-1] @ R @ responses[-1].T
        responses.append(a1 @ responses[-1] + a2 @ responses[-2])
        error = 5.0 * np.diag(total) * np.sqrt(2.0 / particles)
        assert np.all(np.abs(forecast.std[warmup + h] ** 2 - np.diag(total)) < error)


def test_the_mean_of_the_particles_has_no_noise():
    u, y = simulate(300)
    model = fit_arx(Dataset.from_arrays(y, u), ORDER)
    mean = model.predict_mean(u, y[:16])
    np.testing.assert_allclose(model.predict(u, y[:16], particles=6).mean, mean, atol=1e-9)


def test_in_the_warm_up_the_particles_agree_and_later_they_spread():
    u, y = simulate(300)
    forecast = fit_arx(Dataset.from_arrays(y, u), ORDER).predict(u, y[:16])
    spread = forecast.particles.std(axis=0)
    assert np.all(spread[:16] < 1e-9)
    assert np.all(spread[17:] > 0.01)


def test_the_chosen_order_forecasts_nearly_as_well_as_the_true_one():
    u, y = simulate(900, seed=1)
    chosen = arx(Dataset.from_arrays(y[:600], u[:600]))
    true = fit_arx(Dataset.from_arrays(y[:600], u[:600]), ORDER)
    u, y = u[600:], y[600:]
    errors = [
        model.predict(u, y[:16]).after(16).score(y[16:]).pooled["rmse"] for model in (chosen, true)
    ]
    assert errors[0] < 1.1 * errors[1]


def test_the_band_of_the_true_order_covers_what_it_says():
    u, y = simulate(6000, seed=2)
    model = fit_arx(Dataset.from_arrays(y[:3000], u[:3000]), ORDER)
    forecast = model.predict(u[3000:], y[3000:3016])
    assert forecast.after(16).coverage(y[3016:], 0.9) == pytest.approx(0.9, abs=0.03)


def test_gaps_are_left_out_and_do_not_end_a_warm_up():
    u, y = simulate(4000)
    holes = y.copy()
    holes[np.random.default_rng(0).uniform(size=y.shape) < 0.1] = np.nan
    model = fit_arx(Dataset.from_arrays(holes, u), ORDER)
    (a1, _, _), _ = in_units(model)
    np.testing.assert_allclose(a1, A1, atol=0.06)
    assert np.isfinite(model.predict(u[:50], holes[:16]).particles).all()


def test_several_records_without_inputs():
    rng = np.random.default_rng(0)
    records = []
    for _ in range(3):
        y = np.zeros(500)
        for t in range(1, 500):
            y[t] = 0.9 * y[t - 1] + 0.1 * rng.standard_normal()
        records.append(y)
    model = fit_arx(Dataset.from_arrays(records), ArxOrder(1, 0, 1e-9))
    np.testing.assert_allclose(model.A, [[0.9]], atol=0.03)


# ---------------------------------------------------------------------- gaps, and what never moves


def with_gaps(rows, which):
    """A record of which only some outputs were measured: `which` [rows, outputs]."""
    u, y = simulate(rows, noise=1e-4 * np.eye(2))
    return Dataset.from_arrays(np.where(which, y, np.nan), u), Dataset.from_arrays(y, u)


def error(model, data):
    run = data[0]
    return float(np.sqrt(np.mean(np.square(model.predict_mean(run.u, run.y[:16]) - run.y))))


@pytest.mark.parametrize(
    ("which", "share"),
    [
        # Lines over ten rows hide what this plant does within them: no better than its mean.
        pytest.param(lambda t: np.stack([t % 10 == 0] * 2, 1), 1.3, id="every tenth row"),
        pytest.param(lambda t: np.stack([t % 2 == 0, t % 2 == 1], 1), 0.8, id="in turn"),
        pytest.param(lambda t: np.stack([(t < 100) | (t >= 200)] * 2, 1), 0.1, id="a third less"),
        # Nothing is left to choose an order by: the smallest one.
        pytest.param(lambda t: np.stack([t < 90] * 2, 1), 0.5, id="only the first third"),
    ],
)
def test_gaps_do_not_keep_a_linear_model_from_being_fitted(which, share):
    data, whole = with_gaps(300, which(np.arange(300)))
    assert error(arx(data), whole) < share * np.std(whole[0].y)


def test_rows_without_gaps_are_not_bridged():
    """A few gaps leave enough of them: lines between measurements would be a worse past."""
    rng = np.random.default_rng(1)
    data, whole = with_gaps(400, rng.random((400, 2)) > 0.02)
    assert error(arx(data), whole) < 0.1 * np.std(whole[0].y)


def test_a_channel_that_never_moves_is_forecast_and_scored_without_a_word(recwarn):
    u, y = simulate(300)
    y[:, 1] = 5.0
    forecast = arx(Dataset.from_arrays(y, u)).predict(u, y[:16])
    np.testing.assert_allclose(forecast.mean[:, 1], 5.0)
    assert np.isfinite(forecast.score(y).pooled["log_likelihood"])
    assert np.isfinite(constant_mean(y, 300).score(y).pooled["log_likelihood"])
    assert not recwarn.list


def test_one_step_ahead_the_error_is_the_noise_and_the_future_is_not_seen():
    u, y = simulate(3000)
    model = fit_arx(Dataset.from_arrays(y, u), ORDER)
    rng = np.random.default_rng(0)
    rng.standard_normal((3000, 2))
    e = rng.multivariate_normal(np.zeros(2), NOISE, 3000)  # as `simulate` draws it
    found = model.predict_one_step(u, y)
    np.testing.assert_allclose((y - found)[20:], e[20:], atol=0.05)
    later = np.where(np.arange(3000)[:, None] >= 100, 0.0, y)
    np.testing.assert_array_equal(model.predict_one_step(u, later)[:101], found[:101])
