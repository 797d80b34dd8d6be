"""A forecast, a mixture of Gaussians, against scipy, brute force and hand computation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from gpssm import DataError, Forecast
from gpssm.linear import constant_mean

LEVELS = st.floats(0.001, 0.999)
SEEDS = st.integers(0, 10_000)


def make_forecast(particles=7, time=5, outputs=2, seed=0, **more) -> Forecast:
    """Particles in clumps, so that no mixture is close to one Gaussian."""
    rng = np.random.default_rng(seed)
    clump = rng.choice([-3.0, 1.0, 6.0], (particles, time, outputs))
    spread = rng.normal(2.0, 0.5, (particles, time, outputs))
    return Forecast(clump + spread, rng.uniform(0.3, 1.2, outputs), **more)


def draw(forecast: Forecast, count: int, seed: int = 1) -> np.ndarray:
    """Records [count, time, outputs]: a particle by lot for the whole record, then the sensor."""
    rng = np.random.default_rng(seed)
    chosen = forecast.particles[rng.integers(len(forecast.particles), size=count)]
    return chosen + forecast.noise_std * rng.standard_normal(chosen.shape)


def mixture_cdf(forecast: Forecast, value: float, t: int, channel: int) -> float:
    centres = forecast.particles[:, t, channel]
    return stats.norm.cdf(value, centres, forecast.noise_std[channel]).mean()


# ---------------------------------------------------------------------- the distribution


def test_mean_and_std_are_those_of_brute_force_draws():
    forecast = make_forecast()
    count = 100_000
    records = draw(forecast, count)
    spread = records.std(axis=0)
    kurtosis = stats.kurtosis(records, axis=0, fisher=False)
    std_error = spread * np.sqrt((kurtosis - 1.0) / (4.0 * count))
    assert np.all(np.abs(records.mean(axis=0) - forecast.mean) < 5.0 * spread / np.sqrt(count))
    assert np.all(np.abs(spread - forecast.std) < 5.0 * std_error)


@pytest.mark.parametrize("level", [0.001, 0.1, 0.5, 0.975])
def test_quantiles_are_the_roots_of_scipys_mixture(level):
    forecast = make_forecast()
    found = forecast.quantile(level)
    for t, channel in np.ndindex(found.shape):
        root = brentq(
            lambda v, t=t, c=channel: mixture_cdf(forecast, v, t, c) - level, -30, 30, xtol=1e-13
        )
        np.testing.assert_allclose(found[t, channel], root, atol=1e-9)


def test_quantiles_of_one_particle_are_those_of_a_gaussian():
    centres, noise = np.array([[[1.0, -2.0], [0.5, 3.0]]]), np.array([0.5, 2.0])
    ours = Forecast(centres, noise).quantile(0.9)
    np.testing.assert_allclose(ours, stats.norm.ppf(0.9, centres[0], noise), rtol=1e-10)


def test_probability_below_is_scipys_mixture_and_the_share_of_draws():
    forecast = make_forecast()
    y = draw(forecast, 1, seed=5)[0]
    ours = forecast.probability_below(y)
    count = 50_000
    share = (draw(forecast, count) < y).mean(axis=0)
    for t, channel in np.ndindex(y.shape):
        exact = mixture_cdf(forecast, y[t, channel], t, channel)
        np.testing.assert_allclose(ours[t, channel], exact, rtol=1e-10)
    assert np.all(np.abs(share - ours) < 5.0 * np.sqrt(0.25 / count))


def test_an_interval_leaves_the_same_probability_on_both_sides():
    low, high = (forecast := make_forecast()).interval(0.8)
    np.testing.assert_allclose(forecast.probability_below(low), 0.1, atol=1e-10)
    np.testing.assert_allclose(forecast.probability_below(high), 0.9, atol=1e-10)


def test_samples_are_the_particles_with_the_noise_of_the_sensor():
    forecast = make_forecast(particles=3000, time=4, seed=3)
    noise = (forecast.samples - forecast.particles) / forecast.noise_std
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    flat = noise.reshape(3000, -1)
    correlations = np.corrcoef(flat, rowvar=False) - np.eye(flat.shape[1])
    assert np.abs(correlations).max() < 5.0 / np.sqrt(3000)


def test_samples_belong_to_the_seed():
    one, same = make_forecast(seed=3), make_forecast(seed=3)
    other = Forecast(one.particles, one.noise_std, seed=8)
    np.testing.assert_array_equal(one.samples, same.samples)
    assert np.all(one.samples != other.samples)


# ---------------------------------------------------------------------- laws


@given(low=LEVELS, high=LEVELS, seed=SEEDS)
def test_quantiles_rise_with_their_level(low, high, seed):
    low, high = sorted((low, high))
    forecast = make_forecast(seed=seed)
    assert np.all(forecast.quantile(low) <= forecast.quantile(high) + 1e-12)


@given(level=LEVELS, seed=SEEDS, particles=st.integers(1, 30))
def test_a_quantile_has_its_level_below_it(level, seed, particles):
    forecast = make_forecast(particles=particles, seed=seed)
    below = forecast.probability_below(forecast.quantile(level))
    np.testing.assert_allclose(below, level, atol=1e-9)


@given(level=st.floats(0.05, 0.99), seed=SEEDS)
def test_data_drawn_from_the_forecast_is_covered_as_often_as_the_level_says(level, seed):
    count = 4000
    cell = make_forecast(particles=20, time=1, outputs=1, seed=seed)
    repeated = Forecast(np.tile(cell.particles, (1, count, 1)), cell.noise_std)
    y = draw(cell, count, seed)[:, 0]
    error = np.sqrt(level * (1.0 - level) / count)
    assert abs(repeated.coverage(y, level) - level) < 5.0 * error


@given(scale=st.floats(0.1, 50.0), shift=st.floats(-100.0, 100.0), seed=SEEDS)
def test_other_units_move_every_number_as_they_must(scale, shift, seed):
    """y → scale · y + shift: a log-density falls by log(scale) per output, coverage stays."""
    forecast = make_forecast(seed=seed)
    y = draw(forecast, 1, seed)[0]
    other = Forecast(scale * forecast.particles + shift, scale * forecast.noise_std)
    other_y = scale * y + shift
    np.testing.assert_allclose(other.mean, scale * forecast.mean + shift, atol=1e-9)
    np.testing.assert_allclose(other.std, scale * forecast.std, rtol=1e-9)
    np.testing.assert_allclose(
        other.quantile(0.3), scale * forecast.quantile(0.3) + shift, atol=1e-8 * (1.0 + scale)
    )
    np.testing.assert_allclose(
        other.score(other_y).pooled["rmse"], scale * forecast.score(y).pooled["rmse"], rtol=1e-9
    )
    np.testing.assert_allclose(
        other.score(other_y).pooled["log_likelihood"],
        forecast.score(y).pooled["log_likelihood"] - 2.0 * np.log(scale),
        atol=1e-9,
    )
    np.testing.assert_array_equal(other.coverage(other_y, 0.8), forecast.coverage(y, 0.8))


# ---------------------------------------------------------------------- scores


def test_rmse_by_hand():
    """Means 1 and 4 against 4 and 4: errors 3 and 0."""
    forecast = Forecast(np.array([[[0.0], [3.0]], [[2.0], [5.0]]]), np.array([0.1]))
    assert forecast.score(np.array([4.0, 4.0])).pooled["rmse"] == pytest.approx(np.sqrt(4.5))
    assert forecast.score(np.array([[4.0], [4.0]])).pooled["rmse"] == pytest.approx(np.sqrt(4.5))


def test_coverage_by_hand():
    """The 95 % band of N(0, 1) ends at ±1.95996."""
    forecast = Forecast(np.zeros((1, 5, 1)), np.ones(1))
    assert forecast.coverage(np.array([0.0, 1.95, 1.97, -1.95, -1.97])) == pytest.approx(0.6)
    assert forecast.coverage(np.array([0.0, 0.7, 0.6, -0.7, -3.0]), level=0.5) == pytest.approx(0.4)


def test_coverage_counts_what_lies_in_the_interval():
    forecast = make_forecast(time=40)
    y = draw(forecast, 1)[0]
    low, high = forecast.interval(0.7)
    inside = np.mean((low <= y) & (y <= high))
    assert 0.0 < inside < 1.0
    assert np.mean(forecast.coverage(y, 0.7)) == pytest.approx(inside)


def test_log_likelihood_of_one_particle_is_that_of_a_gaussian():
    """Averaged over time, joint over the outputs."""
    forecast = make_forecast(particles=1, outputs=3)
    y = draw(forecast, 1)[0]
    covariance = np.diag(forecast.noise_std**2)
    exact = [
        stats.multivariate_normal.logpdf(value, mean, covariance)
        for value, mean in zip(y, forecast.particles[0], strict=True)
    ]
    assert forecast.score(y).pooled["log_likelihood"] == pytest.approx(np.mean(exact), rel=1e-12)


def test_log_likelihood_of_a_mixture_is_joint_over_the_outputs():
    """Particles at (1, 1) and (−1, −1): y = (1, −1) is unlikely although each half is likely."""
    forecast = Forecast(np.array([[[1.0, 1.0]], [[-1.0, -1.0]]]), np.array([0.3, 0.3]))
    density = stats.norm(0.0, 0.3).pdf
    for y in ([1.0, 1.0], [1.0, -1.0], [0.2, 0.1]):
        a, b = y
        joint = 0.5 * (density(a - 1) * density(b - 1) + density(a + 1) * density(b + 1))
        assert forecast.score(np.array([y])).pooled["log_likelihood"] == pytest.approx(
            np.log(joint), rel=1e-12
        )
    agreeing, opposed = (
        forecast.score(np.array([y])).pooled["log_likelihood"] for y in ([1.0, 1.0], [1.0, -1.0])
    )
    assert agreeing - opposed > 20.0


def test_log_likelihood_is_finite_far_away_from_every_particle():
    forecast = Forecast(np.zeros((2, 1, 1)), np.array([0.01]))
    exact = stats.norm.logpdf(5.0, 0.0, 0.01)
    assert forecast.score(np.array([5.0])).pooled["log_likelihood"] == pytest.approx(
        exact, rel=1e-12
    )


def test_missing_values_are_not_scored():
    """Scores with gaps, by hand: the channels that are left of each step, then the average."""
    forecast = make_forecast(time=4)
    y = draw(forecast, 1)[0]
    y[1, 0] = y[2, 1] = np.nan
    y[3] = np.nan
    known = [(0, [0, 1]), (1, [1]), (2, [0])]
    logs, squares, covered = [], [], []
    for t, channels in known:
        density = np.ones(len(forecast.particles))
        for c in channels:
            centres, noise = forecast.particles[:, t, c], forecast.noise_std[c]
            density *= stats.norm.pdf(y[t, c], centres, noise)
            squares.append((centres.mean() - y[t, c]) ** 2)
            covered.append(0.25 <= mixture_cdf(forecast, y[t, c], t, c) <= 0.75)
        logs.append(np.log(density.mean()))
    assert forecast.score(y).pooled["log_likelihood"] == pytest.approx(np.mean(logs), rel=1e-10)
    assert forecast.score(y).pooled["rmse"] == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-12)
    assert np.average(forecast.coverage(y, 0.5), weights=[2, 2]) == pytest.approx(np.mean(covered))


def test_after_leaves_the_first_steps_out_of_everything():
    forecast = make_forecast(time=9, warmup=4, output_names=("level", "flow"))
    rest, y = forecast.after(4), draw(forecast, 1)[0]
    np.testing.assert_array_equal(rest.mean, forecast.mean[4:])
    np.testing.assert_array_equal(rest.std, forecast.std[4:])
    np.testing.assert_allclose(rest.quantile(0.2), forecast.quantile(0.2)[4:], rtol=1e-9)
    gaps = np.concatenate([np.full((4, 2), np.nan), y[4:]])
    assert rest.score(y[4:]).pooled["rmse"] == pytest.approx(forecast.score(gaps).pooled["rmse"])
    assert rest.score(y[4:]).pooled["log_likelihood"] == pytest.approx(
        forecast.score(gaps).pooled["log_likelihood"]
    )
    assert rest.coverage(y[4:]) == pytest.approx(forecast.coverage(gaps))
    assert (rest.warmup, rest.output_names) == (0, ("level", "flow"))


def test_the_constant_mean_scores_as_one_gaussian():
    y_train = np.array([[1.0, 5.0], [3.0, np.nan], [5.0, 9.0]])
    y = np.array([[2.0, 7.5], [4.0, 6.0]])
    exact = stats.norm.logpdf(y, [3.0, 7.0], [np.sqrt(8.0 / 3.0), 2.0]).sum(axis=1).mean()
    assert constant_mean(y_train, 2).score(y).pooled["log_likelihood"] == pytest.approx(
        exact, rel=1e-12
    )


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("shape", [(5,), (4, 2), (5, 3), (1, 5, 2)])
@pytest.mark.parametrize("score", ["score", "coverage"])
def test_a_truth_of_another_shape_is_refused(score, shape):
    given_shape = (5, 1) if shape == (5,) else shape
    with pytest.raises(DataError) as error:
        getattr(make_forecast(), score)(np.zeros(shape))
    message = str(error.value)
    assert message.startswith("y: got")
    assert str(given_shape) in message
    assert "(5, 2) [time, outputs]" in message


@pytest.mark.parametrize("score", ["score", "coverage"])
def test_a_truth_without_any_measurement_is_refused(score):
    with pytest.raises(DataError, match=r"y: got missing values only, expected at least one"):
        getattr(make_forecast(), score)(np.full((5, 2), np.nan))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95.0, np.nan])
def test_a_quantile_outside_of_0_to_1_is_refused(level):
    with pytest.raises(DataError, match=rf"level: got {level}, expected .*between 0 and 1"):
        make_forecast().quantile(level)


@pytest.mark.parametrize(
    ("band", "level"),
    [
        ("interval", -0.1),
        ("interval", 1.0),
        ("interval", 95.0),
        ("coverage", -0.1),
        ("coverage", 95.0),
    ],
)
def test_a_band_outside_of_0_to_1_is_refused_by_the_level_that_was_given(band, level):
    forecast = make_forecast()
    arguments = (level,) if band == "interval" else (forecast.mean, level)
    with pytest.raises(DataError, match=rf"level: got {level}, expected .*between 0 and 1"):
        getattr(forecast, band)(*arguments)


def test_a_later_start_keeps_the_samples_and_what_is_left_of_the_warm_up():
    whole = Forecast(np.random.default_rng(1).standard_normal((4, 6, 2)), np.ones(2), 7, 4)
    part = whole.after(2)
    np.testing.assert_array_equal(part.samples, whole.samples[:, 2:])
    np.testing.assert_array_equal(part.after(1).samples, whole.samples[:, 3:])
    assert (part.warmup, part.after(3).warmup) == (2, 0)


@pytest.mark.parametrize("steps", [-1, 5, 9])
def test_a_start_beyond_the_forecast_is_refused(steps):
    with pytest.raises(DataError, match=rf"steps: got {steps}, expected between 0 and 4"):
        make_forecast().after(steps)


def test_the_probability_of_one_column_is_that_of_a_plain_array():
    forecast = Forecast(np.zeros((3, 4, 1)), np.ones(1))
    flat = np.array([-1.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(
        forecast.probability_below(flat), forecast.probability_below(flat[:, None])
    )
