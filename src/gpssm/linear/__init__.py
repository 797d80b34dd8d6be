"""Linear models that forecast: the baselines of every score."""

from .arx import arx, constant_mean
from .model import LinearModel

__all__ = ["LinearModel", "arx", "constant_mean"]
