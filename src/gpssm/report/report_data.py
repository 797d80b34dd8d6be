"""Data of a report: a run, its scores, its one-step errors, the learned function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpssm.data import Dataset
from gpssm.data.preflight import preflight
from gpssm.evaluation.scoring import Evaluation, Stretch
from gpssm.fitted.run import Run

from .learned import LearnedFunction, learned_function
from .verdict import LAGS as LAGS
from .verdict import Verdict

_RESIDUAL_STEPS = 5000  # of each experiment, at most


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Everything that a report shows."""

    title: str
    run: Run
    data: Dataset
    evaluation: Evaluation
    baselines: Mapping[str, Evaluation]
    verdict: Verdict
    other_seeds: Mapping[int, Evaluation] = field(default_factory=dict)
    configuration: str = ""


@dataclass(frozen=True, eq=False)
class Residuals:
    """One-step errors of every stretch, and the inputs beside them.

    `records`: the inputs and outputs of each stretch with its warm-up, which has no errors. `nis`:
    the normalised innovation squared, per measurement; 1 is expected.
    """

    errors: list[np.ndarray]
    inputs: list[np.ndarray]
    records: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    nis: float = np.nan


def one_step_errors(run: Run, evaluation: Evaluation) -> Residuals | None:
    """The errors of a belief after the warm-up; None where there is no measurement."""
    errors, inputs, records, tellings = [], [], [], []
    for stretch in evaluation.stretches:
        u, y = stretch.u[:_RESIDUAL_STEPS], stretch.scored.y[:_RESIDUAL_STEPS]
        warmup, rows = stretch.scored.forecast.warmup, run.filter(u, y).rows
        rest = (y - rows.mean)[warmup:]
        if np.isfinite(rest).any(axis=0).all():
            errors.append(rest)
            inputs.append(u[warmup:])
            records.append((u, y))
            tellings.append((np.sum(rows.nis[warmup:]), np.sum(rows.used[warmup:])))
    if not errors:
        return None
    nis, used = np.sum(tellings, axis=0)
    return Residuals(errors, inputs, records, float(nis / max(used, 1)))


def around_the_test(given: ReportInput) -> LearnedFunction:
    """f around the states that the forecasts of the test part went through."""
    visited = []
    for stretch in given.evaluation.stretches:
        seen = stretch.scored.y[: stretch.scored.forecast.warmup]
        states = given.run.states(stretch.u, seen, particles=20)
        u = np.asarray(given.run.normalisation.u(stretch.u))
        visited.append(np.concatenate([states.mean(axis=0), u], axis=1))
    return learned_function(given.run, given.data, np.concatenate(visited))


def run_settings(run: Run) -> dict[str, Any]:
    """`model.dim_x` → 4, and so on."""
    parts = {"model": run.model.to_json(), "training": run.training.to_json()}
    return {f"{name}.{key}": value for name, part in parts.items() for key, value in part.items()}


def described(data: Dataset) -> str:
    """The data set in words, with the remarks that `gpssm data check` makes about it."""
    return "\n".join([str(data), *(f"  remark     {each.text}" for each in preflight(data))])


def same_stretches(one: Sequence[Stretch], other: Sequence[Stretch]) -> bool:
    """Whether two models were tested on the same measurements from the same warm-up."""
    pairs = [(a.scored, b.scored) for a, b in zip(one, other, strict=False)]
    return len(one) == len(other) and all(
        a.forecast.warmup == b.forecast.warmup and np.array_equal(a.y, b.y, equal_nan=True)
        for a, b in pairs
    )
