"""A run against the test part, beside what it must beat: a constant mean and a linear ARX."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from gpssm.data import Dataset, Experiment
from gpssm.data.experiment import MIN_ROWS
from gpssm.errors import DataError, expected
from gpssm.prediction import Forecast, Scored, arx, constant_mean
from gpssm.run import Run

from .tables import Scores

MODEL, MEAN, ARX = "model", "constant mean", "linear ARX"
_LEVEL = 0.95
_BASELINE_ROWS = 50_000  # more of them teach a linear model nothing, and take minutes
_FEW = 100  # of each experiment, at least
_TRAINING_ROWS = 5_000  # that are simulated after training, the newest ones

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
    training_rmse: float | None = None
    scores: Scores = field(init=False)
    output_rmse: tuple[float | None, ...] = field(init=False)

    def __post_init__(self) -> None:
        scores = pooled(self.open_loop)._replace(training_rmse=self.training_rmse)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "output_rmse", _output_rmse(self.open_loop))

    @property
    def open_loop(self) -> list[Scored]:
        """All stretches without their warm-up."""
        return [each.scored.open_loop() for each in self.stretches]

    @property
    def measured(self) -> list[int]:
        """The outputs that were measured there at all: the others cannot be judged."""
        return [d for d, rmse in enumerate(self.output_rmse) if rmse is not None]


def evaluate(
    run: Run,
    test: Dataset,
    protocol: Protocol = Protocol(),  # noqa: B008
    train: Dataset | None = None,
) -> Evaluation:
    """Forecast every experiment of `test` in open loop from its first outputs, and score it.

    With the data that it was trained on, these are simulated in the same way: `training_rmse`.
    """
    found = _evaluate(_predictor(run, protocol), test, _fitting(protocol, run))
    if train is None:
        return found
    return replace(found, training_rmse=training_rmse(run, train, protocol))


def training_rmse(
    run: Run,
    train: Dataset,
    protocol: Protocol = Protocol(),  # noqa: B008
) -> float | None:
    """RMSE over the newest rows that the run was trained on, in open loop; None: too short.

    A fit that cannot simulate what it has seen has failed, whatever its ELBO says.
    """
    return _on_own_rows(_predictor(run, protocol), train, _fitting(protocol, run))


def _predictor(run: Run, protocol: Protocol) -> Predict:
    return lambda u, y: run.predict(u, y, particles=protocol.particles)


def _fitting(protocol: Protocol, run: Run) -> Protocol:
    """With a warm-up that is long enough for the recognition."""
    return replace(protocol, warmup=max(protocol.warmup, run.model.shortest_warmup))


def evaluate_baselines(
    train: Dataset,
    test: Dataset,
    protocol: Protocol = Protocol(),  # noqa: B008
    own: Dataset | None = None,
) -> dict[str, Evaluation]:
    """The same forecasts by the mean of the training outputs, and by a linear ARX.

    Of a long log they see the first rows of every experiment, and then the newest ones tell
    nothing of what they were trained on. `own`: those of `train` that the model is trained on, if
    these are not all.
    """
    seen = beginning(train, _BASELINE_ROWS)
    own = (own or train) if seen.num_rows == train.num_rows else None
    y_train = np.concatenate([each.y for each in seen])
    linear = arx(seen)
    baselines: dict[str, Predict] = {
        MEAN: lambda u, y: _warmed(constant_mean(y_train, len(u)), len(y)),
        ARX: linear.predict,
    }
    return {
        name: replace(
            _evaluate(predict, test, protocol),
            training_rmse=None if own is None else _on_own_rows(predict, own, protocol),
        )
        for name, predict in baselines.items()
    }


def beginning(data: Dataset, most: int) -> Dataset:
    """The first rows of every experiment, together about `most`; all where there are not more."""
    share = min(1.0, most / data.num_rows)
    rows = [max(math.ceil(share * len(each)), min(len(each), _FEW)) for each in data]
    pairs = zip(data.experiments, rows, strict=True)
    return replace(data, experiments=tuple(each.cut(0, n, each.part) for each, n in pairs))


def newest(data: Dataset, most: int, longest: int) -> Dataset:
    """The ends of the last experiments, `longest` rows of each, together not more than `most`."""
    kept: list[Experiment] = []
    for each in reversed(data.experiments):
        rows = min(len(each), longest, most - sum(map(len, kept)))
        if rows >= MIN_ROWS:
            kept.insert(0, each.cut(len(each) - rows, len(each), each.part))
    return replace(data, experiments=tuple(kept))


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


def _output_rmse(scored: Sequence[Scored]) -> tuple[float | None, ...]:
    """Of each output; None for one that was not measured."""
    y, mean = (
        np.concatenate(each) for each in zip(*((s.y, s.forecast.mean) for s in scored), strict=True)
    )
    with np.errstate(over="ignore"):
        return tuple(
            float(np.sqrt(np.mean(np.square((y - mean)[known, d])))) if known.any() else None
            for d, known in enumerate(~np.isnan(y.T))
        )


def _evaluate(predict: Predict, test: Dataset, protocol: Protocol) -> Evaluation:
    stretches = _stretches(predict, test, protocol)
    if not stretches:
        longest = max(len(each) for each in test)
        wanted = f"an experiment with measurements after the warm-up of {protocol.warmup} steps"
        remedy = "Keep more rows for the test, or shorten `warmup`, in a file below [forecast]."
        raise DataError(expected("test part", f"{longest} rows at most", wanted, remedy))
    return Evaluation(stretches)


def _on_own_rows(predict: Predict, train: Dataset, protocol: Protocol) -> float | None:
    stretches = _stretches(predict, newest(train, _TRAINING_ROWS, protocol.horizon), protocol)
    return Evaluation(stretches).scores.rmse if stretches else None


def _stretches(predict: Predict, data: Dataset, protocol: Protocol) -> tuple[Stretch, ...]:
    """Every experiment that has measurements after the warm-up."""
    warmup, horizon = protocol.warmup, protocol.horizon
    usable = [each for each in data if _has_open_loop(each, warmup, horizon)]
    return tuple(_stretch(predict, each, warmup, horizon) for each in usable)


def _has_open_loop(experiment: Experiment, warmup: int, horizon: int) -> bool:
    return bool(experiment.mask[warmup:horizon].any())


def _stretch(predict: Predict, experiment: Experiment, warmup: int, horizon: int) -> Stretch:
    u, y = experiment.u[:horizon], experiment.y[:horizon]
    return Stretch(experiment, Scored(predict(u, y[:warmup]), y))


def _warmed(forecast: Forecast, warmup: int) -> Forecast:
    """The same forecast, which knows how many outputs it could have seen."""
    return Forecast(forecast.particles, forecast.noise_std, forecast.seed, warmup)
