"""Forecasts of one model without noise, in NumPy: its states, its first state, its errors."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .forecasting import RIDGE, WARMUP, Parameters
from .states import Moments
from .windows import SHORT, Signal, overlapping

CUT = 10.0  # spreads: a larger error counts as this one, so that those who diverge can be compared


def states_along(
    A: Float[np.ndarray, "states states"],
    B: Float[np.ndarray, "states inputs_and_one"],
    u: Float[np.ndarray, "runs time inputs_and_one"],
    first: Float[np.ndarray, "runs states"],
) -> Float[np.ndarray, "runs time states"]:
    """All states of runs without noise."""
    x, found = first, np.empty((*u.shape[:2], len(A)))
    with np.errstate(over="ignore", invalid="ignore"):  # an unstable model may well diverge
        for t in range(u.shape[1]):
            found[:, t] = x
            x = x @ A.T + u[:, t] @ B.T
    return found


def first_state(model: Parameters, piece: Signal) -> Float[np.ndarray, " states"]:
    """x[1] by ridge regression on the warm-up."""
    warmup, n = min(WARMUP, len(piece.y) // 2), len(model.A)
    basis = np.concatenate([np.zeros((1, n)), np.eye(n)])
    u = np.concatenate([piece.u[None, :warmup], np.zeros((n, warmup, piece.u.shape[1]))])
    y = states_along(model.A, model.B, u, basis) @ model.C.T
    known = ~np.isnan(piece.y[:warmup])
    effect, rest = y[1:][:, known].T, (piece.y[:warmup] - y[0] - model.d)[known]
    return np.linalg.solve(effect.T @ effect + RIDGE * np.eye(n), effect.T @ rest)


def forecast(model: Parameters, piece: Signal) -> Float[np.ndarray, "time states"]:
    """The states of a forecast, and of its warm-up."""
    first = first_state(model, piece)
    return states_along(model.A, model.B, piece.u[None], first[None])[0]


def mean_square(model: Parameters, pieces: Sequence[Signal]) -> float:
    """Of the errors of forecasts after the warm-up."""
    total, count = 0.0, 0
    for piece in pieces:
        warmup = min(WARMUP, len(piece.y) // 2)
        e = (piece.y - forecast(model, piece) @ model.C.T - model.d)[warmup:]
        e = np.where(np.isfinite(e), np.minimum(np.abs(e), CUT), CUT)
        e = e[~np.isnan(piece.y[warmup:])]
        total, count = total + float(np.sum(np.square(e))), count + e.size
    return total / max(count, 1)


def state_moments(model: Parameters, runs: Sequence[Signal]) -> Moments:
    """Mean and covariance of the states in short forecasts of the training data."""
    found = np.concatenate([forecast(model, piece) for piece in overlapping(runs, SHORT)])
    found = found[np.isfinite(found).all(axis=1)]
    return Moments(found.mean(axis=0), np.atleast_2d(np.cov(found.T)))
