"""Many linear models at once: fitted to data sets of their own, and scored on others."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .forecasting import Parameters, Windows, flat, losses_and_gradients, unflat
from .lbfgs import minimise

_TOGETHER = 64  # models in one program: one shape for any number of them


class Batch(NamedTuple):
    """Models of any order as rows of numbers, which of these are free, and their data sets."""

    rows: Float[np.ndarray, "models parameters"]
    free: Float[np.ndarray, "models parameters"]
    like: Parameters
    which: Int[np.ndarray, " models"]

    @classmethod
    def of(cls, models: Sequence[Parameters], which: Sequence[int], with_gain: bool) -> "Batch":
        """With `with_gain` K is free, else it is zero."""
        states = max(len(model.A) for model in models)
        ones = [Parameters(*(np.ones_like(a) for a in model)) for model in models]
        values, free = (_stacked(each, states) for each in (models, ones))
        if not with_gain:
            values, free = (each._replace(K=np.zeros_like(each.K)) for each in (values, free))
        return cls(
            _rows(values), _rows(free), Parameters(*(a[:1] for a in values)), np.array(which)
        )

    def models(self, rows: Float[np.ndarray, "models parameters"]) -> Parameters:
        """Rows as matrices."""
        with jax.enable_x64(True):
            return Parameters(*(np.asarray(a) for a in unflat(jnp.asarray(rows), self.like)))


def fit(
    batch: Batch, windows: Windows, evaluations: int, snapshots: Sequence[int]
) -> list[Float[np.ndarray, "models parameters"]]:
    """The rows after so many evaluations of the loss, at the snapshots and at the end."""

    def loss(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return evaluate(batch._replace(rows=rows), windows)

    return minimise(loss, batch.rows, evaluations, snapshots)[0]


def evaluate(batch: Batch, windows: Windows, cut: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """The losses of all models and their gradients."""
    count, found = len(batch.rows), []
    index = np.minimum(np.arange(-(-count // _TOGETHER) * _TOGETHER), count - 1)
    for at in index.reshape(-1, _TOGETHER):
        rows, free, which = batch.rows[at], batch.free[at], batch.which[at]
        with jax.enable_x64(True):
            both = losses_and_gradients(rows, batch.like, windows, which, free, np.float64(cut))
            found.append([np.asarray(each) for each in both])
    values, gradients = (np.concatenate(each)[:count] for each in zip(*found, strict=True))
    return values, gradients


def _rows(parameters: Parameters) -> Float[np.ndarray, "models parameters"]:
    with jax.enable_x64(True):
        return np.asarray(flat(parameters))


def _stacked(models: Sequence[Parameters], states: int) -> Parameters:
    """Models of different order as arrays of one shape: further states do nothing."""
    (_, inputs), outputs = models[0].B.shape, len(models[0].C)
    shapes = (states, states), (states, inputs), (outputs, states), (outputs,), (states, outputs)
    filled = Parameters(*(np.zeros((len(models), *shape)) for shape in shapes))
    for i, model in enumerate(models):
        for array, values in zip(filled, model, strict=True):
            array[(i, *map(slice, values.shape))] = values
    return filled
