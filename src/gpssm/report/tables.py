"""Scores of forecasts, side by side."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from rich.table import Table

from gpssm.prediction import Forecast


class Scores(NamedTuple):
    """What a forecast is worth, in the units of the data."""

    rmse: float
    log_likelihood: float
    coverage: float


def score(forecast: Forecast, y: Float[np.ndarray, "time outputs"]) -> Scores:
    """RMSE of the mean, log-likelihood per time step, coverage of the 95 % band."""
    return Scores(forecast.rmse(y), forecast.log_likelihood(y), forecast.coverage(y, 0.95))


def score_table(title: str, rows: Mapping[str, Scores]) -> Table:
    """A table for the terminal, one row per model."""
    table = Table(title=title)
    table.add_column("model")
    for name in ("RMSE", "log-likelihood", "95 % band covers"):
        table.add_column(name, justify="right")
    for name, scores in rows.items():
        values = f"{scores.rmse:.4g}", f"{scores.log_likelihood:.3f}", f"{scores.coverage:.1%}"
        table.add_row(name, *values)
    return table
