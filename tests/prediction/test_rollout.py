"""From a warm-up to a forecast: what is seen, what is not, and a linear system as the oracle."""

import numpy as np
import pytest
from test_run import HORIZON, ROWS, TINY, WARMUP, fit_tiny, forecast_tiny, make_record

from gpssm import Dataset, Forecast, Model, Normalisation, Run, Training
from gpssm.training import History
from support import linear_system

COUNT = 40_000
A, B = np.array([[0.9, 0.3], [-0.2, 0.8]]), np.array([[0.4], [-0.7]])
PROCESS, OUTPUT, INITIAL = np.array([0.3, 0.2]), np.array([0.15]), np.array([0.8, 1.2])
DOUBLE = Training(precision="float64")


@pytest.fixture(scope="module")
def run() -> Run:
    return fit_tiny()


# ---------------------------------------------------------------------- what a forecast sees


def forecast_test_part(run: Run, data: Dataset) -> Forecast:
    """All of the test part, from its first outputs."""
    return run.predict(data.test[0].u, data.test[0].y[:WARMUP])


def test_outputs_after_the_warm_up_reach_neither_the_fit_nor_the_forecast():
    """The test part beyond its warm-up is replaced by nonsense: not a bit changes."""
    u, y = make_record(rows=ROWS + HORIZON)
    poisoned = np.where(np.arange(len(y))[:, None] < ROWS + WARMUP, y, 1e9)
    forecasts = []
    for outputs in (y, poisoned):
        data = Dataset.from_arrays(outputs, u).split_at(ROWS)
        forecasts.append(forecast_test_part(fit_tiny(data=data.train), data))
    assert np.ptp(forecasts[0].mean) > 0.0
    np.testing.assert_array_equal(forecasts[0].particles, forecasts[1].particles)
    np.testing.assert_array_equal(forecasts[0].noise_std, forecasts[1].noise_std)


def test_every_output_of_the_warm_up_reaches_the_forecast(run):
    u, y = make_record(seed=1)
    before = run.predict(u[:HORIZON], y[:WARMUP])
    for t in range(WARMUP):
        moved = y[:WARMUP].copy()
        moved[t] += 3.0
        assert np.all(run.predict(u[:HORIZON], moved).mean[-1] != before.mean[-1])


def test_inputs_act_on_the_next_step_and_not_before(run):
    u, y = make_record(seed=1)
    before = run.predict(u[:HORIZON], y[:WARMUP])
    moved = u[:HORIZON].copy()
    moved[9] += 2.0
    after = run.predict(moved, y[:WARMUP])
    np.testing.assert_array_equal(after.particles[:, :10], before.particles[:, :10])
    assert np.all(after.mean[10:] != before.mean[10:])


def test_a_missing_output_of_the_warm_up_is_not_a_filled_one(run):
    """The gap is filled for the smoother's eyes only: it is not conditioned on."""
    u, y = make_record(seed=1)
    gap, filled = y[:WARMUP].copy(), y[:WARMUP].copy()
    gap[2], filled[2] = np.nan, y[1]
    with_gap, with_value = run.predict(u[:HORIZON], gap), run.predict(u[:HORIZON], filled)
    assert np.isfinite(with_gap.particles).all()
    np.testing.assert_array_equal(with_gap.particles[:, :2], with_value.particles[:, :2])
    assert np.all(with_gap.mean[2:] != with_value.mean[2:])


