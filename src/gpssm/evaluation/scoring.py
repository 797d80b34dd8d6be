"""Scores of a run on the test part, with baselines: a constant mean and a linear ARX."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import DataError, expected
from gpssm.data import Dataset, DataWarning, Experiment, Normalisation
from gpssm.data.experiment import MIN_ROWS
from gpssm.fitted.run import Run
from gpssm.linear import LinearModel, arx, constant_mean
from gpssm.metrics import Forecast, Scored, Scores, score

MEAN, ARX = "constant mean", "linear ARX"
_BASELINE_ROWS = 50_000  # more of them teach a linear model nothing, and take minutes
_FEW = 100  # of each experiment, at least
TRAINING_ROWS = 5_000  # that are simulated after training, the newest ones

Spread = Float[np.ndarray, " outputs"]  # standard deviation of each output in training
# inputs, the outputs that may be seen, how many of them are conditioned on
Predict = Callable[
    [Float[np.ndarray, "time inputs"], Float[np.ndarray, "seen outputs"], int], Forecast
]


@dataclass(frozen=True)
class Protocol:
    """Settings of a forecast: warm-up, horizon and number of particles.

    `conditioned`: how many of these outputs are conditioned on; None: all. `scored_from`: the first
    step that is scored; None: the first one after the warm-up.
    """

    warmup: int = 16
    horizon: int = 5000
    particles: int = 200
    conditioned: int | None = None
    scored_from: int | None = None

    @property
    def first_scored(self) -> int:
        """Number of first steps that are not scored."""
        return self.warmup if self.scored_from is None else self.scored_from


DEFAULT = Protocol()


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
    """Forecasts and scores of a model on the test part.

    `training`: the scores of the same model on the newest rows that it was trained on. Without a
    test part these rows are all that was forecast: `tested` is then false. `linear`: the model
    itself, where it is a linear one.
    """

    stretches: tuple[Stretch, ...]
    scores: Scores
    first_scored: int
    training: Scores | None = None
    tested: bool = True
    linear: LinearModel | None = None

    @property
    def open_loop(self) -> list[Scored]:
        """All stretches without their first steps, which are not scored."""
        return [each.scored.after(self.first_scored) for each in self.stretches]

    @property
    def measured(self) -> list[int]:
        """The outputs with measurements; the others have no score."""
        known = np.any([(~np.isnan(each.y)).any(axis=0) for each in self.open_loop], axis=0)
        return [int(d) for d in np.flatnonzero(known)]

    @property
    def training_rmse(self) -> float | None:
        """Over all outputs, on rows that it was trained on; None: too few of them."""
        return None if self.training is None else self.training.overall("rmse")

    def to_json(self) -> dict[str, Any]:
        """Scores by output and metric, on the test part if there is one, and on training rows."""
        training = {} if self.training is None else {"training": self.training.to_json()}
        return {**(self.scores.to_json() if self.tested else {}), **training}


def evaluate(
    run: Run, test: Dataset | None, protocol: Protocol = DEFAULT, train: Dataset | None = None
) -> Evaluation:
    """Forecast every experiment of `test` in open loop from its first outputs, and score it.

    With the data that it was trained on, these are simulated in the same way: `training`. Without
    a `test` nothing else is forecast, and the result is not `tested`.
    """
    if test is not None:
        run.check_data(test)
    protocol = replace(protocol, warmup=max(protocol.warmup, run.model.shortest_warmup))
    return evaluate_forecasts(predictor(run, protocol), test, protocol, _spread(run, train), train)


def evaluate_forecasts(
    predict: Predict,
    test: Dataset | None,
    protocol: Protocol,
    spread: Spread | None = None,
    train: Dataset | None = None,
) -> Evaluation:
    """The same for any function that predicts.

    `spread`: of the outputs in training, in whose units they are pooled; None: in their own.
    """
    own = None if train is None else _on_own_rows(predict, train, protocol, spread)
    found = own if test is None else _evaluation(predict, test, protocol, spread)
    if found is None:
        raise _too_short(test or train, protocol)
    training = None if own is None else own.scores
    return replace(found, training=training, tested=test is not None)


def _too_short(data: Dataset | None, protocol: Protocol) -> DataError:
    """The error where no experiment can be forecast."""
    if data is None:
        return DataError(expected("test and train", "neither", "one of them"))
    part = "test part" if data.parts == ("test",) else "data"
    longest = max(len(each) for each in data)
    wanted = f"an experiment with measurements in the first {protocol.warmup} steps and after them"
    remedy = "Give more rows, or a smaller forecast.warmup."
    return DataError(expected(part, f"{longest} rows at most", wanted, remedy))


def training_rmse(run: Run, train: Dataset, protocol: Protocol = DEFAULT) -> float | None:
    """Open-loop RMSE over the newest training rows; None if there are too few.

    A fit that cannot simulate its training rows has failed, even if its ELBO is high.
    """
    protocol = replace(protocol, warmup=max(protocol.warmup, run.model.shortest_warmup))
    found = _on_own_rows(predictor(run, protocol), train, protocol, _spread(run, train))
    return None if found is None else found.scores.overall("rmse")


def predictor(run: Run, protocol: Protocol) -> Predict:
    """A run as a function that predicts."""
    return lambda u, y, conditioned: run.predict(
        u, y, conditioned=conditioned, particles=protocol.particles
    )


def evaluate_baselines(
    train: Dataset, test: Dataset | None, protocol: Protocol = DEFAULT, own: Dataset | None = None
) -> dict[str, Evaluation]:
    """The same forecasts by the mean of the training outputs, and by a linear ARX.

    Of a long log they see the first rows of every experiment only, and have no scores on the newest
    ones. `own`: those of `train` that the model is trained on, if these are not all.
    """
    seen = beginning(train, _BASELINE_ROWS)
    own = (own or train) if seen.num_rows == train.num_rows or test is None else None
    if not _usable(test or own or train, protocol):
        raise _too_short(test or own, protocol)
    y_train = np.concatenate([each.y for each in seen])
    linear = arx(seen)
    baselines: dict[str, Predict] = {
        MEAN: lambda u, y, _: replace(constant_mean(y_train, len(u)), warmup=len(y)),
        ARX: lambda u, y, conditioned: linear.predict(u, y[:conditioned]),
    }
    spread = output_spread(train)
    found = {
        name: evaluate_forecasts(predict, test, protocol, spread, own)
        for name, predict in baselines.items()
    }
    return {**found, ARX: replace(found[ARX], linear=linear)}


def output_spread(train: Dataset) -> Spread:
    """Standard deviation of the outputs in training; one where an output is constant."""
    with warnings.catch_warnings():  # the fit itself warns of constant channels
        warnings.simplefilter("ignore", DataWarning)
        return Normalisation.of(train).y_std


def _spread(run: Run, train: Dataset | None) -> Spread:
    return run.normalisation.y_std if train is None else output_spread(train)


def beginning(data: Dataset, most: int) -> Dataset:
    """The first rows of every experiment, about `most` in total."""
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


def _on_own_rows(
    predict: Predict, train: Dataset, protocol: Protocol, spread: Spread | None
) -> Evaluation | None:
    rows = newest(train, TRAINING_ROWS, protocol.horizon)
    return _evaluation(predict, rows, protocol, spread)


def _evaluation(
    predict: Predict, data: Dataset, protocol: Protocol, spread: Spread | None
) -> Evaluation | None:
    """Evaluate experiments with measurements after the warm-up; None if there are none."""
    first, usable = protocol.first_scored, _usable(data, protocol)
    if not usable:
        return None
    stretches = tuple(_stretch(predict, each, protocol) for each in usable)
    parts = [each.scored.after(first) for each in stretches]
    scores = score([part.forecast.sample(part.y, spread) for part in parts], data.output_names)
    return Evaluation(stretches, scores, first)


def _usable(data: Dataset, protocol: Protocol) -> list[Experiment]:
    """Experiments with measurements in the warm-up and after it."""
    rest = slice(protocol.first_scored, protocol.horizon)
    return [e for e in data if e.mask[: protocol.warmup].any() and e.mask[rest].any()]


def _stretch(predict: Predict, experiment: Experiment, protocol: Protocol) -> Stretch:
    u, y = experiment.u[: protocol.horizon], experiment.y[: protocol.horizon]
    seen = y[: protocol.warmup]
    conditioned = min(protocol.conditioned or len(seen), len(seen))
    return Stretch(experiment, Scored(predict(u, seen, conditioned), y))
