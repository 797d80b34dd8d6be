"""Scores of forecasts, side by side."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from rich.table import Table
from rich.text import Text

from gpssm.prediction import Forecast


class Scores(NamedTuple):
    """What a forecast is worth, in the units of the data.

    `training_rmse`: how well the same model simulates rows that it was trained on.
    """

    rmse: float
    log_likelihood: float
    coverage: float
    training_rmse: float | None = None


def score(forecast: Forecast, y: Float[np.ndarray, "time outputs"]) -> Scores:
    """RMSE of the mean, log-likelihood per time step, coverage of the 95 % band."""
    return Scores(forecast.rmse(y), forecast.log_likelihood(y), forecast.coverage(y, 0.95))


def score_table(title: str, rows: Mapping[str, Scores]) -> Table:
    """A table for the terminal, one row per model."""
    table = Table(title=Text(title))  # a unit such as [m/s] is no markup
    table.add_column("model")
    for name in ("RMSE", "in training", "log-likelihood", "95 % band"):
        table.add_column(name, justify="right")
    for name, scores in rows.items():
        likelihood, covered = f"{scores.log_likelihood:.3f}", f"{scores.coverage:.1%}"
        table.add_row(
            name, f"{scores.rmse:.4g}", optional(scores.training_rmse), likelihood, covered
        )
    return table


def optional(value: float | None) -> str:
    """Four digits, or a dash for what was not computed."""
    return "–" if value is None else f"{value:.4g}"


# ---------------------------------------------------------------------- tables of a study


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Rows under a header; the first `words` columns are aligned to the left, numbers right."""
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def mean_std(values: Sequence[float]) -> str:
    """`mean (std)` over several runs, the standard deviation that of a sample; one run has none."""
    mean = _decimals(float(np.mean(values)))
    return mean if len(values) < 2 else f"{mean} ({_decimals(float(np.std(values, ddof=1)))})"


def best_within_std(runs: Mapping[str, Sequence[float]]) -> set[str]:
    """Names whose mean is within one standard deviation of the least mean; lower is better."""
    if not runs:
        return set()
    means = {name: float(np.mean(values)) for name, values in runs.items()}
    first = min(means, key=lambda name: means[name])
    spread = float(np.std(runs[first], ddof=1)) if len(runs[first]) > 1 else 0.0
    return {name for name, mean in means.items() if mean <= means[first] + spread}


def _decimals(value: float) -> str:
    """Three decimals as in the paper; large values as powers of ten."""
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.1e}"
