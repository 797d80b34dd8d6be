"""Auto- and cross-correlation against processes whose correlation is known."""

import numpy as np
import pytest
from scipy.stats import chi2

from gpssm.metrics.residuals import (
    autocorrelation,
    cross_correlation,
    cross_limit,
    ljung_box,
    white_limit,
)

STEPS, PHI = 20_000, 0.8


def noise(seed: int = 0, steps: int = STEPS) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(steps)


def autoregressive(seed: int = 0) -> np.ndarray:
    values = noise(seed)
    for t in range(1, STEPS):
        values[t] += PHI * values[t - 1]
    return values


def test_the_autocorrelation_of_an_autoregression_is_a_power():
    np.testing.assert_allclose(
        autocorrelation([autoregressive()], 8), PHI ** np.arange(9), atol=0.05
    )


def test_gaps_leave_the_autocorrelation_as_it_is():
    values = autoregressive()
    values[np.random.default_rng(5).uniform(size=STEPS) < 0.3] = np.nan
    np.testing.assert_allclose(autocorrelation([values], 8), PHI ** np.arange(9), atol=0.05)


def test_white_errors_stay_inside_their_limit_in_95_of_100_cases():
    values = [autocorrelation([noise(seed, 500)], 20)[1:] for seed in range(40)]
    outside = np.abs(values) > white_limit([noise(0, 500)])
    assert 0.03 < outside.mean() < 0.07


def test_no_pair_reaches_across_the_border_of_two_records():
    """Two halves whose border would give a correlation of one at lag 1."""
    first, second = np.array([0.0, 0.0, 5.0]), np.array([5.0, 0.0, 0.0])
    whole = autocorrelation([np.concatenate([first, second])], 1)[1]
    assert whole > 0.1 > autocorrelation([first, second], 1)[1]


def test_an_input_that_acts_three_steps_later_shows_at_lag_three():
    u = noise()
    lags = np.arange(-5, 11)
    found = cross_correlation([u], [np.roll(u, 3)], lags)
    assert found[lags == 3][0] == pytest.approx(1.0, abs=0.01)
    assert np.abs(found[lags != 3]).max() < 0.05


def test_the_limit_of_slow_signals_follows_bartlett():
    """Σ φ^2k from −∞ to ∞ is (1 + φ²)/(1 − φ²)."""
    u, e = [autoregressive(1)], [autoregressive(2)]
    exact = white_limit(e) * np.sqrt((1 + PHI**2) / (1 - PHI**2))
    assert cross_limit(u, e, 25) == pytest.approx(exact, rel=0.1)
    assert cross_limit([noise(1)], [noise(2)], 25) == pytest.approx(white_limit(e), rel=0.1)


def test_errors_that_never_change_have_no_correlation():
    flat = [np.ones(20)]
    np.testing.assert_array_equal(autocorrelation(flat, 3), [1, 0, 0, 0])
    np.testing.assert_array_equal(cross_correlation([noise(0, 20)], flat, np.arange(3)), [0, 0, 0])


# ---------------------------------------------------------------------- Ljung and Box


def textbook(values: np.ndarray, lags: int) -> float:
    """The p-value of one series without gaps, written as in the paper of Ljung and Box."""
    n, e = len(values), values - values.mean()
    rho = [np.sum(e[k:] * e[:-k]) / np.sum(e**2) for k in range(1, lags + 1)]
    q = n * (n + 2) * sum(r**2 / (n - k) for k, r in enumerate(rho, 1))
    return float(chi2.sf(q, lags))


@pytest.mark.parametrize(("steps", "lags"), [(40, 5), (300, 25), (300, 1)])
def test_the_p_value_without_gaps_is_that_of_the_textbook(steps, lags):
    values = noise(3, steps)
    values[1:] += 0.1 * values[:-1]
    assert ljung_box([values], lags) == pytest.approx(textbook(values, lags), rel=1e-9)


def gappy(values: np.ndarray, seed: int) -> list[np.ndarray]:
    """Two records, of which 3 of 10 values are missing."""
    gone = np.random.default_rng(seed).uniform(size=len(values)) < 0.3
    return np.split(np.where(gone, np.nan, values), [len(values) // 3])


@pytest.mark.parametrize("gaps", [False, True])
def test_5_of_100_white_series_are_rejected_at_5_percent(gaps):
    runs, steps = 1000, 400
    series = np.random.default_rng(11).standard_normal((runs, steps))
    errors = [gappy(each, i) if gaps else [each] for i, each in enumerate(series)]
    share = np.mean([ljung_box(each, 10) < 0.05 for each in errors])
    assert abs(share - 0.05) < 3 * np.sqrt(0.05 * 0.95 / runs)


def test_correlated_errors_are_not_white_even_with_gaps():
    assert ljung_box(gappy(autoregressive()[:400], 0), 10) < 1e-6


def test_missing_rows_at_the_end_and_an_empty_record_change_nothing():
    values = noise(4, 200)
    padded = [np.concatenate([values, np.full(50, np.nan)]), np.empty(0)]
    assert ljung_box(padded, 10) == pytest.approx(ljung_box([values], 10), rel=1e-12)


def test_lags_without_a_pair_are_no_degrees_of_freedom():
    short = [noise(seed, 4) for seed in range(30)]
    assert ljung_box(short, 20) == pytest.approx(ljung_box(short, 3), rel=1e-12)


@pytest.mark.parametrize("errors", [[np.ones(20)], [np.array([1.0])], [np.full(9, np.nan)]])
def test_errors_without_any_information_are_not_called_correlated(errors):
    assert ljung_box(errors, 5) == 1.0
