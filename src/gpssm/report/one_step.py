"""Errors one step ahead, beside those of simple models, and whether they are white."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from rich.table import Table
from rich.text import Text

from gpssm.base.extremes import root_mean_square
from gpssm.data.channels import with_units
from gpssm.evaluation.scoring import ARX
from gpssm.linear import LinearModel
from gpssm.metrics.residuals import ljung_box

from . import html
from .report_data import LAGS, ReportInput, Residuals

HELD = "last value held"
TITLE, P_VALUE = "RMSE one step ahead", "p (white)"


class OneStep(NamedTuple):
    """RMSE of one output one step ahead: of the model, of the last value held, of the linear ARX.

    `p_value`: of white errors of the model.
    """

    rmse: dict[str, float]
    p_value: float

    @property
    def best(self) -> str | None:
        """The model with the lowest error; None if there is no number."""
        known = {name: each for name, each in self.rmse.items() if np.isfinite(each)}
        return min(known, key=lambda name: known[name]) if known else None

    def to_json(self) -> dict[str, Any]:
        """The errors by model, under stable names."""
        named = {HELD: "last_value_held", ARX: "linear_arx"}
        rmse = {named.get(name, "model"): each for name, each in self.rmse.items()}
        return {"rmse": rmse, "p_value": self.p_value}

    @property
    def p_text(self) -> str:
        """The p-value in digits that mean something."""
        return "< 0.001" if self.p_value < 0.001 else f"{self.p_value:.2g}"


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
    rows = [(label, *cells(each)) for label, each in zip(labels, scores, strict=True)]
    bold = {(i, 1 + names.index(each.best)) for i, each in enumerate(scores) if each.best}
    return html.table((TITLE, *names, P_VALUE), rows, bold)


def one_step_table(scores: Sequence[OneStep], labels: Sequence[str]) -> Table:
    """The same for the terminal."""
    table = Table(title=TITLE)
    table.add_column("")
    for column in (*scores[0].rmse, P_VALUE):
        table.add_column(Text(column), justify="right", no_wrap=True)
    for label, each in zip(labels, scores, strict=True):
        table.add_row(Text(label), *cells(each))
    return table


def cells(found: OneStep) -> tuple[str, ...]:
    """A row of the tables: the error of every model, and the p-value."""
    return (*(f"{value:.4g}" for value in found.rmse.values()), found.p_text)


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
