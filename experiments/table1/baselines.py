"""Baselines of Table 1: the constant mean, linear models and a GRU.

They may read every output that a protocol allows, as the methods of the paper may.
"""

from collections.abc import Callable

import numpy as np

from gpssm.data import Dataset
from gpssm.linear import LinearModel, arx, constant_mean, n4sid

from .gru import FittedGru, GruSettings, fit_gru, width_for
from .protocol import Predictor

LINEAR: dict[str, Callable[[Dataset], LinearModel]] = {"arx": arx, "n4sid": n4sid}

__all__ = ["LINEAR", "GruSettings", "constant", "filtering", "fit_gru", "width_for"]


def constant(data: Dataset) -> Predictor:
    y = np.concatenate([run.y for run in data])
    return lambda u, seen, conditioned: constant_mean(y, len(u))  # noqa: ARG005


def filtering(model: LinearModel | FittedGru) -> Predictor:
    """A model that has no look-ahead conditions on all outputs that it sees."""
    return lambda u, seen, conditioned: model.predict(u, seen)  # noqa: ARG005
