"""Forecasts as distributions, and their scores against measurements."""

from .forecast import Forecast
from .metric import Metric, Sample
from .reliability import Scored
from .scores import Scores, score
from .table import metrics, selecting_metric

__all__ = [
    "Forecast",
    "Metric",
    "Sample",
    "Scored",
    "Scores",
    "metrics",
    "score",
    "selecting_metric",
]
