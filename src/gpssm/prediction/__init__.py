"""Forecasts in the units of the data, and what they are worth."""

from gpssm.inference.rollout import predict

from .baselines import arx, constant_mean
from .calibration import Scored
from .folds import blocked_folds
from .forecast import Forecast
from .linear import LinearModel
from .meansquare import Stability, Suggestion, stability
from .outlook import Outlook

__all__ = [
    "Forecast",
    "LinearModel",
    "Outlook",
    "Scored",
    "Stability",
    "Suggestion",
    "arx",
    "blocked_folds",
    "constant_mean",
    "predict",
    "stability",
]
