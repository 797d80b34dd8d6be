"""A linear start: hidden states that a regression finds in the data, and their linear dynamics.

A hidden state is what the past says of the coming outputs beyond what the present output and the
inputs say: reduced-rank regression, as in subspace identification. With x̂[t] = (y[t], ĥ[t]) two
least-squares problems give the mean of q(u) of the dynamics and of the backward pass.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import ConfigError, expected

from .family import Model
from .sequences import Sequences

_HORIZON = 10  # steps of past and of future, at most
_SMALLEST_STEP = 1e-3  # of an output that has unit variance
_TOLERANCE = 1e-4  # a hidden state predicts at least this share of the variance of the outputs


class Affine(NamedTuple):
    """What a GP sees in the data, and the affine function of it that it starts from."""

    seen: Float[np.ndarray, "points inputs"]
    weights: Float[np.ndarray, "inputs_and_one outputs"]

    def __call__(self, z: Float[np.ndarray, "m inputs"]) -> Float[np.ndarray, "outputs m"]:
        """The values at the inducing inputs."""
        return (_with_one(z) @ self.weights).T


def linear_start(config: Model, examples: Sequences) -> tuple[Affine, Affine]:
    """The starts of f and of f_b."""
    y, u = (np.moveaxis(np.asarray(a), -1, 0) for a in (examples.y, examples.u))
    reach = min(_HORIZON, (y.shape[1] - 2) // 2)
    if reach < 1:
        wanted = "at least 4 steps, for start='linear'"
        raise ConfigError(expected("sequence_length", y.shape[1], wanted))
    h, steps = hidden_states(y, u, config.dim_x - y.shape[-1], reach), output_steps(y)
    inside = slice(reach, y.shape[1] - reach)
    y, u = y[:, inside], u[:, inside]
    x = np.concatenate([y, h], axis=-1)
    forward = _regress([x[:, :-1], u[:, :-1]], x[:, 1:] - x[:, :-1])
    later = y[:, 1:]
    if config.smoother_sees_steps:
        later = (later - y[:, :-1]) / steps
    outputs = [later, y[:, :-1]] if config.smoother_sees_next_output else [y[:, :-1]]
    backward = _regress([h[:, 1:], *outputs, u[:, :-1]], h[:, :-1] - h[:, 1:])
    return forward, backward


def output_steps(y: Float[np.ndarray, "batch time outputs"]) -> Float[np.ndarray, " outputs"]:
    """The typical size of a step of each output."""
    size = np.sqrt(np.mean(np.square(np.diff(y, axis=1)), axis=(0, 1)))
    return np.maximum(size, _SMALLEST_STEP)


def hidden_states(
    y: Float[np.ndarray, "batch time outputs"],
    u: Float[np.ndarray, "batch time inputs"],
    count: int,
    reach: int,
) -> Float[np.ndarray, "batch inner hidden"]:
    """ĥ[t] where `reach` steps lie on either side, of unit variance and uncorrelated with y[t].

    A state that predicts nothing is left at zero.
    """
    batch, steps = y.shape[0], y.shape[1] - 2 * reach
    present, coming = _shifted(y, [0], steps, reach), range(reach)
    known = _with_one(np.concatenate([present, _shifted(u, coming, steps, reach)], axis=1))
    before = range(-reach, 0)
    past = np.concatenate([_shifted(a, before, steps, reach) for a in (y, u)], axis=1)
    future = _shifted(y, range(1, reach + 1), steps, reach)
    regression = _solve(_residual(known, past), _residual(known, future))
    _, sizes, directions = np.linalg.svd(_residual(known, past) @ regression, full_matrices=False)
    used = sizes[:count] ** 2 > _TOLERANCE * future.var() * future.size
    h = _residual(_with_one(present), past @ regression @ directions[:count].T)
    found = np.zeros((len(h), count))
    found[:, : len(used)] = np.where(used, h / (h.std(axis=0) + np.finfo(float).tiny), 0.0)
    return found.reshape(batch, steps, count)


def _shifted(a: np.ndarray, shifts: "range | list[int]", steps: int, reach: int) -> np.ndarray:
    """[batch · steps, shifts · channels]: a[t + shift] for every t with room on both sides."""
    parts = [a[:, reach + shift : reach + shift + steps] for shift in shifts]
    return np.concatenate(parts, axis=-1).reshape(a.shape[0] * steps, -1)


def _regress(seen: list[np.ndarray], outcome: np.ndarray) -> Affine:
    inputs = np.concatenate(seen, axis=-1)
    inputs = inputs.reshape(-1, inputs.shape[-1])
    return Affine(inputs, _solve(_with_one(inputs), outcome.reshape(len(inputs), -1)))


def _solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(a, b, rcond=1e-6)[0]


def _residual(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The residual of b after regression on the columns of a."""
    return b - a @ _solve(a, b)


def _with_one(a: np.ndarray) -> np.ndarray:
    return np.concatenate([a, np.ones((len(a), 1))], axis=1)
