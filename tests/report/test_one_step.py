"""One-step errors of known processes, beside those of holding the last value."""

import numpy as np
import pytest

from gpssm import Dataset
from gpssm.evaluation.scoring import ARX
from gpssm.linear.arx import ArxOrder, fit_arx
from gpssm.report.one_step import HELD, one_step_scores
from gpssm.report.report_data import Residuals

WARMUP = 16


@pytest.fixture(scope="module")
def process():
    """y[t] = 0.6 y[t−1] + u[t−1] + e[t], e ~ N(0, 0.2²), with a gap."""
    rng = np.random.default_rng(1)
    u, e = rng.standard_normal((4000, 1)), 0.2 * rng.standard_normal((4000, 1))
    y = np.zeros((4000, 1))
    for t in range(1, len(y)):
        y[t] = 0.6 * y[t - 1] + u[t - 1] + e[t]
    gapped = y.copy()
    gapped[100:110] = np.nan
    return u, y, gapped, e


def test_the_last_value_is_held_over_gaps_and_the_linear_model_finds_the_noise(process):
    u, y, gapped, e = process
    linear = fit_arx(Dataset.from_arrays(y, u), ArxOrder(1, 1, 1e-9))
    errors = np.where(np.isnan(gapped), np.nan, e)[WARMUP:]
    (found,) = one_step_scores(Residuals([errors], [u[WARMUP:]], [(u, gapped)]), linear, "model")
    held = gapped[1:, 0] - gapped[:-1, 0]
    held[109] = gapped[110, 0] - gapped[99, 0]  # the last one before the gap
    held = held[WARMUP - 1 :]
    assert found.rmse[HELD] == pytest.approx(np.sqrt(np.nanmean(held**2)))
    assert found.rmse["model"] == pytest.approx(0.2, rel=0.05)
    assert found.rmse[ARX] == pytest.approx(0.2, rel=0.05)
    assert found.p_value > 0.01


def test_errors_that_the_past_explains_are_not_white(process):
    u, y, *_ = process
    (found,) = one_step_scores(Residuals([y[WARMUP:]], [u[WARMUP:]], [(u, y)]), None, "model")
    assert found.p_value < 1e-6
    assert ARX not in found.rmse
