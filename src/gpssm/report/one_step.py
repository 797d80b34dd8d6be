"""Errors one step ahead, beside those of simple models, and whether they are white."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from gpssm.base.extremes import root_mean_square
from gpssm.data.channels import with_units
from gpssm.evaluation.scoring import ARX
from gpssm.linear import LinearModel
from gpssm.metrics.residuals import ljung_box

from . import html
from .report_data import LAGS, ReportInput, Residuals

HELD = "last value held"


class OneStep(NamedTuple):
    """RMSE of one output one step ahead, by model, and the p-value of white errors."""

    rmse: dict[str, float]
    p_value: float


def one_step_scores(residuals: Residuals, linear: LinearModel | None, name: str) -> list[OneStep]:
    """The scores of every output, all models on the same rows; `name`: of the model."""
    errors = {name: residuals.errors, HELD: _held_errors(residuals)}
    if linear is not None:
        errors[ARX] = _linear_errors(linear, residuals)
    together = {name: np.concatenate(parts) for name, parts in errors.items()}
    known = np.all([~np.isnan(each) for each in together.values()], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # a linear model may diverge
        return [
            OneStep(
                {n: root_mean_square(each[known[:, d], d]) for n, each in together.items()},
                ljung_box([each[:, d] for each in residuals.errors], LAGS),
            )
            for d in range(known.shape[1])
        ]


def score_table(given: ReportInput, residuals: Residuals) -> str:
    """One row for each output; the lowest error is bold."""
    scores = one_step_scores(residuals, given.baselines[ARX].linear, given.run.model.name)
    labels = with_units(given.data.output_names, given.data.output_units)
    names = list(scores[0].rmse)
    rows, bold = [], set()
    for i, (label, each) in enumerate(zip(labels, scores, strict=True)):
        values = [each.rmse[name] for name in names]
        if np.isfinite(values).any():
            bold.add((i, 1 + int(np.nanargmin(values))))
        p = "< 0.001" if each.p_value < 0.001 else f"{each.p_value:.2g}"
        rows.append((label, *(f"{value:.4g}" for value in values), p))
    return html.table(("RMSE one step ahead", *names, "p-value of white errors"), rows, bold)


def _held_errors(residuals: Residuals) -> list[Float[np.ndarray, "time outputs"]]:
    """y[t] less the last measurement before it."""
    return [
        (y - pd.DataFrame(y).ffill().shift(1).to_numpy())[-len(rest) :]
        for (_, y), rest in zip(residuals.records, residuals.errors, strict=True)
    ]


def _linear_errors(
    linear: LinearModel, residuals: Residuals
) -> list[Float[np.ndarray, "time outputs"]]:
    return [
        (y - linear.predict_one_step(u, y, len(y) - len(rest)))[-len(rest) :]
        for (u, y), rest in zip(residuals.records, residuals.errors, strict=True)
    ]
