"""Forecasts in the units of the data, and what they are worth."""

from .baselines import constant_mean
from .forecast import Forecast
from .rollout import predict

__all__ = ["Forecast", "constant_mean", "predict"]
