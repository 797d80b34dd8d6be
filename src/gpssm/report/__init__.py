"""Figures and tables of what was learned."""

from .figures import plot_forecast, plot_history, plot_stability
from .tables import Scores, best_within_std, markdown_table, mean_std, score, score_table

__all__ = [
    "Scores",
    "best_within_std",
    "markdown_table",
    "mean_std",
    "plot_forecast",
    "plot_history",
    "plot_stability",
    "score",
    "score_table",
]
