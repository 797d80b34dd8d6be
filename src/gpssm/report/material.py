"""What a report is made of: a run and its scores, its one-step errors, what it has learned."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gpssm.data import Dataset
from gpssm.errors import DataError
from gpssm.run import Run

from .evaluation import Evaluation
from .learned import LearnedFunction, learned_function

LAGS = 25  # of a correlation
_RESIDUAL_STEPS = 1000  # of each experiment, at most


@dataclass(frozen=True, eq=False)
class ReportInput:
    """What a report is made of."""

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
    """One-step errors; None where no stretch is longer than a warm-up."""
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
    units = given.data.input_units, given.data.output_units
    return learned_function(given.run, np.concatenate(visited), units)


def with_units(names: tuple[str, ...], units: tuple[str, ...]) -> list[str]:
    """Names of channels, each with its unit where it has one."""
    return [f"{n} [{u}]" if u else n for n, u in zip(names, units, strict=True)]
