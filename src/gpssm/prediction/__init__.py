"""Forecasts in the units of the data, and what they are worth."""

from gpssm.inference.rollout import predict

from .baselines import arx, constant_mean
from .folds import blocked_folds
from .forecast import Forecast
from .linear import LinearModel
from .stability import Stability, Suggestion, stability

__all__ = [
    "Forecast",
    "LinearModel",
    "Stability",
    "Suggestion",
    "arx",
    "blocked_folds",
    "constant_mean",
    "predict",
    "stability",
]
