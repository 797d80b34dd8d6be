"""A linear subspace model, N4SID: oblique projection, singular values, least squares.

Written here because no library fits: nfoursid takes one record only (a data set may have many,
and a held-out stretch leaves two) and is little kept; the release of SIPPY fails with numpy 2.

Past p[t] = (u, y)[t−i : t], future inputs and outputs (u, y)[t : t+i]:

    y_future ≈ L_p p + L_u u_future        the oblique projection is L_p p = Γ x[t]
    x[t] = Wᵀ p[t]                         its n largest principal components
    (x[t+1], y[t]) on (x[t], u[t])         gives A, B, C, D and the covariance of what is left

A is made stable before B is estimated, since the model is to be simulated far ahead, and the
Kalman gain K of the innovation form solves the Riccati equation of that covariance.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_discrete_are

from gpssm.data import Dataset, Experiment, Normalisation

from .arx import choose
from .model import LinearModel, with_one

_RIDGE = 1e-6  # of the projection, per sample: short records have fewer columns than unknowns
_RADIUS = 0.999  # a memory of a thousand steps, about the length of the records

InputsAndOutputs = tuple[Float[np.ndarray, "time inputs"], Float[np.ndarray, "time outputs"]]


class SubspaceOrder(NamedTuple):
    """Number of states, steps of past and future, and the ridge per sample of normalised states."""

    states: int
    horizon: int
    ridge: float


ORDERS = tuple(
    SubspaceOrder(*order)
    for order in product((1, 2, 3, 4, 6, 8, 14, 20), (5, 10, 15), (1e-6, 1e-2, 1e-1))
)


def n4sid(data: Dataset, orders: Sequence[SubspaceOrder] = ORDERS, folds: int = 3) -> LinearModel:
    """The order that simulates held-out stretches best, refitted to all of the data."""
    return fit_n4sid(data, n4sid_order(data, orders, folds))


def n4sid_order(
    data: Dataset, orders: Sequence[SubspaceOrder] = ORDERS, folds: int = 3
) -> SubspaceOrder:
    """The order that simulates held-out stretches best."""
    longest = max(len(run) for run in data)
    usable = [
        order
        for order in orders
        if order.states <= order.horizon * data.dim_y and 2 * order.horizon < longest // folds - 1
    ]
    known: dict[tuple[tuple[Experiment, ...], int], Projection] = {}

    def fit(part: Dataset, order: SubspaceOrder) -> LinearModel:
        key = part.experiments, order.horizon
        if key not in known:
            known[key] = Projection(_signals(part, order.horizon), order.horizon)
        return _model(part, known[key], order)

    return choose(fit, usable, data, folds)


def fit_n4sid(data: Dataset, order: SubspaceOrder) -> LinearModel:
    """The model of one order, from all experiments that are long enough for its horizon."""
    return _model(data, Projection(_signals(data, order.horizon), order.horizon), order)


def _model(data: Dataset, projection: "Projection", order: SubspaceOrder) -> LinearModel:
    A, B, C, D, noise = projection.matrices(order.states, order.ridge)
    K, R = kalman_gain(A, C, noise)
    words = f"{order.states} states, horizon {order.horizon}, ridge {order.ridge:g}"
    initial = projection.state_covariance(order.states)
    return LinearModel(A, B, C, D, K, R, initial, Normalisation.of(data), words)


def _signals(data: Dataset, horizon: int) -> list[InputsAndOutputs]:
    normalisation = Normalisation.of(data)
    return [_normalised(normalisation, run) for run in data if len(run) > 2 * horizon]


def _normalised(normalisation: Normalisation, run: Experiment) -> InputsAndOutputs:
    return np.asarray(normalisation.u(run.u)), np.asarray(normalisation.y(run.y))


class Projection:
    """What models of every order share: all states that the past has, in the order of their size.

    The states of a model are the first ones.
    """

    def __init__(self, signals: Sequence[InputsAndOutputs], horizon: int) -> None:
        to_state = _state_map(signals, horizon)
        self._now, self._following = _states(signals, to_state, horizon)
        self._u = with_one(np.concatenate([u[horizon:] for u, _ in signals]))
        self._y = np.concatenate([y[horizon:] for _, y in signals])

    def matrices(
        self, states: int, ridge: float, *, feedthrough: bool = True, radius: float = _RADIUS
    ) -> tuple[np.ndarray, ...]:
        """A, B, C, D and the joint covariance of the noise of x and y.

        Without `feedthrough` D is zero but for its last column, the offset of the outputs.
        """
        now, following, u, y = self._now[:, :states], self._following[:, :states], self._u, self._y
        through = u if feedthrough else u * (np.arange(u.shape[1]) == u.shape[1] - 1)
        C, D = _regress(y, now, through, ridge=ridge)
        A = _stable(_regress(following, now, u, ridge=ridge)[0], radius)
        (B,) = _regress(following - now @ A.T, u, ridge=ridge)
        rest = np.concatenate([following - now @ A.T - u @ B.T, y - now @ C.T - u @ D.T], axis=1)
        return A, B, C, D, rest.T @ rest / len(rest)

    def state_covariance(self, states: int) -> Float[np.ndarray, "states states"]:
        """The second moments of the states."""
        now = self._now[:, :states]
        return now.T @ now / len(now)


def _stable(A: np.ndarray, radius: float) -> np.ndarray:
    """The same eigenvectors, with no eigenvalue beyond the radius of what can be simulated."""
    values, vectors = np.linalg.eig(A)
    shrunk = values * np.minimum(1.0, radius / np.maximum(np.abs(values), 1e-12))
    return np.real(vectors @ np.diag(shrunk) @ np.linalg.inv(vectors))


def kalman_gain(A: np.ndarray, C: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K and the covariance of the innovations, from the joint one of the noise of x and y."""
    n = len(A)
    Q, S, R = noise[:n, :n], noise[:n, n:], noise[n:, n:]
    P = solve_discrete_are(A.T, C.T, Q, R, s=S)
    innovations = C @ P @ C.T + R
    return np.linalg.solve(innovations, C @ P @ A.T + S.T).T, innovations


