"""Autocorrelation and cross-correlation of errors.

Errors are a list with one array per record, which are not joined; NaN marks a missing measurement.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaincc

from gpssm.base.extremes import ordinary_unit

_LIMIT = 1.96  # standard errors of a 95 % limit

Series = Sequence[Float[np.ndarray, " _"]]


def autocorrelation(errors: Series, lags: int) -> Float[np.ndarray, " lags_and_zero"]:
    """r[k] = corr(e[t], e[t+k]) for k = 0, …, `lags`."""
    centred = _centred(errors)
    variance = _lagged(centred, centred, 0)
    values = [_lagged(centred, centred, k) for k in range(lags + 1)]
    return np.array(values) / variance if variance > 0 else np.eye(1, lags + 1)[0]


def cross_correlation(
    inputs: Series, errors: Series, lags: Int[np.ndarray, " lags"]
) -> Float[np.ndarray, " lags"]:
    """corr(u[t−k], e[t]) for every lag k: what an input still explains k steps later.

    A negative lag is an error that a later input follows: feedback, not a fault of the model.
    """
    u, e = _centred(inputs), _centred(errors)
    scale = np.sqrt(_lagged(u, u, 0) * _lagged(e, e, 0))
    if not scale > 0:
        return np.zeros(len(lags))
    return np.array([_lagged(u, e, int(k)) / scale for k in lags])


def white_limit(errors: Series) -> float:
    """Below this an autocorrelation of white errors stays in 95 of 100 cases."""
    known = sum(int(np.sum(~np.isnan(each))) for each in errors)
    return _LIMIT / float(np.sqrt(max(known, 1)))


def ljung_box(errors: Series, lags: int) -> float:
    """The p-value of the hypothesis that errors are white, from autocorrelations up to `lags`.

    Q = N (N+2) Σ ρ[k]²/(N−k) of Ljung and Box, whose ρ[k] = r[k] (N−k)/N: the sums over all pairs.
    With gaps and several records the N−k pairs are the n[k] of which both are known, so that
    Q = (N+2)/N Σ n[k] r[k]² ~ χ²(number of lags that have pairs). Without a pair it is 1.
    """
    known = [~np.isnan(each) for each in errors]
    total = sum(int(each.sum()) for each in known)
    pairs = np.array([_pairs(known, k) for k in range(1, lags + 1)])
    freedom = int(np.sum(pairs > 0))
    if not freedom:
        return 1.0
    r = autocorrelation(errors, lags)[1:]
    statistic = (total + 2) / total * np.sum(pairs * r**2)
    return float(gammaincc(freedom / 2, statistic / 2))  # 1 − the distribution of χ²


def cross_limit(inputs: Series, errors: Series, lags: int) -> float:
    """The same for a cross-correlation: slow inputs and slow errors correlate by chance.

    Var r ≈ (1 + 2 Σ ρ_u[k] ρ_e[k]) / N, Bartlett's formula for series that are independent.
    """
    products = autocorrelation(inputs, lags)[1:] * autocorrelation(errors, lags)[1:]
    return white_limit(errors) * float(np.sqrt(max(1.0 + 2.0 * np.sum(products), 1.0)))


def _centred(series: Series) -> list[np.ndarray]:
    """Without their mean, in a unit in which their squares are numbers."""
    mean = np.nanmean(np.concatenate(series))
    centred = [each - mean for each in series]
    unit = ordinary_unit(np.concatenate(centred)[:, None])[0]
    return [each / unit for each in centred]


def _lagged(first: Sequence[np.ndarray], second: Sequence[np.ndarray], lag: int) -> float:
    """The mean of first[t] · second[t + lag] over all pairs that are known."""
    pairs = [_shift(a, b, lag) for a, b in zip(first, second, strict=True)]
    products = np.concatenate([a * b for a, b in pairs])
    products = products[~np.isnan(products)]
    return float(products.mean()) if len(products) else 0.0


def _pairs(known: Sequence[np.ndarray], lag: int) -> int:
    """In how many places a value and the one `lag` steps later are known."""
    pairs = [_shift(each, each, lag) for each in known]
    return sum(int(np.sum(a & b)) for a, b in pairs)


def _shift(a: np.ndarray, b: np.ndarray, lag: int) -> tuple[np.ndarray, np.ndarray]:
    if lag < 0:
        b, a = _shift(b, a, -lag)
        return a, b
    steps = max(len(a) - lag, 0)
    return a[:steps], b[lag : lag + steps]
