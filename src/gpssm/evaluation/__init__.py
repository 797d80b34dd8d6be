"""Scores of forecasts of held-out data, beside baselines; recalibration of the noise."""

from .recalibration import recalibrate
from .scoring import Evaluation, Protocol, evaluate, evaluate_baselines

__all__ = ["Evaluation", "Protocol", "evaluate", "evaluate_baselines", "recalibrate"]