def _state_map(signals: Sequence[InputsAndOutputs], i: int) -> np.ndarray:
    """W of x = Wᵀ p, scaled so that every state has unit variance."""
    past = np.concatenate([_blocks(np.hstack(each), i)[:-i] for each in signals])
    future_u, future_y = (
        np.concatenate([_blocks(each[which], i)[i:] for each in signals]) for which in (0, 1)
    )
    weights = _regress(future_y, past, future_u, ridge=_RIDGE)[0].T
    _, _, directions = np.linalg.svd(past @ weights, full_matrices=False)
    to_state = weights @ directions.T
    return to_state / np.std(past @ to_state, axis=0)


def _states(
    signals: Sequence[InputsAndOutputs], to_state: np.ndarray, horizon: int
) -> tuple[np.ndarray, np.ndarray]:
    """x[t] and x[t+1] for all t that have a past of `horizon` steps."""
    runs = [_blocks(np.hstack(each), horizon) @ to_state for each in signals]
    return np.concatenate([x[:-1] for x in runs]), np.concatenate([x[1:] for x in runs])


def _blocks(signal: np.ndarray, length: int) -> np.ndarray:
    """Row t holds signal[t : t+length], flat; there are T − length + 1 of them."""
    windows = np.lib.stride_tricks.sliding_window_view(signal, length, axis=0)
    return np.swapaxes(windows, 1, 2).reshape(len(windows), -1)


def _regress(targets: np.ndarray, *regressors: np.ndarray, ridge: float) -> list[np.ndarray]:
    """One matrix per group of regressors: targets ≈ Σ regressors Mᵀ."""
    x = np.concatenate(regressors, axis=1)
    gram = x.T @ x + ridge * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, x.T @ targets)
    return [part.T for part in np.split(weights, np.cumsum([r.shape[1] for r in regressors])[:-1])]
