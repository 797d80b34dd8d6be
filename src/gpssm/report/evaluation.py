"""A run against the test part, beside what it must beat: a constant mean and a linear ARX."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from gpssm.data import Dataset, Experiment
from gpssm.errors import DataError, expected
from gpssm.prediction import Forecast, Scored, arx, constant_mean
from gpssm.run import Run

from .tables import Scores

MODEL, MEAN, ARX = "model", "constant mean", "linear ARX"
_LEVEL = 0.95
_BASELINE_ROWS = 50_000  # more of them teach a linear model nothing, and take minutes
_FEW = 100  # of each experiment, at least

Predict = Callable[
    [Float[np.ndarray, "time inputs"], Float[np.ndarray, "warmup outputs"]], Forecast
]


@dataclass(frozen=True)
class Protocol:
    """How a forecast is made: outputs it may see, steps it goes, particles it has."""

    warmup: int = 16
    horizon: int = 5000
    particles: int = 200


@dataclass(frozen=True, eq=False)
class Stretch:
    """One experiment of the test part, as far as it is forecast."""

    experiment: Experiment
    scored: Scored

    @property
    def u(self) -> Float[np.ndarray, "time inputs"]:
        """The inputs of the stretch."""
        return self.experiment.u[: len(self.scored.y)]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a model is worth on the test part, in the units of the data, after the warm-up."""

    stretches: tuple[Stretch, ...]
    scores: Scores = field(init=False)
    output_rmse: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", pooled(self.open_loop))
        object.__setattr__(self, "output_rmse", _output_rmse(self.open_loop))

    @property
    def open_loop(self) -> list[Scored]:
        """All stretches without their warm-up."""
        return [each.scored.open_loop() for each in self.stretches]


def evaluate(run: Run, test: Dataset, protocol: Protocol = Protocol()) -> Evaluation:  # noqa: B008
    """Forecast every experiment of `test` in open loop from its first outputs, and score it."""

    def predict(u: np.ndarray, y: np.ndarray) -> Forecast:
        return run.predict(u, y, particles=protocol.particles)

    return _evaluate(predict, test, protocol, run.model.shortest_warmup)


def evaluate_baselines(
    train: Dataset,
    test: Dataset,
    protocol: Protocol = Protocol(),  # noqa: B008
) -> dict[str, Evaluation]:
    """The same forecasts by the mean of the training outputs, and by a linear ARX.

    Of a long log they see the first rows of every experiment.
    """
    train = beginning(train, _BASELINE_ROWS)
    y_train = np.concatenate([each.y for each in train])
    linear = arx(train)
    baselines: dict[str, Predict] = {
        MEAN: lambda u, y: _warmed(constant_mean(y_train, len(u)), len(y)),
        ARX: linear.predict,
    }
    return {name: _evaluate(each, test, protocol) for name, each in baselines.items()}


def beginning(data: Dataset, most: int) -> Dataset:
    """The first rows of every experiment, together about `most`; all where there are not more."""
    share = min(1.0, most / data.num_rows)
    rows = [max(math.ceil(share * len(each)), min(len(each), _FEW)) for each in data]
    pairs = zip(data.experiments, rows, strict=True)
    return replace(data, experiments=tuple(each.cut(0, n, each.part) for each, n in pairs))


def pooled(scored: Sequence[Scored]) -> Scores:
    """RMSE, log-likelihood per step and coverage over all stretches together."""
    known = np.array([np.sum(~np.isnan(each.y)) for each in scored], float)
    steps = np.array([np.sum((~np.isnan(each.y)).any(axis=1)) for each in scored], float)
    rmse, likelihood = np.array([_scores(each) for each in scored]).T
    return Scores(
        float(np.sqrt(np.average(np.square(rmse), weights=known))),
        float(np.average(likelihood, weights=steps)),
        pooled_coverage(scored, _LEVEL),
    )


def pooled_coverage(scored: Sequence[Scored], level: float) -> float:
    """Share of all measurements inside the central band of this level."""
    known = [float(np.sum(~np.isnan(each.y))) for each in scored]
    shares = [each.forecast.coverage(each.y, level) for each in scored]
    return float(np.average(shares, weights=known))


def _scores(scored: Scored) -> tuple[float, float]:
    forecast, y = scored
    with np.errstate(over="ignore"):  # an unstable baseline may be as wrong as it likes
        return forecast.rmse(y), forecast.log_likelihood(y)


def _output_rmse(scored: Sequence[Scored]) -> tuple[float, ...]:
    errors = np.concatenate([each.y - each.forecast.mean for each in scored])
    with np.errstate(over="ignore"):
        return tuple(float(value) for value in np.sqrt(np.nanmean(np.square(errors), axis=0)))


def _evaluate(predict: Predict, test: Dataset, protocol: Protocol, shortest: int = 1) -> Evaluation:
    warmup = max(protocol.warmup, shortest)
    usable = [each for each in test if _has_open_loop(each, warmup, protocol.horizon)]
    if not usable:
        longest = max(len(each) for each in test)
        wanted = f"an experiment with measurements after the warm-up of {warmup} steps"
        remedy = "Keep more rows for the test, or shorten the warm-up."
        raise DataError(expected("test part", f"{longest} rows at most", wanted, remedy))
    return Evaluation(tuple(_stretch(predict, each, warmup, protocol.horizon) for each in usable))


def _has_open_loop(experiment: Experiment, warmup: int, horizon: int) -> bool:
    return bool(experiment.mask[warmup:horizon].any())


def _stretch(predict: Predict, experiment: Experiment, warmup: int, horizon: int) -> Stretch:
    u, y = experiment.u[:horizon], experiment.y[:horizon]
    return Stretch(experiment, Scored(predict(u, y[:warmup]), y))


def _warmed(forecast: Forecast, warmup: int) -> Forecast:
    """The same forecast, which knows how many outputs it could have seen."""
    return Forecast(forecast.particles, forecast.noise_std, forecast.seed, warmup)
