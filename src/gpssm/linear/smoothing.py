"""Kalman filter and smoother of a linear model with C = (I 0) and diagonal noise, with gaps.

z[t+1] = A z[t] + B ũ[t] + w[t]     w ~ N(0, Q)
y[t]   = (I 0) z[t] + v[t]          v ~ N(0, R)
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .states import Noise


class Smoothed(NamedTuple):
    """z[t] given all outputs: mean, covariance, and the covariance of z[t+1] and z[t]."""

    mean: Float[np.ndarray, "time states"]
    covariance: Float[np.ndarray, "time states states"]
    cross: Float[np.ndarray, "time_less_one states states"]
    log_likelihood: float


class _Filtered(NamedTuple):
    """z[t] given the outputs before t (`prior`) and up to t."""

    prior_mean: np.ndarray
    prior_covariance: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    log_likelihood: float


def smooth(
    A: Float[np.ndarray, "states states"],
    B: Float[np.ndarray, "states inputs_and_one"],
    noise: Noise,
    initial: tuple[Float[np.ndarray, " states"], Float[np.ndarray, "states states"]],
    u: Float[np.ndarray, "time inputs_and_one"],
    y: Float[np.ndarray, "time outputs"],
) -> Smoothed:
    """Rauch-Tung-Striebel; NaN marks an output that is missing."""
    found = _filter(A, B, noise, initial, u, y)
    mean, P = found.mean.copy(), found.covariance.copy()
    cross = np.empty((len(y) - 1, *A.shape))
    for t in range(len(y) - 2, -1, -1):
        J = np.linalg.solve(found.prior_covariance[t + 1], A @ found.covariance[t]).T
        cross[t] = P[t + 1] @ J.T
        mean[t] += J @ (mean[t + 1] - found.prior_mean[t + 1])
        P[t] += J @ (P[t + 1] - found.prior_covariance[t + 1]) @ J.T
    return Smoothed(mean, P, cross, found.log_likelihood)


def _filter(
    A: np.ndarray,
    B: np.ndarray,
    noise: Noise,
    initial: tuple[np.ndarray, np.ndarray],
    u: np.ndarray,
    y: np.ndarray,
) -> _Filtered:
    z, P = initial
    Q, known, total = np.diag(noise.Q), ~np.isnan(y), 0.0
    rows: list[tuple[np.ndarray, ...]] = []
    for t in range(len(y)):
        if t:
            z, P = A @ z + B @ u[t - 1], A @ P @ A.T + Q
        before = z, P
        if known[t].any():
            z, P, density = _condition(z, P, y[t], known[t], noise.R)
            total += density
        rows.append((*before, z, P))
    prior_mean, prior_covariance, mean, covariance = map(np.array, zip(*rows, strict=True))
    return _Filtered(prior_mean, prior_covariance, mean, covariance, total)


def _condition(
    z: np.ndarray, P: np.ndarray, y: np.ndarray, known: np.ndarray, R: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """The update with the outputs that are known, in Joseph form, and their log-density."""
    C = np.eye(len(y), len(z))[known]
    S = C @ P @ C.T + np.diag(R[known])
    K = np.linalg.solve(S, C @ P).T
    e, rest = (y - z[: len(y)])[known], np.eye(len(z)) - K @ C
    density = -0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(2.0 * np.pi * S)[1])
    P = rest @ P @ rest.T + K @ np.diag(R[known]) @ K.T
    return z + K @ e, 0.5 * (P + P.T), float(density)
