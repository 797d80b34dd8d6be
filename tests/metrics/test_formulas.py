"""Metrics of the mean and of the interval, by hand and away from zero."""

import numpy as np
import pytest
from scipy import stats

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


def test_interval_score_is_the_width_and_forty_times_the_miss():
    half = stats.norm.ppf(0.975)
    y = np.array([0.0, half + 0.5, -half - 0.25])
    forecast = Forecast(np.zeros((1, 3, 1)), np.ones(1))
    assert forecast.score(y)["interval_score"][0] == pytest.approx(2 * half + 40 * 0.75 / 3)


def test_the_interval_of_the_truth_has_the_lowest_interval_score():
    y = np.random.default_rng(0).standard_normal((4000, 1))
    found = [
        Forecast(np.zeros((1, 4000, 1)), np.array([std])).score(y)["interval_score"][0]
        for std in (0.6, 1.0, 1.7)
    ]
    assert found[1] < min(found[0], found[2])
