"""The start of a model with a linear part: a linear fit, and what its smoother sees in the data.

Smoothed states x̂ of the training data and their covariances give everything that a start needs:
how far steps are from linear (s), what is known of A (L), the noise, where inducing inputs belong.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import ConfigError, expected
from gpssm.data import Dataset, Normalisation
from gpssm.data.alignment import align_inputs
from gpssm.linear import LinearModel
from gpssm.linear.backward import backward_gain
from gpssm.linear.model import with_one
from gpssm.linear.smoothing import Smoothed, smooth
from gpssm.model.affine import LinearPart

_ROWS = 6000  # of all runs together: what is estimated here needs no more
_SMALLEST = 1e-4  # of a step, relative to the spread of a state
_FLOOR = 1e-7  # of a variance
_RIDGE = 1e-6  # of ΦᵀΦ, relative: a state or an input that never moved
_TINY = 1e-12


class LinearStart(NamedTuple):
    """Initial values of everything that a linear fit has an opinion of, in normalised units."""

    part: LinearPart
    process_variance: Float[np.ndarray, " states"]
    output_variance: Float[np.ndarray, " outputs"]
    hidden_variance: Float[np.ndarray, " hidden"]  # of the smoothed hidden states
    f_inputs: Float[np.ndarray, "points f_inputs"]
    b_inputs: Float[np.ndarray, "points b_inputs"]


class _Run(NamedTuple):
    """One run: its inputs with a one, its outputs, and its smoothed states."""

    u: np.ndarray
    y: np.ndarray
    found: Smoothed


def linear_start(model: LinearModel, data: Dataset, normalisation: Normalisation) -> LinearStart:
    """From a fitted linear model, and the data as they were given, without an alignment."""
    noise = model.noise
    if noise is None or not np.array_equal(model.C, np.eye(*model.C.shape)):
        given = model.description or "a linear model without its noise"
        raise ConfigError(expected("linear", given, "one of gpssm.linear.forecasting_linear"))
    runs = _smoothed_runs(model, align_inputs(data, model.alignment), normalisation)
    outputs, steps = len(model.C), _step_covariance(model, runs)
    scale = np.sqrt(np.maximum(np.diag(steps), _SMALLEST**2))
    G = backward_gain(model.A, model.B, np.diag(noise.Q), np.diag(noise.R))
    weights = np.hstack([model.A - np.eye(len(model.A)), model.B])
    hidden = np.mean([_diagonals(run.found)[:, outputs:].mean(axis=0) for run in runs], axis=0)
    behind = [_seen_backwards(run, outputs) for run in runs]
    missed = np.concatenate([h - with_one(seen) @ G.T for h, seen in behind])
    behind_scale = np.sqrt(np.mean(np.square(missed), axis=0) + hidden)
    root = _root_of_inverse(np.sum([_moments(run) for run in runs], axis=0))
    return LinearStart(
        LinearPart(weights, root, scale, G, np.maximum(behind_scale, _SMALLEST)),
        np.maximum(noise.Q, _FLOOR),
        np.maximum(noise.R, _FLOOR),
        np.maximum(hidden, _SMALLEST),
        np.concatenate([np.hstack([r.found.mean, r.u[:, :-1]]) for r in runs]),
        np.concatenate([seen for _, seen in behind]),
    )


def _smoothed_runs(model: LinearModel, data: Dataset, normalisation: Normalisation) -> list[_Run]:
    """The first rows of every run, as many of each as there is room for."""
    assert model.noise is not None
    each, found = max(_ROWS // len(data.experiments), 50), []
    start = np.zeros(len(model.A)), model.initial + _FLOOR * np.eye(len(model.A))
    for run in data.experiments[:: -(-len(data.experiments) * 50 // _ROWS)]:
        u = with_one(np.asarray(normalisation.u(run.u[:each])))
        y = np.asarray(normalisation.y(run.y[:each]))
        found.append(_Run(u, y, smooth(model.A, model.B, model.noise, start, u, y)))
    return found


def _step_covariance(model: LinearModel, runs: list[_Run]) -> Float[np.ndarray, "states states"]:
    """E (x[t+1] − A x[t] − B u[t]) (…)ᵀ given all outputs, averaged over time."""
    A, B, total, count = model.A, model.B, np.zeros_like(model.A), 0
    for u, _, (mean, P, cross, _) in runs:
        e = mean[1:] - mean[:-1] @ A.T - u[:-1] @ B.T
        both = A @ np.swapaxes(cross, 1, 2)  # Cov(A x[t], x[t+1])
        covariance = P[1:] + A @ P[:-1] @ A.T - both - np.swapaxes(both, 1, 2)
        total, count = total + e.T @ e + covariance.sum(axis=0), count + len(e)
    return total / count


def _moments(run: _Run) -> Float[np.ndarray, "n n"]:
    """E Σt φφᵀ with φ = (x, u, 1)."""
    phi = np.hstack([run.found.mean, run.u])
    gram, states = phi.T @ phi, run.found.mean.shape[1]
    gram[:states, :states] += run.found.covariance.sum(axis=0)
    return gram


def _root_of_inverse(gram: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """L with L Lᵀ = gram⁻¹."""
    gram = gram + (_RIDGE * np.trace(gram) / len(gram) + _TINY) * np.eye(len(gram))
    return np.linalg.inv(np.linalg.cholesky(gram)).T


def _diagonals(found: Smoothed) -> Float[np.ndarray, "time states"]:
    return np.diagonal(found.covariance, axis1=1, axis2=2)


def _seen_backwards(run: _Run, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """ĥ[t], and what the backward pass sees there: (ĥ[t+1], y[t+1], y[t], u[t]).

    A missing output has its smoothed value.
    """
    mean = run.found.mean
    y = np.where(np.isnan(run.y), mean[:, :outputs], run.y)
    h = mean[:, outputs:]
    return h[:-1], np.hstack([h[1:], y[1:], y[:-1], run.u[:-1, :-1]])
