"""The linear baselines: the mean of the training data, and an ARX of a chosen order."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import DataError, expected
from gpssm.base.extremes import in_unit, ordinary_unit
from gpssm.data import Dataset, DataWarning, Experiment, Normalisation
from gpssm.data.folds import cut_blocks
from gpssm.metrics.forecast import Forecast

from .model import LinearModel, with_one

FOLDS, WARMUP = 3, 16
_SMALLEST = 1e-6  # standard deviation of a forecast, in normalised units, of what never moved

Candidate = TypeVar("Candidate")


def constant_mean(y_train: Float[np.ndarray, "rows outputs"], steps: int) -> Forecast:
    """The mean of the training outputs, with their standard deviation, for all times."""
    unit = ordinary_unit(y_train)
    mean, std = np.nanmean(y_train, axis=0), unit * np.nanstd(in_unit(y_train, unit), axis=0)
    return Forecast(np.tile(mean, (1, steps, 1)), np.where(std == 0, _SMALLEST, std))


# ---------------------------------------------------------------------- the choice of an order


def choose(
    fit: Callable[[Dataset, Candidate], LinearModel],
    candidates: Sequence[Candidate],
    data: Dataset,
    folds: int = FOLDS,
) -> Candidate:
    """The candidate that simulates held-out stretches best; those not measured are ignored.

    Refused where gaps leave nothing to any candidate.
    """
    parts = [part for part in cut_blocks(data, folds) if _all_measured(part.train)]

    def error(candidate: Candidate) -> float:
        try:
            models = [fit(part.train, candidate) for part in parts]
        except DataError:  # too many gaps for it
            return np.inf
        return sum(map(_open_loop_error, models, [part.test for part in parts]))

    with warnings.catch_warnings():  # the fit of the model itself warns once
        warnings.simplefilter("ignore", DataWarning)
        errors = [error(candidate) for candidate in candidates]
        best = candidates[int(np.argmin(errors))]
        if not np.isfinite(min(errors)):
            fit(data, best)  # which says why, if it is not that all of them diverge
    return best


def _all_measured(data: Dataset) -> bool:
    """Whether every output has measurements."""
    return bool(np.all(np.sum([run.measured for run in data], axis=0) > 0))


def _open_loop_error(model: LinearModel, held_out: Dataset) -> float:
    """Mean square in normalised units after the warm-up; infinite where the model diverges."""
    scale = model.normalisation.y_std
    total, count = 0.0, 0
    for run in held_out:
        seen = min(WARMUP, len(run) // 2)
        errors = (model.predict_mean(run.u, run.y[:seen]) - run.y)[seen:] / scale
        errors = errors[run.mask[seen:]]
        with np.errstate(over="ignore"):
            total, count = total + float(np.sum(np.square(errors))), count + len(errors)
    return total / max(count, 1) if np.isfinite(total) else np.inf


# ---------------------------------------------------------------------- linear ARX


class ArxOrder(NamedTuple):
    """Numbers of past outputs and past inputs on which y[t] depends, and the ridge."""

    outputs: int
    inputs: int
    ridge: float


ARX_ORDERS = tuple(
    ArxOrder(*order) for order in product((1, 2, 4, 8, 16), (1, 2, 4, 8, 16), (1e-6, 1e-3, 1e-1))
)


def arx(data: Dataset, orders: Sequence[ArxOrder] = ARX_ORDERS, folds: int = FOLDS) -> LinearModel:
    """A linear ARX whose order simulates held-out stretches best, refitted to all of the data.

    Where gaps leave too few rows with a whole past, straight lines bridge them.
    """
    order, bridge = arx_order(data, orders, folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return fit_arx(without_gaps(data) if bridge else data, order)


def arx_order(
    data: Dataset, orders: Sequence[ArxOrder] = ARX_ORDERS, folds: int = FOLDS
) -> tuple[ArxOrder, bool]:
    """The order that simulates held-out stretches best, and whether gaps must be bridged."""
    longest = max(len(run) for run in data)
    usable = [o for o in orders if max(o.outputs, o.inputs) < longest // folds - 1] or orders[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            return choose(fit_arx, usable, data, folds), False
        except DataError:
            return choose(fit_arx, usable, without_gaps(data), folds), True


def without_gaps(data: Dataset) -> Dataset:
    """The same data with straight lines in its gaps."""
    return replace(data, experiments=tuple(map(_bridged, data.experiments)))


def _bridged(run: Experiment) -> Experiment:
    """The same run with its gaps filled; an output that was never measured stays as it is."""
    rows, y = np.arange(len(run)), np.array(run.y)
    for column, known in zip(y.T, run.mask.T, strict=True):
        if known.any():
            column[:] = np.interp(rows, rows[known], column[known])
    return replace(run, y=y)


def fit_arx(data: Dataset, order: ArxOrder) -> LinearModel:
    """Ridge regression of y[t] on what came before it and on u[t]; gaps are left out."""
    normalisation = Normalisation.of(data)
    pairs = [_regression(normalisation, run, order) for run in data]
    states, inputs, targets = (np.concatenate(each) for each in zip(*pairs, strict=True))
    known = ~np.isnan(np.concatenate([states, targets], axis=1)).any(axis=1)
    states, inputs, targets = states[known], inputs[known], targets[known]
    if not known.any():
        given = f"no row with {order.outputs} measured ones before it"
        raise DataError(expected("outputs", given, "some", "There are too many gaps."))
    x = np.concatenate([states, inputs], axis=1)
    # The ridge is per sample: of normalised regressors it is a share of their variance.
    gram = x.T @ x + order.ridge * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x.T @ targets)
    rest = targets - x @ weights
    R = rest.T @ rest / max(len(x) - x.shape[1], 1)
    R += np.diag(np.where(np.diag(R) < _SMALLEST**2, _SMALLEST**2, 0.0))
    return _innovation_form(weights, R, states.T @ states / len(x), order, normalisation)


def _regression(
    normalisation: Normalisation, run: Experiment, order: ArxOrder
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Past outputs and past inputs, newest first), (u[t], 1) and y[t], for all t with a past."""
    u, y = np.asarray(normalisation.u(run.u)), np.asarray(normalisation.y(run.y))
    first = max(order.outputs, order.inputs)
    rows = max(len(run) - first, 0)
    lags = [(y, i + 1) for i in range(order.outputs)] + [(u, i + 1) for i in range(order.inputs)]
    past = [signal[first - lag : first - lag + rows] for signal, lag in lags]
    return np.concatenate(past, axis=1), with_one(u[first:]), y[first:]


def _innovation_form(
    weights: Float[np.ndarray, "regressors outputs"],
    R: Float[np.ndarray, "outputs outputs"],
    initial: Float[np.ndarray, "states states"],
    order: ArxOrder,
    normalisation: Normalisation,
) -> LinearModel:
    """The state is the past: each step writes y[t] and u[t] to its front and shifts the rest."""
    states, dim_y = len(initial), len(R)
    dim_u, split = len(normalisation.u_mean), order.outputs * dim_y
    C, D = weights[:states].T, weights[states:].T
    A, B, K = np.zeros((states, states)), np.zeros((states, dim_u + 1)), np.zeros((states, dim_y))
    A[dim_y:split, : split - dim_y] = np.eye(split - dim_y)
    A[:dim_y], B[:dim_y], K[:dim_y] = C, D, np.eye(dim_y)
    if order.inputs:
        A[split + dim_u :, split : states - dim_u] = np.eye(states - split - dim_u)
        B[split : split + dim_u, :dim_u] = np.eye(dim_u)
    words = f"{order.outputs} past outputs, {order.inputs} past inputs, ridge {order.ridge:g}"
    return LinearModel(A, B, C, D, K, R, initial, normalisation, words)
