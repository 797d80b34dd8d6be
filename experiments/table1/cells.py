"""One cell of a table: train one method on one data set, for all seeds, and score it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import gpssm
from gpssm.data import Dataset
from gpssm.metrics import Forecast
from gpssm.report import plot_forecast
from gpssm.training.progress import Progress, ProgressFactory, silent

from ..common.config import plain
from ..common.files import provenance
from .baselines import LINEAR, constant, filtering, fit_gru
from .config import Table1Settings, count_parameters
from .protocol import PROTOCOLS, Predictor, forecast_all, score, simulate_training


class Fitted(NamedTuple):
    """One predictor per seed, and what is worth telling about all of them."""

    predictors: list[Predictor]
    facts: dict[str, Any]


def run_cell(
    data: Dataset,
    method: str,
    settings: Table1Settings,
    progress: ProgressFactory = silent,
    figure: Path | None = None,
) -> dict[str, Any]:
    """Train on `data.train`, forecast `data.test` by every protocol; a record for JSON.

    `figure` is where the forecast of the first seed and the first test experiment is drawn.
    """
    begin, watch = time.monotonic(), Stopwatch(progress)
    data = settings.data.of(data)
    fitted = fit_method(method, data.train, settings, watch)
    seconds = time.monotonic() - begin
    forecasts = [forecast_by_protocol(predict, data.test) for predict in fitted.predictors]
    if figure is not None:
        _draw(forecasts[0]["paper"][0], data, method, figure)
    trained = [simulate_training(predict, data.train) for predict in fitted.predictors]
    scores = [score_by_protocol(each, data.test) for each in forecasts]
    return {
        "dataset": data.name,
        "method": method,
        "settings": plain(settings),
        "seeds": [
            {"seed": seed, "training_rmse": rmse, **each}
            for seed, (rmse, each) in enumerate(zip(trained, scores, strict=True))
        ],
        "training_seconds_per_seed": seconds / len(scores),
        "seconds_per_step": watch.seconds_per_step,
        **fitted.facts,
        "data_notes": list(data.notes),
        "wall_seconds": time.monotonic() - begin,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": provenance(),
    }


def forecast_by_protocol(predict: Predictor, test: Dataset) -> dict[str, list[Forecast]]:
    return {name: forecast_all(predict, test, each) for name, each in PROTOCOLS.items()}


def score_by_protocol(forecasts: dict[str, list[Forecast]], truth: Dataset) -> dict[str, Any]:
    return {name: score(each, truth, PROTOCOLS[name]) for name, each in forecasts.items()}


# ---------------------------------------------------------------------- training


def fit_method(
    method: str, data: Dataset, settings: Table1Settings, progress: ProgressFactory = silent
) -> Fitted:
    if method == "constant-mean":
        return Fitted([constant(data)], {})
    if method in LINEAR:
        model = LINEAR[method](data)
        return Fitted([filtering(model)], {"chosen": model.description})
    fit = _fit_gru if method == "gru" else _fit_gpssm
    groups = range(0, settings.seeds, settings.seeds_at_once)
    parts = [fit(data, settings, group, progress) for group in groups]
    return Fitted([p for part in parts for p in part.predictors], parts[0].facts)


def _fit_gpssm(
    data: Dataset, settings: Table1Settings, first: int, progress: ProgressFactory
) -> Fitted:
    model, training = settings.model, settings.training
    assert model is not None
    assert training is not None
    runs = gpssm.fit(
        model,
        data,
        seed=first,
        seeds=len(_seeds(settings, first)),
        progress=progress,
        quiet=True,
        **{name: getattr(training, name) for name in type(training).model_fields},
    )
    if settings.calibration_folds:
        runs = gpssm.recalibrate(runs, data, folds=settings.calibration_folds, quiet=True)
    predictors = [_open_loop(run, settings.forecast_particles) for run in runs]
    return Fitted(predictors, {"parameters": count_parameters(model, data)})


def _open_loop(run: gpssm.Run, particles: int | None) -> Predictor:
    return lambda u, seen, conditioned: run.predict(
        u, seen, conditioned=conditioned, particles=particles
    )


def _fit_gru(
    data: Dataset, settings: Table1Settings, first: int, progress: ProgressFactory
) -> Fitted:
    assert settings.gru is not None
    models = fit_gru(data, settings.gru, _seeds(settings, first), progress)
    return Fitted([filtering(each) for each in models], {"parameters": models[0].parameters})


def _seeds(settings: Table1Settings, first: int) -> range:
    return range(first, min(first + settings.seeds_at_once, settings.seeds))


# ---------------------------------------------------------------------- what it tells


@dataclass
class Stopwatch:
    """A progress that also notes at what time which step was done."""

    inner: ProgressFactory
    marks: list[tuple[int, float]] = field(default_factory=list)

    def __call__(self, title: str, total: int) -> Progress:
        return _Watched(self.inner(title, total), self._note)

    def _note(self, step: int) -> None:
        self.marks.append((step, time.monotonic()))

    @property
    def seconds_per_step(self) -> float | None:
        """Of all seeds that train at once, without the first steps, which compile."""
        later = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(self.marks) if b[0] > a[0]]
        return sum(s for _, s in later) / sum(n for n, _ in later) if later else None


class _Watched:
    def __init__(self, inner: Progress, note: Callable[[int], None]) -> None:
        self._inner, self._note = inner, note

    def __enter__(self) -> Progress:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)

    def update(self, step: int, terms: dict[str, float]) -> None:
        self._note(step)
        self._inner.update(step, terms)


def _draw(forecast: Forecast, data: Dataset, method: str, path: Path) -> None:
    test = data.test
    particles, measured = (test.restore(each)[1] for each in (forecast.particles, test[0].y))
    plot_forecast(
        replace(forecast, particles=particles),
        measured,
        path=path,
        title=f"{data.name}: {method}, seed 0, protocol `paper`",
        units=data.output_units,
        sampling_time=data.sampling_time,
    )