def test_the_same_seed_gives_the_same_numbers_and_another_one_others(run):
    first, again, other = (forecast_tiny(run, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.particles, again.particles)
    np.testing.assert_array_equal(first.samples, again.samples)
    assert np.all(first.mean[WARMUP:] != other.mean[WARMUP:])
    noise = [each.samples - each.particles for each in (first, other)]
    assert np.all(noise[0] != noise[1])


def test_more_particles_are_more_draws_of_the_same_forecast(run):
    """Many particles at once, and a few of them under many seeds: the same mean and spread."""
    at_once = forecast_tiny(run, particles=4000).particles[:, 1:]
    apart = [forecast_tiny(run, seed=seed).particles[:, 1:] for seed in range(1, 251)]
    apart = np.concatenate(apart)
    assert (len(at_once), len(apart)) == (4000, 250 * TINY["particles"])
    variances = at_once.var(axis=0), apart.var(axis=0)
    error = np.sqrt(variances[0] / 4000 + variances[1] / len(apart))
    assert np.all(np.abs(at_once.mean(axis=0) - apart.mean(axis=0)) < 5.0 * error)
    np.testing.assert_allclose(*variances, rtol=0.25)


def test_other_units_of_the_data_are_other_units_of_the_forecast(run):
    """Trained on 3 y + 7 and 5 u − 2: the same forecast, written in those units."""
    u, y = make_record()
    other = fit_tiny(u=5.0 * u - 2.0, y=3.0 * y + 7.0)
    test_u, test_y = (values[:HORIZON] for values in make_record(seed=1))
    ours = run.predict(test_u, test_y[:WARMUP])
    theirs = other.predict(5.0 * test_u - 2.0, 3.0 * test_y[:WARMUP] + 7.0)
    step = 1e-3 * ours.std.mean()
    np.testing.assert_allclose(theirs.mean, 3.0 * ours.mean + 7.0, atol=3.0 * step)
    np.testing.assert_allclose(theirs.std, 3.0 * ours.std, rtol=1e-3)
    np.testing.assert_allclose(theirs.samples, 3.0 * ours.samples + 7.0, atol=3.0 * step)
    np.testing.assert_allclose(
        theirs.quantile(0.9), 3.0 * ours.quantile(0.9) + 7.0, atol=3.0 * step
    )
    np.testing.assert_allclose(
        theirs.score(3.0 * test_y + 7.0).pooled["log_likelihood"],
        ours.score(test_y).pooled["log_likelihood"] - np.log(3.0),
        atol=1e-3,
    )


# ---------------------------------------------------------------------- a linear system


def linear_run(target: str, B: np.ndarray = B) -> Run:
    """x[t+1] = A x + B u + noise, exactly known, in the units of the data."""
    config = Model(
        dim_x=2, target=target, k=1, recognition="output", function_draw="delta",
        covariance="delta", warmup=1, inducing_points=2 + B.shape[1], particles=COUNT,
    )  # fmt: skip
    system = linear_system(config, A, B, PROCESS, OUTPUT, INITIAL)
    return Run(system, Normalisation.identity(B.shape[1], 1), DOUBLE, 0, History.from_columns({}))


def exact_moments(u, y, corrected):
    """Mean and variance of y[1:T], with full matrices; `corrected` are the steps to condition on.

    Every particle is a Kalman filter of its own that knows its x[t]: q(x[t+1] given x[t], y[t+1]).
    """
    Q, R, C = np.diag(PROCESS), np.diag(OUTPUT), np.eye(1, 2)
    m, P = np.array([y[0, 0], 0.0]), np.diag([OUTPUT[0], INITIAL[1]])
    means, variances = [C @ m], [C @ P @ C.T + R]
    for t in range(1, len(u)):
        m, P, V = A @ m + B @ u[t - 1], A @ P @ A.T, Q
        if t in corrected:
            K = Q @ C.T @ np.linalg.inv(C @ Q @ C.T + R)
            keep = np.eye(2) - K @ C
            m, P, V = m + K @ (y[t] - C @ m), keep @ P @ keep.T, keep @ Q
        P = P + V
        means.append(C @ m)
        variances.append(C @ P @ C.T + R)
    return np.array(means), np.array(variances)[..., 0]


def assert_moments(forecast: Forecast, mean, variance):
    """Within Monte-Carlo error; the noise of the sensor is not sampled and has none."""
    hidden = variance - OUTPUT
    assert np.all(np.abs(forecast.mean - mean) < 5.0 * np.sqrt(hidden / COUNT))
    error = hidden * np.sqrt(2.0 / COUNT)
    assert np.all(np.abs(forecast.std**2 - variance) < 5.0 * error)


LINEAR_U = np.random.default_rng(1).standard_normal((9, 1))
LINEAR_Y = np.array([[1.2], [-0.4], [2.0], [-1.5], [0.9]])


def test_without_a_target_the_forecast_is_the_propagated_gaussian():
    forecast = linear_run("none").predict(LINEAR_U, LINEAR_Y)
    assert_moments(forecast, *exact_moments(LINEAR_U, LINEAR_Y, corrected=[]))


@pytest.mark.parametrize("conditioned", [3, 5])
def test_the_conditioned_steps_are_filtered_and_the_rest_is_open_loop(conditioned):
    """k = 1 on a linear system: the first `conditioned` outputs by Kalman's gain, then none."""
    run = linear_run("observation")
    forecast = run.predict(LINEAR_U, LINEAR_Y, conditioned=conditioned)
    assert_moments(forecast, *exact_moments(LINEAR_U, LINEAR_Y, range(1, conditioned)))


def test_a_missing_output_is_not_filtered():
    y = LINEAR_Y.copy()
    y[2] = np.nan
    forecast = linear_run("observation").predict(LINEAR_U, y)
    assert_moments(forecast, *exact_moments(LINEAR_U, y, [1, 3, 4]))


def test_outputs_beyond_the_conditioned_steps_change_nothing_without_a_smoother():
    run, moved = linear_run("observation"), LINEAR_Y + np.array([[0.0], [0.0], [0.0], [9.0], [9.0]])
    before, after = (run.predict(LINEAR_U, y, conditioned=3) for y in (LINEAR_Y, moved))
    np.testing.assert_array_equal(before.particles, after.particles)
    longer = run.predict(LINEAR_U, moved, conditioned=5)
    np.testing.assert_array_equal(before.particles[:, :3], longer.particles[:, :3])
    assert np.all(before.particles[:, 3:] != longer.particles[:, 3:])


def test_the_smoother_sees_the_warm_up_beyond_the_conditioned_steps(run):
    u, y = make_record(seed=1)
    moved = y[:WARMUP].copy()
    moved[3] += 3.0
    before, after = (run.predict(u[:HORIZON], each, conditioned=2) for each in (y[:WARMUP], moved))
    assert np.all(before.mean[-1] != after.mean[-1])


def test_a_system_without_inputs_runs_for_the_steps_asked_for():
    """u=None: powers of A on x[1] = (y[1], 0)."""
    forecast = linear_run("none", B=np.zeros((2, 0))).predict(None, LINEAR_Y[:1], steps=12)
    mean, variance = exact_moments(np.zeros((12, 1)), LINEAR_Y, corrected=[])
    assert_moments(forecast, mean, variance)
    powers = [np.linalg.matrix_power(A, t)[:1, :1] * LINEAR_Y[0] for t in range(12)]
    np.testing.assert_allclose(mean, np.concatenate(powers), rtol=1e-12)


def test_the_forecast_says_how_long_its_warm_up_was_and_which_outputs_it_has():
    u, y = make_record()
    run = fit_tiny(data=Dataset.from_arrays(y, u, output_names=("level",)))
    forecast = forecast_tiny(run)
    assert (forecast.warmup, forecast.output_names) == (WARMUP, ("level",))
