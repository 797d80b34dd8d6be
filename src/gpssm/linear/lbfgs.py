"""L-BFGS for many independent functions at once: one call evaluates all of them.

Every function has its own memory and its own step length. One evaluation either accepts the trial
point of a function (then a new direction follows) or makes its step shorter; no function waits for
another one. A trial point whose value is not finite is never accepted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

Points = Float[np.ndarray, "functions parameters"]
Values = Float[np.ndarray, " functions"]
Evaluate = Callable[[Points], tuple[Values, Points]]

_MEMORY = 12
_SUFFICIENT = 1e-4  # of the decrease that the slope promises (Armijo)
_SHORTEST = 1e-8  # step length at which a function is given up: it is at a minimum, or at an edge
_FIRST_STEP = 0.02  # length of the very first step, when no curvature is known
_CURVATURE = 1e-10  # of s·y relative to |s||y|: below it the pair says nothing


@dataclass
class _State:
    """Accepted points, their values and gradients, directions and step lengths."""

    x: Points
    value: Values
    gradient: Points
    direction: Points
    step: Values
    moves: list[tuple[Points, Points, Values]]  # (s, y, 1/s·y), zero where a function made none


def minimise(
    evaluate: Evaluate, start: Points, evaluations: int, snapshots: Sequence[int] = ()
) -> tuple[list[Points], list[Values]]:
    """The best points after so many evaluations, first at the snapshots and then at the end.

    `evaluate` returns the values of all functions and their gradients.
    """
    value, gradient = evaluate(start)
    value = np.where(np.isfinite(value), value, np.inf)
    state = _State(start, value, gradient, np.zeros_like(start), np.ones(len(start)), [])
    state.direction = _first_direction(gradient)
    points: list[Points] = []
    values: list[Values] = []
    for count in range(1, evaluations):
        if count in snapshots:
            points, values = [*points, state.x.copy()], [*values, state.value.copy()]
        if np.all(state.step < _SHORTEST):
            break
        with np.errstate(over="ignore", invalid="ignore"):  # of an unstable model far from a fit
            _advance(state, evaluate)
    missing = 1 + sum(snapshot < evaluations for snapshot in snapshots) - len(points)
    return points + [state.x] * missing, values + [state.value] * missing


def _advance(state: _State, evaluate: Evaluate) -> None:
    """One evaluation: accept or shorten, for each function on its own."""
    x = state.x + state.step[:, None] * state.direction
    value, gradient = evaluate(x)
    slope = np.sum(state.gradient * state.direction, axis=1)
    accepted = value <= state.value + _SUFFICIENT * state.step * slope
    accepted &= np.isfinite(gradient).all(axis=1) & (state.step >= _SHORTEST)
    state.step = np.where(accepted, 1.0, 0.3 * state.step)
    _remember(state, accepted, x - state.x, gradient - state.gradient)
    state.x = np.where(accepted[:, None], x, state.x)
    settled = accepted & (state.value - value < 1e-9 * np.abs(value))
    state.value = np.where(accepted, value, state.value)
    state.gradient = np.where(accepted[:, None], gradient, state.gradient)
    state.direction = np.where(accepted[:, None], _direction(state), state.direction)
    state.step = np.where(settled, 0.0, state.step)


def _remember(
    state: _State, accepted: Bool[np.ndarray, " functions"], s: Points, y: Points
) -> None:
    """Keep the pairs of the functions that moved; the others keep what they have."""
    if not accepted.any():
        return
    y = np.where(accepted[:, None], y, 0.0)
    product = np.sum(s * y, axis=1)
    scale = np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
    useful = accepted & (product > _CURVATURE * scale) & (scale > 0)
    inverse = np.where(useful, 1.0 / np.where(useful, product, 1.0), 0.0)
    state.moves.append((s * useful[:, None], y * useful[:, None], inverse))
    del state.moves[:-_MEMORY]


def _direction(state: _State) -> Points:
    """−H g by the two loops over the remembered pairs; a pair of zeros changes nothing."""
    q, shares = state.gradient.copy(), []
    scale = np.zeros(len(q))
    for s, y, inverse in reversed(state.moves):
        share = inverse * np.sum(s * q, axis=1)
        q = q - share[:, None] * y
        shares.append(share)
        newest = (scale == 0) & (inverse > 0)
        known = np.where(newest, np.sum(y * y, axis=1) * inverse, 1.0)
        scale = np.where(newest, 1.0 / known, scale)
    q = q * np.where(scale > 0, scale, 1.0)[:, None]
    for (s, y, inverse), share in zip(state.moves, reversed(shares), strict=True):
        q = q + (share - inverse * np.sum(y * q, axis=1))[:, None] * s
    downhill = np.sum(q * state.gradient, axis=1) > 0
    without = (scale == 0) | ~downhill
    return np.where(without[:, None], _first_direction(state.gradient), -q)


def _first_direction(gradient: Points) -> Points:
    """Down the gradient, of a length that suits parameters of order one."""
    gradient = np.where(np.isfinite(gradient), gradient, 0.0)
    largest = np.abs(gradient).max(axis=1, keepdims=True)
    gradient = gradient / np.where(largest > 0, largest, 1.0)  # squares of huge ones overflow
    length = np.linalg.norm(gradient, axis=1, keepdims=True)
    return -_FIRST_STEP * gradient / np.where(length > 0, length, 1.0)
