"""Figures and tables of what was learned."""

from gpssm.plots import plot_forecast, plot_history, plot_stability

from .tables import score_table

__all__ = ["plot_forecast", "plot_history", "plot_stability", "score_table"]
