"""Process and sensor noise by the likelihood of held-out forecasts over several horizons.

    z[t+1] = A z[t] + B ũ[t] + w[t]     w ~ N(0, Q)
    y[t]   = (I 0) z[t] + v[t]          v ~ N(0, R)

Q and R are diagonal. From many rows of the held-out stretches a Kalman filter sees a warm-up, and
forecasts 1, 2, 4, … steps ahead. The error of a forecast is that of a system without inputs: what
the inputs do, known for sure, is subtracted from the outputs first.

One-step errors alone would put nearly all noise into the process, and intervals of long forecasts
would be wrong by factors, since the errors of a model that is not exact are not white.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .forecasting import WARMUP
from .rollout import states_along
from .states import Noise, StateForm
from .windows import Signal

_STARTS = 40  # forecasts of each held-out run
_LEVELS = 10.0 ** np.arange(-7.0, 1.1)
_MANY = 12  # hidden states, with which a coarser grid must do
_FINER = 10.0 ** np.array([-0.6, -0.3, 0.0, 0.3, 0.6])


class HeldOut(NamedTuple):
    """Stretches that were held out: the model of their fold, and y less what the inputs do."""

    A: Float[np.ndarray, "states states"]
    P: Float[np.ndarray, "states states"]
    rest: Float[np.ndarray, "starts time outputs"]


def held_out(form: StateForm, P: Float[np.ndarray, "n n"], run: Signal, longest: int) -> HeldOut:
    """Stretches of a run that start in many of its rows, and last for so many steps."""
    time = min(WARMUP + longest, len(run.y))
    first = np.linspace(0, max(len(run.y) - min(time, 2 * WARMUP), 0), _STARTS)
    rows = np.unique(first.astype(int))[:, None] + np.arange(time)
    inside = np.minimum(rows, len(run.y) - 1)
    driven = states_along(form.A, form.B, run.u[inside], np.zeros((len(rows), len(form.A))))
    rest = run.y[inside] - driven[:, :, : run.y.shape[1]]
    return HeldOut(form.A, P, np.where((rows < len(run.y))[:, :, None], rest, np.nan))


def fit_noise(runs: Sequence[HeldOut]) -> Noise:
    """The variances with the largest likelihood: a grid, and a finer one around its best point.

    Three factors: of the process noise of the outputs, of that of the hidden states, and of the
    sensors. The first and the last are shares of each output's mean square of forecast errors.
    """
    outputs = runs[0].rest.shape[2]
    hidden = len(runs[0].A) - outputs
    scale = _mean_squares(runs)
    levels = _LEVELS if hidden < _MANY else _LEVELS[::2]
    factors = np.array(list(product(levels, levels if hidden else [0.0], levels)))
    for finer in (_FINER, _FINER**0.3):
        best = factors[np.argmin(_loss(runs, _noise(factors, scale, hidden)))]
        factors = best * np.array(list(product(finer, finer if hidden else [1.0], finer)))
    best = factors[[np.argmin(_loss(runs, _noise(factors, scale, hidden)))]]
    return Noise(*(each[0] for each in _noise(best, scale, hidden)))


def _noise(
    factors: Float[np.ndarray, "n 3"], scale: Float[np.ndarray, " outputs"], hidden: int
) -> Noise:
    seen, unseen, sensor = factors.T
    Q = [seen[:, None] * scale, np.tile(unseen[:, None], (1, hidden))]
    return Noise(np.concatenate(Q, axis=1), sensor[:, None] * scale)


def _mean_squares(runs: Sequence[HeldOut]) -> Float[np.ndarray, " outputs"]:
    """Mean squares of what the inputs leave, by output; they only set the scale of a grid."""
    found = [np.nanmean(np.square(run.rest[:, :WARMUP]), axis=(0, 1)) for run in runs]
    return np.maximum(np.nanmean(found, axis=0), 1e-12)


def _loss(runs: Sequence[HeldOut], noise: Noise) -> Float[np.ndarray, " n"]:
    """−log p of forecasts, averaged over starts, then over horizons, for every noise."""
    totals: dict[int, list[np.ndarray]] = {}
    for run in runs:
        for horizon, values in _run_losses(run, noise).items():
            totals.setdefault(horizon, []).append(values)
    means = [np.nanmean(np.concatenate(each, axis=1), axis=1) for each in totals.values()]
    return np.nan_to_num(np.nanmean(means, axis=0), nan=np.inf)


def _run_losses(run: HeldOut, noise: Noise) -> dict[int, np.ndarray]:
    """By horizon the losses [noise, starts] of one run; NaN where nothing was measured."""
    _, time, outputs = run.rest.shape
    warmup = min(WARMUP, time // 2)
    z, P = _filtered(run, noise, warmup)
    found, ahead, added, horizon = {}, run.A, _diagonal(noise.Q), 1
    while horizon <= time - warmup:
        variance = ahead @ P @ ahead.T + added
        variance = np.diagonal(variance, axis1=1, axis2=2)[:, :outputs] + noise.R
        e = run.rest[:, warmup - 1 + horizon] - (z @ ahead.T)[:, :, :outputs]
        if not np.isnan(e).all():
            found[horizon] = _negative_log_density(e, variance[:, None])
        added = added + ahead @ added @ ahead.T
        ahead, horizon = ahead @ ahead, 2 * horizon
    return found


def _negative_log_density(
    e: Float[np.ndarray, "n starts outputs"], variance: Float[np.ndarray, "n 1 outputs"]
) -> Float[np.ndarray, "n starts"]:
    """Averaged over the outputs that were measured; NaN without any."""
    each = 0.5 * (np.square(e) / variance + np.log(2.0 * np.pi * variance))
    known = ~np.isnan(e).all(axis=(0, 2))
    each[:, known] = np.where(np.isnan(each[:, known]), 0.0, each[:, known])
    return each.mean(axis=2)


def _filtered(run: HeldOut, noise: Noise, warmup: int) -> tuple[np.ndarray, np.ndarray]:
    """E and Cov of z at the last row of the warm-up: [noise, starts, states], [noise, states²].

    The covariance is that without gaps; an output that is missing moves nothing.
    """
    starts, _, outputs = run.rest.shape
    z = np.zeros((len(noise.Q), starts, len(run.A)))
    P = np.tile(run.P, (len(noise.Q), 1, 1))
    for t in range(warmup):
        if t:
            z, P = z @ run.A.T, run.A @ P @ run.A.T + _diagonal(noise.Q)
        S = P[:, :outputs, :outputs] + _diagonal(noise.R)
        gain = np.swapaxes(np.linalg.solve(S, P[:, :outputs]), 1, 2)
        e = np.nan_to_num(run.rest[:, t] - z[:, :, :outputs])
        z = z + e @ np.swapaxes(gain, 1, 2)
        P = P - gain @ P[:, :outputs]
        P = 0.5 * (P + np.swapaxes(P, 1, 2))
    return z, P


def _diagonal(values: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k k"]:
    return values[:, :, None] * np.eye(values.shape[1])
