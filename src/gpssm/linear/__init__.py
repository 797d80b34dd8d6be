"""Linear models that forecast: the baselines of every score."""

from .arx import arx, constant_mean
from .automatic import forecasting_linear
from .model import LinearModel
from .states import StateForm
from .subspace import n4sid

__all__ = ["LinearModel", "StateForm", "arx", "constant_mean", "forecasting_linear", "n4sid"]
