"""Data of a report: a run, its scores, its one-step errors, the learned function."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpssm.base.errors import DataError
from gpssm.data import Dataset
from gpssm.evaluation.scoring import Evaluation
from gpssm.fitted.run import Run

from .learned import LearnedFunction, learned_function

LAGS = 25  # of a correlation
_RESIDUAL_STEPS = 1000  # of each experiment, at most


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Everything that a report shows."""

    title: str
    run: Run
    data: Dataset
    evaluation: Evaluation
    baselines: Mapping[str, Evaluation]
    other_seeds: Mapping[int, Evaluation] = field(default_factory=dict)
    configuration: str = ""


@dataclass(frozen=True, eq=False)
class Residuals:
    """One-step errors of every stretch that is long enough, and the inputs beside them."""

    errors: list[np.ndarray]
    inputs: list[np.ndarray]


def one_step_errors(given: ReportInput) -> Residuals | None:
    """One-step errors; None if every test record is shorter than a warm-up."""
    errors, inputs = [], []
    for stretch in given.evaluation.stretches:
        u, y = stretch.u[:_RESIDUAL_STEPS], stretch.scored.y[:_RESIDUAL_STEPS]
        warmup = stretch.scored.forecast.warmup
        try:
            forecast = given.run.predict_one_step(u, y, warmup=warmup)
        except DataError:
            continue  # too short for one window
        rest = y[warmup:] - forecast.mean
        if np.isfinite(rest).any(axis=0).all():
            errors.append(rest)
            inputs.append(u[warmup:])
    return Residuals(errors, inputs) if errors else None


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
