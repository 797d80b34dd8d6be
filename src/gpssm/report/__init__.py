"""Figures and tables of what was learned."""

from .figures import plot_forecast
from .tables import Scores, score, score_table

__all__ = ["Scores", "plot_forecast", "score", "score_table"]
