"""Scores of very large and very small values are those of ordinary ones in other units."""

import numpy as np
import pytest

from gpssm import Forecast
from gpssm.base.extremes import in_unit, ordinary_unit, root_mean_square
from gpssm.linear import constant_mean
from gpssm.metrics import Scored, metrics
from gpssm.metrics.reliability import horizon_profile
from gpssm.metrics.residuals import autocorrelation, cross_correlation

RNG = np.random.default_rng(0)
PARTICLES, Y = RNG.standard_normal((7, 30, 1)), RNG.standard_normal((30, 1))
NOISE = np.array([0.4])
SIZES = pytest.mark.parametrize("size", [1e300, 1e-300])


def forecast(size):
    return Forecast(size * PARTICLES, size * NOISE)


@SIZES
def test_scores_have_the_size_of_their_units(size):
    wanted = Forecast(PARTICLES, NOISE).score(Y, spread=np.array([2.0]))
    found = forecast(size).score(size * Y, spread=np.array([2.0 * size]))
    for name, metric in metrics().items():
        value = found[name][0]
        if metric.unit == "data":
            value = value / size
        if metric.unit == "nats":
            value = value + np.log(size)
        assert value == pytest.approx(wanted[name][0], rel=1e-9), name
        assert found.pooled[name] == pytest.approx(wanted.pooled[name], rel=1e-9), name


@SIZES
def test_the_spread_and_the_horizon_have_the_size_of_their_units(size):
    small = Forecast(PARTICLES, NOISE)
    np.testing.assert_allclose(forecast(size).std / size, small.std, rtol=1e-9)
    wanted, found = (horizon_profile([Scored(forecast(s), s * Y)], 0, bins=3) for s in (1.0, size))
    for one, other in zip(wanted, found, strict=True):
        assert other.rmse / size == pytest.approx(one.rmse)
        assert other.width / size == pytest.approx(one.width)


@SIZES
def test_a_constant_mean_has_the_spread_of_the_data(size):
    found = constant_mean(size * Y, 4).std / size
    np.testing.assert_allclose(found, np.full((4, 1), Y.std()), rtol=1e-9)


@SIZES
def test_correlations_have_no_size(size):
    e, u = [Y[:, 0]], [PARTICLES[0, :, 0]]
    big = [size * Y[:, 0]]
    np.testing.assert_allclose(autocorrelation(big, 5), autocorrelation(e, 5), rtol=1e-9)
    lags = np.arange(-2, 5)
    wanted = cross_correlation(u, e, lags)
    np.testing.assert_allclose(cross_correlation(u, big, lags), wanted, rtol=1e-9)


def test_ordinary_values_keep_their_bits():
    values = np.array([[1e-90, 3.0, 0.0, np.nan, 1e90]])
    np.testing.assert_array_equal(ordinary_unit(values), np.ones(5))
    assert in_unit(values, ordinary_unit(values)) is values
    assert root_mean_square(values[0, 1:3]) == np.sqrt(4.5)
    assert np.isnan(root_mean_square(np.empty(0)))
    assert root_mean_square(np.array([1.0, np.inf])) == np.inf


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e300, 1.7e308])
def test_a_unit_is_a_power_of_two_near_the_value(value):
    unit = ordinary_unit(np.array([[value]]))[0]
    assert np.frexp(unit)[0] == 0.5
    assert 0 < value / unit < 2.0
