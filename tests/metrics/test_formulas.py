"""Metrics of the mean, by hand and away from zero."""

import numpy as np
import pytest

from gpssm import Forecast

MEAN = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
Y = np.array([[1.5, 12.0], [2.5, np.nan], [2.0, 36.0]])
SPREAD = np.array([2.0, 50.0])


def scores():
    return Forecast(MEAN[None], np.array([1.0, 5.0])).score(Y, SPREAD)


def test_normalised_rmse_is_in_units_of_the_spread_in_training():
    errors = np.sqrt([(0.25 + 0.25 + 1.0) / 3, (4.0 + 36.0) / 2])
    np.testing.assert_allclose(scores()["nrmse"], errors / SPREAD)
    pooled = np.sqrt((1.5 / 4.0 + 40.0 / 2500.0) / 5)
    assert scores().pooled["nrmse"] == pytest.approx(pooled)


def test_fit_compares_with_the_mean_of_what_came_true():
    first = 100 * (1 - np.sqrt(1.5) / np.linalg.norm([-0.5, 0.5, 0.0]))
    second = 100 * (1 - np.sqrt(40.0) / np.linalg.norm([12.0, -12.0]))
    np.testing.assert_allclose(scores()["fit_percent"], [first, second])


def test_a_perfect_forecast_fits_by_100_per_cent_and_the_mean_by_0():
    y = np.array([1.0, 4.0, 2.5])
    for mean, fit in ((y, 100.0), (np.full(3, y.mean()), 0.0)):
        forecast = Forecast(mean[None, :, None], np.ones(1))
        assert forecast.score(y)["fit_percent"][0] == pytest.approx(fit)
