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
