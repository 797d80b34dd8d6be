"""Scores of forecasts, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from gpssm.evaluation.scoring import Evaluation
from gpssm.metrics import Metric, Scores, metrics

from .verdict import Level, Verdict

_COLORS: dict[Level, str] = {
    "do not use": "red", "use with care": "yellow", "use": "green", "not tested": "default",
}  # fmt: skip


class Row(NamedTuple):
    """One metric of several models, and which of them has the best value."""

    label: str
    cells: tuple[str, ...]
    best: int | None = None


def score_table(title: str, models: Mapping[str, Evaluation], units: Sequence[str] = ()) -> Table:
    """A table for the terminal: one column per model, one row per metric of each output."""
    table = Table(title=Text(title))  # a unit such as [m/s] is no markup
    table.add_column("")
    for name in models:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for heading, rows in score_blocks(list(models.values()), units):
        if heading:
            table.add_section()
            table.add_row(Text(heading, style="bold"))
        for row in rows:
            table.add_row(Text(row.label), *row.cells)
    return table


def verdict_text(verdict: Verdict) -> Text:
    """The verdict as one line for the terminal, and the next command below it."""
    level, why = str(verdict).split(":", 1)
    words = Text.assemble("verdict ", (level, f"bold {_COLORS[verdict.level]}"), f":{why}")
    return words.append(f"\nnext    {verdict.next_step}") if verdict.next_step else words


def score_blocks(
    models: Sequence[Evaluation], units: Sequence[str] = ()
) -> Iterator[tuple[str, list[Row]]]:
    """The scores of each output under its name, then of all of them; one output needs no name."""
    names = models[0].scores.output_names
    for d, (name, unit) in enumerate(zip(names, units or [""] * len(names), strict=True)):
        yield name if len(names) > 1 else "", list(_score_rows(models, d, unit))
    if len(names) > 1:
        yield "all outputs, in units of their standard deviation", list(_score_rows(models, None))


def _score_rows(models: Sequence[Evaluation], output: int | None, unit: str = "") -> Iterator[Row]:
    """One row for each metric, and one for the error on rows that a model was trained on."""
    for metric in metrics().values():
        values = [_value(each.scores, metric.name, output) for each in models]
        yield Row(metric.title(unit), tuple(map(metric.text, values)), _best(metric, values))
        if metric.name == "rmse" and any(each.tested for each in models):
            values = [_value(each.training, metric.name, output) for each in models]
            yield Row("… on training rows", tuple(map(metric.text, values)))


def _value(scores: Scores | None, metric: str, output: int | None) -> float:
    if scores is None:
        return np.nan
    return scores.pooled[metric] if output is None else float(scores[metric][output])


def _best(metric: Metric, values: Sequence[float]) -> int | None:
    """The model with the best value, where there is something to compare."""
    losses = np.array([metric.loss(value) for value in values])
    if not metric.selects or len(values) < 2 or np.isnan(losses).all():
        return None
    return int(np.nanargmin(losses))
