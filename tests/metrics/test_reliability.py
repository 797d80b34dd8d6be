"""Coverage, PIT and horizon against closed forms."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from gpssm.metrics import Forecast, Scored
from gpssm.metrics.reliability import (
    LEVELS,
    coverage_curve,
    horizon_profile,
    pit_histogram,
    pit_values,
)

STEPS, STD = 4000, 2.0


def gaussian(y_std: float, steps: int = STEPS, bias: float = 0.0, warmup: int = 0) -> Scored:
    """A forecast N(3, 2²), and measurements with a spread of their own."""
    y = 3.0 + bias + y_std * np.random.default_rng(1).standard_normal((steps, 1))
    return Scored(Forecast(np.full((1, steps, 1), 3.0), np.array([STD]), warmup=warmup), y)


def test_the_pit_of_a_calibrated_forecast_is_uniform():
    assert kstest(pit_values([gaussian(STD)], 0), "uniform").pvalue > 0.01


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_coverage_is_that_of_the_normal_law(factor):
    """A band of ±z·σ covers 2Φ(z/factor) − 1 of measurements with factor times the spread."""
    curve = coverage_curve(pit_values([gaussian(factor * STD)], 0))
    exact = 2.0 * norm.cdf(norm.ppf(0.5 + 0.5 * LEVELS) / factor) - 1.0
    assert np.all(np.abs(curve - exact) < 4.0 * np.sqrt(exact * (1 - exact) / STEPS) + 1e-12)


def test_missing_measurements_do_not_count():
    scored = gaussian(STD)
    y = scored.y.copy()
    y[::2] = np.nan
    half = pit_values([Scored(scored.forecast, y)], 0)
    np.testing.assert_array_equal(half, pit_values([scored], 0)[1::2])


def test_the_histogram_is_a_density_with_the_limit_of_the_binomial():
    pit = pit_values([gaussian(STD)], 0)
    density, limit = pit_histogram(pit, bins=10)
    assert density.mean() == pytest.approx(1.0)
    assert limit == pytest.approx(1.96 * np.sqrt(0.1 * 0.9 / STEPS) / 0.1)
    assert np.sum(np.abs(density - 1.0) > limit) <= 2


def test_a_biased_forecast_fills_one_side_of_the_histogram():
    density, limit = pit_histogram(pit_values([gaussian(STD, bias=STD)], 0))
    assert density[-1] > 1.0 + 10 * limit
    assert density[0] < 1.0 - 5 * limit


def test_the_horizon_is_counted_after_the_warm_up():
    """The error jumps from 1 to 3 at step 31 of the open loop; the band stays ±1.96σ."""
    error = np.concatenate([np.full(10, 50.0), np.full(30, 1.0), np.full(30, 3.0)])[:, None]
    forecast = Forecast(np.zeros((1, 70, 1)), np.array([1.0]), warmup=10)
    profile = horizon_profile([Scored(forecast, error).after(forecast.warmup)], 0, bins=6)
    assert [(each.first, each.last) for each in profile][:2] == [(1, 10), (11, 20)]
    np.testing.assert_allclose([each.rmse for each in profile], [1, 1, 1, 3, 3, 3])
    np.testing.assert_allclose([each.width for each in profile], 2 * norm.ppf(0.975), rtol=1e-6)
    assert [each.coverage for each in profile] == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_records_of_different_lengths_share_the_horizon():
    long, short = gaussian(STD, steps=40), gaussian(STD, steps=10)
    profile = horizon_profile([long, short], 0, bins=4)
    assert [each.known for each in profile] == [20, 10, 10, 10]
