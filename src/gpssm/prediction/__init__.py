"""Forecasts from a fitted model: roll-outs, long outlooks, stability."""

from gpssm.inference.rollout import predict

from .outlook import Outlook
from .stability import Stability, Suggestion, stability

__all__ = ["Outlook", "Stability", "Suggestion", "predict", "stability"]
