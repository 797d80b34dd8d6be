"""What is known of the state of a plant now: filters, smoother and mean step of a fitted model."""

from .belief import Belief
from .factored import Factored, factored
from .fitted_model import FittedModel
from .gaussian import gaussian_log_likelihood
from .logs import Filtered, Smoothed
from .mean_step import mean_rollout, mean_step
from .registry import FILTERS
from .state import FilterNoise
from .tellings import Telling

__all__ = [
    "FILTERS",
    "Belief",
    "Factored",
    "FilterNoise",
    "Filtered",
    "FittedModel",
    "Smoothed",
    "Telling",
    "factored",
    "gaussian_log_likelihood",
    "mean_rollout",
    "mean_step",
]
