"""Trials: one configuration on one data set with one seed. Those of equal shape fit together."""

import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gpssm.base.errors import GpssmError
from gpssm.data import Dataset
from gpssm.fitted.fitting import fit_candidates
from gpssm.fitted.run import Run
from gpssm.inference import Model
from gpssm.inference.methods.abstract import find_method
from gpssm.training import BatchedSettings, Training
from gpssm.training.progress import ProgressFactory
from gpssm.training.validation import validated_metrics

from .scores import losses
from .settings import Study
from .space import Configuration, resolve

Row = dict[str, Any]
_BATCHED = tuple(f"training.{name}" for name in BatchedSettings._fields)


class Batch(NamedTuple):
    """Configurations that differ in batched settings only, on one data set: one program for all."""

    dataset: str
    configurations: tuple[Configuration, ...]

    @property
    def words(self) -> str:
        """As people read it."""
        first, *more = self.configurations
        return f"{self.dataset} {first.words}" + (f" and {len(more)} more" if more else "")


def make_batches(study: Study, dataset: str, chosen: Iterable[Configuration]) -> list[Batch]:
    """All of them, those of equal shape together, with all their seeds."""
    groups: dict[str, list[Configuration]] = {}
    for each in chosen:
        shape = {name: value for name, value in each.chosen.items() if name not in _BATCHED}
        groups.setdefault(as_text(shape), []).append(each)
    starts = int(study.training.get("starts", 1))
    size = max(study.side_by_side // (study.seeds * starts), 1)
    return [
        Batch(dataset, tuple(group[first : first + size]))
        for group in groups.values()
        for first in range(0, len(group), size)
    ]


def as_text(chosen: dict[str, Any]) -> str:
    """As JSON."""
    return json.dumps(chosen, ensure_ascii=False)


def training_cost(model: Model, training: Training) -> float:
    """About how much one seed computes: only ratios count, for the time left."""
    states = training.batch_size * training.sequence_length * model.particles
    passes = find_method(model).passes
    return float(training.starts * training.steps * states * model.inducing_points * passes)


def batch_cost(study: Study, batch: Batch, dim_y: int) -> float:
    """Cost of all trials; invalid combinations of settings cost nothing."""
    resolved = resolve(study, batch.configurations[0].chosen)
    try:
        one = training_cost(resolved.build_model(dim_y), Training(**resolved.training))
    except GpssmError:
        return 1.0
    return len(batch.configurations) * study.seeds * one


def fit_batch(study: Study, data: Dataset, batch: Batch, progress: ProgressFactory) -> list[Row]:
    """A row for each trial. One that diverges ends the fit of all: then each is fitted alone."""
    seeds = range(study.seeds)
    if len(batch.configurations) * len(seeds) > 1:
        try:
            return _fit(study, data, batch, seeds, progress)
        except GpssmError:
            pass
    alone = [batch._replace(configurations=(each,)) for each in batch.configurations]
    return [_fit_alone(study, data, each, seed, progress) for each, seed in product(alone, seeds)]


def _fit_alone(
    study: Study, data: Dataset, batch: Batch, seed: int, progress: ProgressFactory
) -> Row:
    """Fit one configuration; a failure is recorded, since it would fail again."""
    try:
        return _fit(study, data, batch, range(seed, seed + 1), progress)[0]
    except GpssmError as error:
        return _row(batch.dataset, batch.configurations[0], seed, {"error": str(error)})


def _fit(
    study: Study, data: Dataset, batch: Batch, seeds: range, progress: ProgressFactory
) -> list[Row]:
    """All trials of a batch in one program."""
    begin, batched = time.monotonic(), BatchedSettings._fields
    resolved = [resolve(study, each.chosen) for each in batch.configurations]
    common = {k: v for k, v in resolved[0].training.items() if k not in batched}
    # A trial is scored by its forecasts before the noise is calibrated.
    common |= {"validation_metric": study.objective, "calibrate": False}
    found = fit_candidates(
        resolved[0].build_model(data.dim_y),
        data,
        [{k: v for k, v in each.training.items() if k in batched} for each in resolved],
        seed=seeds.start,
        seeds=len(seeds),
        progress=progress,
        quiet=True,
        validation=study.validation,
        **common,
    )
    seconds = (time.monotonic() - begin) / (len(found) * len(seeds))
    return [
        _row(batch.dataset, configuration, run.seed, {**best_scores(run), "seconds": seconds})
        for configuration, runs in zip(batch.configurations, found, strict=True)
        for run in runs
    ]


def best_scores(run: Run) -> Row:
    """All scores at the step whose parameters the run has kept."""
    table, metric = run.history.table, run.training.validation_metric
    names = validated_metrics(metric)
    scores = {name: table[f"validation_{name}"].to_numpy(float) for name in names}
    loss = losses(scores[metric], metric)
    if not np.isfinite(loss).any():
        return {"error": "no forecast of the held-out part was finite"}
    best = int(np.nanargmin(np.where(np.isfinite(loss), loss, np.nan)))
    return {**{name: float(each[best]) for name, each in scores.items()}, "best_step": best + 1}


def _row(dataset: str, configuration: Configuration, seed: int, found: Row) -> Row:
    return {
        "configuration": configuration.number,
        "dataset": dataset,
        "seed": seed,
        **configuration.chosen,
        **found,
        "finished": datetime.now(UTC),
        "settings": as_text(configuration.chosen),
    }
