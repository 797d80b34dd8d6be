"""Where the fit of a linear model begins: N4SID, and the best ARX with fewer states.

An ARX becomes a model of n states by its impulse responses h (Ho and Kalman): of the Hankel matrix
H[i, j] = h[i+j] = O R the n largest singular values are kept, and O h-shifted = O A R gives A.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from jaxtyping import Float

from gpssm.data.alignment import Alignment

from .forecasting import Parameters
from .model import LinearModel
from .subspace import Projection
from .windows import Signal

HORIZONS, RIDGES = (5, 10, 15, 25), (1e-6, 1e-2)
_LAGS = 40  # of each side of the Hankel matrix
_MEMORY = 200  # steps over which the size of a state is measured


def subspace_starts(
    signals: Sequence[Signal],
    orders: Sequence[int],
    horizons: Sequence[int] = HORIZONS,
    ridges: Sequence[float] = RIDGES,
) -> dict[int, list[Parameters]]:
    """N4SID of each order at several horizons and ridges; those that data is too short for lack."""
    found: dict[int, list[Parameters]] = {states: [] for states in orders}
    for horizon in horizons:
        runs = [(run.u[:, :-1], run.whole) for run in signals if len(run.y) > 3 * horizon]
        projection = Projection(runs, horizon) if runs else None
        for states, ridge in product(orders, ridges):
            if projection and states <= horizon * signals[0].y.shape[1]:
                found[states] += _subspace_start(projection, states, ridge)
    return found


def _subspace_start(projection: Projection, states: int, ridge: float) -> list[Parameters]:
    try:
        A, B, C, D, _ = projection.matrices(states, ridge, feedthrough=False)
    except np.linalg.LinAlgError:  # singular, as of data that never moves
        return []
    return [Parameters(A, B, C, D[:, -1], np.zeros_like(C.T))]


def reduced(model: LinearModel, alignment: Alignment, states: int) -> Parameters:
    """A model of n states with nearly the same responses to inputs and innovations."""
    responses, noise = _responses(model, alignment), np.sqrt(np.diag(model.R))
    responses[:, :, len(alignment) :] *= noise
    rows = np.arange(_LAGS)[:, None] + np.arange(_LAGS)[None]
    hankel, shifted = (
        np.transpose(responses[at], (0, 2, 1, 3)).reshape(_LAGS * len(noise), -1)
        for at in (rows, rows + 1)
    )
    left, sizes, right = np.linalg.svd(hankel, full_matrices=False)
    roots = np.sqrt(np.maximum(sizes[:states], 1e-12 * sizes[0] + 1e-300))
    left, right = left[:, :states] / roots, right[:states] / roots[:, None]
    A = left.T @ shifted @ right.T
    inputs = (left.T @ hankel)[:, : responses.shape[2]]
    C = (hankel @ right.T)[: len(noise)]
    return _unit_states(A, inputs, C, noise, len(alignment))


def _unit_states(
    A: np.ndarray, inputs: np.ndarray, C: np.ndarray, noise: np.ndarray, dim_u: int
) -> Parameters:
    """The same model with states that inputs and noises of unit variance make about one."""
    size, response = np.full(len(A), 1e-12), inputs
    for _ in range(_MEMORY):
        size, response = size + np.sum(response**2, axis=1), A @ response
    scale = np.sqrt(size)
    A, inputs, C = A * scale / scale[:, None], inputs / scale[:, None], C * scale
    B = np.concatenate([inputs[:, :dim_u], np.zeros((len(A), 1))], axis=1)
    return Parameters(A, B, C, np.zeros(len(C)), inputs[:, dim_u:] / noise)


def _responses(model: LinearModel, alignment: Alignment) -> Float[np.ndarray, "lags outputs _"]:
    """g[k]: of y[t+1+k] to the aligned input ũ[t], and to the innovation e[t]."""
    dim_u, lags = len(alignment), 2 * _LAGS + max((*alignment, 1))
    x = np.concatenate([model.B[:, :dim_u], model.K], axis=1)
    h = [np.concatenate([model.D[:, :dim_u], np.eye(len(model.R))], axis=1)]
    for _ in range(lags):
        h.append(model.C @ x)
        x = model.A @ x
    every = np.array(h)
    delays = [*alignment, *[1] * len(model.R)]
    return np.stack([every[d : d + 2 * _LAGS, :, i] for i, d in enumerate(delays)], axis=2)
