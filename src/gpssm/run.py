"""The facade: `fit` a model to data, `predict` from a run, `save` and `load` it."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from . import modelfile
from .data import Dataset, Normalisation, Windows, batch
from .errors import ConfigError, DataError, GpssmWarning, TrainingError, expected
from .gp import conditional, factorise
from .gp.sparse import inducing_cholesky
from .inference import Model, System, build
from .inference.sequences import from_batch_first
from .model import Hybrid, Physics, with_common_scales
from .prediction import Forecast, predict
from .training import (
    ROLLBACKS,
    Checkpoints,
    Dials,
    History,
    Stretches,
    Training,
    TrainingResult,
    calibrate,
    cut_stretches,
    data_hash,
    long_stretches,
    make_phases,
    train,
)
from .training.progress import ProgressFactory, automatic

_EXAMPLES = 64  # sequences from which the inducing inputs are placed
_MANY_SKIPPED = 0.05  # share of the steps


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model with everything that a forecast in the units of the data needs."""

    system: System
    normalisation: Normalisation
    training: Training
    seed: int
    history: History
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()

    @property
    def model(self) -> Model:
        """The settings of the model."""
        return self.system.config

    def predict(
        self,
        u: Float[np.ndarray, "time *inputs"] | None,
        y_warmup: Float[np.ndarray, "warmup *outputs"],
        *,
        steps: int | None = None,
        conditioned: int | None = None,
        particles: int | None = None,
        seed: int = 0,
    ) -> Forecast:
        """Forecast all time steps of the inputs `u` from the first outputs, in their units.

        The steps of `y_warmup` are conditioned on (NaN marks a missing value), the rest is open
        loop. `conditioned` ends the conditioning earlier than the warm-up: the backward pass
        still sees all of it. A system without inputs takes `u=None` and the number of `steps`.
        """
        y = self._measured("y_warmup", y_warmup)
        u = self._inputs(u, steps)
        conditioned = len(y) if conditioned is None else conditioned
        self._check_warmup(len(u), len(y), conditioned)
        x = self._rollout(u[None], y[None], conditioned, self._particles(particles), seed)
        return self._forecast(x[:, :, 0], seed, len(y))

    def predict_one_step(
        self,
        u: Float[np.ndarray, "time *inputs"],
        y: Float[np.ndarray, "time *outputs"],
        *,
        warmup: int = 16,
        particles: int | None = None,
        seed: int = 0,
    ) -> Forecast:
        """Forecast every output from the `warmup` steps before it; the first ones have none.

        Its errors are the residuals that identification people look at: white, if all that the
        past tells of the next measurement was used.
        """
        y = self._measured("y", y)
        u = self._inputs(u, None)
        if not self.model.shortest_warmup <= warmup < min(len(u), len(y)) or len(u) != len(y):
            wanted = f"from {self.model.shortest_warmup} to fewer than the rows of u and y"
            given = f"{warmup} steps with {len(u)} rows of u and {len(y)} of y"
            raise DataError(expected("warmup", given, wanted))
        starts = np.arange(len(y) - warmup)[:, None]
        u, seen = u[starts + np.arange(warmup + 1)], y[starts + np.arange(warmup)]
        x = self._rollout(u, seen, warmup, self._particles(particles), seed)
        return self._forecast(np.swapaxes(x[-1], 0, 1), seed, 0)

    def states(
        self,
        u: Float[np.ndarray, "time *inputs"] | None,
        y_warmup: Float[np.ndarray, "warmup *outputs"],
        *,
        steps: int | None = None,
        particles: int | None = None,
        seed: int = 0,
    ) -> Float[np.ndarray, "particles time states"]:
        """The states behind a forecast, in normalised units; the outputs come first."""
        y, u = self._measured("y_warmup", y_warmup), self._inputs(u, steps)
        self._check_warmup(len(u), len(y), len(y))
        x = self._rollout(u[None], y[None], len(y), self._particles(particles), seed)
        return np.moveaxis(x[:, :, 0], -1, 0).astype(np.float64)

    def plot(self, *, path: str | Path | None = None, title: str = "") -> Any:
        """A static figure of how training went: the terms of the ELBO over the steps."""
        from .report import plot_history  # here: a program that never plots need not load it

        return plot_history(self.history, path=path, title=title or self.model.name)

    def learned(
        self, x: Float[np.ndarray, "time states"], u: Float[np.ndarray, "time inputs"]
    ) -> tuple[Float[np.ndarray, "time yields"], Float[np.ndarray, "time yields"]]:
        """Mean and standard deviation of what the GP yields at these states and inputs.

        All in physical units; the states in the order of the physics.
        """
        dynamics = self.system.model.transition.dynamics
        if not isinstance(dynamics, Hybrid):
            raise ConfigError(expected("learned", "a black box", "a model with physics"))
        x = _columns("x", x, len(dynamics.physics.states))
        u = _columns("u", u, len(self.normalisation.u_mean))
        with jax.enable_x64(True):
            normal_x = dynamics.units.normal(jnp.asarray(x.T))
            seen = dynamics.seen(normal_x, jnp.asarray(self.normalisation.u(u)).T)
            gp = self.system.model.transition.gp
            factor = factorise(gp, inducing_cholesky(gp, "float64"), "float64")
            mean, variance = conditional(factor, seen)
            std = dynamics.force(jnp.sqrt(variance))
            return np.asarray(dynamics.force(mean)).T, np.asarray(std).T

    def save(self, path: str | Path) -> Path:
        """Write the run to one file: safetensors and JSON, nothing that can run code."""
        content = (getattr(self, field) for field in modelfile.Content._fields)
        return modelfile.save(path, modelfile.Content(*content))

    def _rollout(
        self,
        u: Float[np.ndarray, "batch time inputs"],
        y: Float[np.ndarray, "batch warmup outputs"],
        conditioned: int,
        particles: int,
        seed: int,
    ) -> Float[np.ndarray, "time states batch particles"]:
        """The particles of all states, normalised."""
        dtype, mask = self.training.dtype, ~np.isnan(y)
        config = self.model.replace(particles=particles)
        system = System(self.system.model, self.system.posterior, config)
        with jax.enable_x64(True):
            normal_u = jnp.asarray(self.normalisation.u(u), dtype)
            normal_y = jnp.asarray(np.where(mask, self.normalisation.y(y), 0.0), dtype)
            warmup = from_batch_first(normal_u[:, : y.shape[1]], normal_y, jnp.asarray(mask))
            inputs = jnp.transpose(normal_u, (1, 2, 0))
            x = np.asarray(predict(jax.random.key(seed), system, inputs, warmup, conditioned))
        return x.reshape(*x.shape[:2], len(u), particles)

    def _forecast(
        self, x: Float[np.ndarray, "time states particles"], seed: int, warmup: int
    ) -> Forecast:
        """The outputs among the states, in the units of the data."""
        with jax.enable_x64(True):
            noise = np.sqrt(np.asarray(self.system.model.emission.noise))
        outputs = np.moveaxis(x[:, : len(noise)].astype(np.float64), -1, 0)
        return Forecast(
            np.asarray(self.normalisation.y_mean_back(outputs)),
            np.asarray(self.normalisation.y_std_back(noise)),
            seed,
            warmup,
            self.output_names,
        )

    def _measured(self, field: str, y: Any) -> np.ndarray:
        """Outputs as a matrix; NaN marks a missing value."""
        y = _columns(field, y, self.system.model.dim_y)
        if np.isinf(y).any():
            row = int(np.argwhere(np.isinf(y))[0, 0])
            wanted = "finite values, or NaN for a missing one"
            raise DataError(expected(field, f"{y[row]} at row {row}", wanted))
        return y

    def _particles(self, given: int | None) -> int:
        if given is not None and given < 1:
            raise DataError(expected("particles", given, "at least 1, or None"))
        return given or self.model.particles

    def _inputs(self, u: Any, steps: int | None) -> np.ndarray:
        dim_u = len(self.normalisation.u_mean)
        if u is None:
            if dim_u:
                raise DataError(expected("u", "nothing", f"an array [time, {dim_u}]"))
            if steps is None or steps < 1:
                given = "nothing" if steps is None else steps
                raise DataError(expected("steps", given, "the number of steps, at least 1"))
            return np.zeros((steps, 0))
        if steps is not None:
            remedy = "The inputs say how many steps there are."
            raise DataError(expected("steps", f"{steps} together with u", "one of them", remedy))
        u = _columns("u", u, dim_u)
        if not np.isfinite(u).all():
            row = int(np.argwhere(~np.isfinite(u))[0, 0])
            remedy = "An input must be known at every step of a forecast."
            raise DataError(expected("u", f"{u[row]} at row {row}", "finite values", remedy))
        return u

    def _check_warmup(self, steps: int, warmup: int, conditioned: int) -> None:
        needed = self.model.shortest_warmup
        if not needed <= warmup <= steps:
            wanted = f"between {needed} (for this recognition) and {steps} steps (those of u)"
            raise DataError(expected("y_warmup", f"{warmup} steps", wanted))
        if not 1 <= conditioned <= warmup:
            wanted = f"between 1 and the {warmup} steps of the warm-up"
            raise DataError(expected("conditioned", conditioned, wanted))


@overload
def fit(
    model: Model, data: Dataset | None = None, *, seeds: None = None, **settings: Any
) -> Run: ...
@overload
def fit(model: Model, data: Dataset | None = None, *, seeds: int, **settings: Any) -> list[Run]: ...
def fit(
    model: Model,
    data: Dataset | None = None,
    *,
    u: Any = None,
    y: Any = None,
    seed: int = 0,
    seeds: int | None = None,
    quiet: bool = False,
    progress: ProgressFactory | None = None,
    devices: Sequence[jax.Device] | None = None,
    run_dir: str | Path | None = None,
    validation: Dataset | float | None = None,
    **settings: Any,
) -> Run | list[Run]:
    """Fit a model to a data set, or to plain arrays `u` and `y` (or lists of them).

    `settings` are those of `gpssm.Training`, such as `steps=1000` or `learning_rate=0.01`.
    With `seeds=5` five runs train in one program, from the seeds `seed`, …, `seed + 4`, and a
    list of them is returned. The sequences of a batch are cut over the `devices`, by default all.
    With a `run_dir` nothing is lost: checkpoints are written there, the same call goes on where
    it was stopped, and the fitted model is saved there at the end.
    With `validation` data, or a fraction such as 0.2 (the last fifth of every experiment is then
    held out), the parameters with the best open-loop forecasts of them are kept.
    """
    data, held_out = _hold_out(_dataset(data, u, y), validation)
    training = _training(model, data, settings)
    shown = progress or automatic(quiet)
    numbers = _seeds(seed, seeds)
    trainings = [training] * len(numbers)
    runs = _fit_runs(model, data, trainings, numbers, shown, devices, run_dir, held_out)
    return runs[0] if seeds is None else runs


def fit_candidates(
    model: Model,
    data: Dataset,
    candidates: Sequence[dict[str, float]],
    *,
    seed: int = 0,
    seeds: int = 1,
    quiet: bool = False,
    progress: ProgressFactory | None = None,
    devices: Sequence[jax.Device] | None = None,
    validation: Dataset | float | None = None,
    **settings: Any,
) -> list[list[Run]]:
    """Fit with several settings side by side, in one program: the runs of each candidate.

    A candidate is a dictionary of a `learning_rate`, an `inducing_kl`, or both; all else is
    common to them. With `validation` the history of each run tells how good it was at which step.
    """
    for candidate in candidates:
        if unknown := sorted(set(candidate) - set(Dials._fields)):
            wanted = f"only {' and '.join(Dials._fields)}: all else is the same for all"
            raise ConfigError(expected("candidate", f"{', '.join(unknown)}", wanted))
    data, held_out = _hold_out(data, validation)
    numbers = _seeds(seed, seeds)
    trainings = [_training(model, data, {**settings, **each}) for each in candidates]
    together = [training for training in trainings for _ in numbers]
    shown = progress or automatic(quiet)
    all_numbers = numbers * len(trainings)
    runs = _fit_runs(model, data, together, all_numbers, shown, devices, None, held_out)
    return [runs[i : i + seeds] for i in range(0, len(runs), seeds)]


def _calibrated(system: System, training: Training, judge: Stretches | None) -> System:
    """With the noise that the forecasts of some stretches ask for, where there are any."""
    if not training.calibrate or judge is None:
        return system
    return calibrate(system, judge)[0]


def _seeds(first: int, count: int | None) -> list[int]:
    if count is not None and count < 1:
        raise ConfigError(expected("seeds", count, "at least 1, or None for a single run"))
    return list(range(first, first + (count or 1)))


def _fit_runs(
    model: Model,
    data: Dataset,
    trainings: Sequence[Training],
    numbers: list[int],
    shown: ProgressFactory,
    devices: Sequence[jax.Device] | None,
    run_dir: str | Path | None,
    held_out: Dataset | None,
) -> list[Run]:
    """One run for each seed and its settings, which differ in their dials at most."""
    training = trainings[0]
    normalisation = with_common_scales(Normalisation.of(data), model.physics)
    with jax.enable_x64(True):
        phases = make_phases(data, normalisation, training)
        stretches = cut_stretches(held_out, normalisation, training) if held_out else None
        windows = phases[-1].windows
        keys = jnp.stack([jax.random.split(jax.random.key(number)) for number in numbers])
        systems = [
            _fresh_system(key, model, windows, training, normalisation) for key in keys[:, 0]
        ]
        checkpoints = _checkpoints(run_dir, model, training, numbers, windows, stretches)
        dials = [Dials.of(each) for each in trainings]
        results = train(keys[:, 1], systems, phases, shown, devices, checkpoints, stretches, dials)
        judge = stretches or long_stretches(data, normalisation, training)
        fitted = [_calibrated(result.average, training, judge) for result in results]
    names = data.input_names, data.output_names
    runs = [
        Run(system, normalisation, training, number, result.history, *names)
        for system, training, number, result in zip(
            fitted, trainings, numbers, results, strict=True
        )
    ]
    kept = [] if run_dir is None else [run.save(_model_path(run_dir, run.seed)) for run in runs]
    _check_failures(results, numbers, kept)
    _check_skipped(results)
    return runs


def _checkpoints(
    run_dir: str | Path | None,
    model: Model,
    training: Training,
    seeds: list[int],
    windows: Windows,
    stretches: Stretches | None,
) -> Checkpoints | None:
    """The checkpoints of a run directory that belongs to exactly these settings and data."""
    if run_dir is None:
        return None
    pace = ("checkpoint_steps", "checkpoint_seconds")  # how often to save is no part of the run
    checkpoints = Checkpoints(run_dir, seeds, *(getattr(training, name) for name in pace))
    identity = {
        "model": model.to_json(),
        "training": {k: v for k, v in training.to_json().items() if k not in pace},
        "seeds": seeds,
        "data": data_hash(windows),
        "validation": data_hash(stretches) if stretches else None,
    }
    checkpoints.claim(identity)
    return checkpoints


def _model_path(run_dir: str | Path, seed: int) -> Path:
    return Path(run_dir) / f"seed-{seed}.gpssm"


def _check_failures(
    results: Sequence[TrainingResult], seeds: Sequence[int], kept: Sequence[Path]
) -> None:
    """A seed that gave up ends the whole call; what was learned until then is kept."""
    for i, (seed, result) in enumerate(zip(seeds, results, strict=True)):
        if result.failure is None:
            continue
        groups = ", ".join(result.failure.groups) or "no group (the ELBO itself is not finite)"
        where = f"is in {kept[i]}" if kept else "is lost: there was no run_dir to keep it in"
        given = (
            f"no finite gradient at step {result.failure.step} of seed {seed}, after {ROLLBACKS} "
            f"roll-backs with ever smaller steps; not finite in: {groups}"
        )
        remedy = f"Use a smaller learning_rate, or look at the data. The best model so far {where}."
        raise TrainingError(expected("training", given, "a finite one", remedy))


def _check_skipped(results: Sequence[TrainingResult]) -> None:
    """A run of which no step was finite has learned nothing; one of few should be known."""
    for result in results:
        skipped, steps = int(result.history.table["skipped"].sum()), len(result.history.table)
        if skipped == steps:
            remedy = "Look at the initial values of the model and at the scale of the data."
            raise ConfigError(
                expected("training", f"no finite gradient in {steps} steps", "one", remedy)
            )
        if skipped > _MANY_SKIPPED * steps:
            message = (
                f"{skipped} of {steps} steps were not finite and were skipped; "
                "use a smaller learning_rate."
            )
            warnings.warn(message, GpssmWarning, stacklevel=3)


def _fresh_system(
    key: PRNGKeyArray,
    model: Model,
    windows: Windows,
    training: Training,
    normalisation: Normalisation,
) -> System:
    """Where training starts, with inducing inputs placed on some of the sequences."""
    examples = batch(windows, training.sequence_length, key, 0, _EXAMPLES)
    return build(key, model, from_batch_first(*examples), normalisation)


def load(path: str | Path, physics: Physics | None = None) -> Run:
    """Read a run that `Run.save` wrote.

    A model file holds no code: a run with equations of motion needs the same `physics` again.
    """
    return Run(*modelfile.load(path, physics))


def _dataset(data: Any, u: Any, y: Any) -> Dataset:
    if (data is None) == (y is None):
        given = "neither" if data is None else "both"
        raise DataError(expected("data or y", given, "one of them", "fit(model, data) or y=..."))
    if data is not None and u is not None:
        raise DataError(expected("u", "inputs together with data", "one of them"))
    if data is not None and not isinstance(data, Dataset):
        remedy = "Pass arrays by name: fit(model, u=u, y=y)."
        raise DataError(expected("data", f"a {type(data).__name__}", "a gpssm.Dataset", remedy))
    return Dataset.from_arrays(y, u) if data is None else data


def _hold_out(data: Dataset, validation: Any) -> tuple[Dataset, Dataset | None]:
    """The data to train on, and those to validate with."""
    if validation is None:
        return data, None
    if isinstance(validation, Dataset):
        for kind in ("inputs", "outputs"):
            theirs, ours = (len(getattr(d, f"{kind[:-1]}_names")) for d in (validation, data))
            if theirs != ours:
                raise DataError(expected("validation", f"{theirs} {kind}", f"{ours}, as in data"))
        return data, validation
    if isinstance(validation, bool) or not isinstance(validation, int | float):
        wanted = "a gpssm.Dataset, or a fraction such as 0.2"
        raise DataError(expected("validation", f"a {type(validation).__name__}", wanted))
    if not 0.0 < validation < 1.0:
        raise DataError(expected("validation", validation, "a fraction between 0 and 1"))
    parts = data.split(1.0 - validation, validation)
    return parts.train, parts.validation


def _training(model: Model, data: Dataset, settings: dict[str, Any]) -> Training:
    """Settings whose defaults suit the shortest experiment and the recognition; all checked."""
    shortest = min(len(each) for each in data.experiments)
    length, warmup = (
        Training.model_fields[name].default for name in ("sequence_length", "validation_warmup")
    )
    defaults = {
        "sequence_length": min(length, shortest),
        "validation_warmup": max(warmup, model.shortest_warmup),
    }
    training = Training(**{**defaults, **settings})
    for _, each in training.phases():
        _check_length(model, each.sequence_length, shortest)
    if training.validation_warmup < model.shortest_warmup:
        wanted = f"at least the warm-up of the recognition, {model.shortest_warmup}"
        raise ConfigError(expected("validation_warmup", training.validation_warmup, wanted))
    return training


def _check_length(model: Model, length: int, shortest: int) -> None:
    """Sequences fit into every experiment, and the recognition into every sequence."""
    if length > shortest:
        wanted = f"at most the {shortest} rows of the shortest experiment"
        raise DataError(expected("sequence_length", length, wanted))
    if length < model.shortest_warmup:
        wanted = f"at least the warm-up of the recognition, {model.shortest_warmup}"
        remedy = "Shorten the model's `warmup`, or train on longer sequences."
        raise ConfigError(expected("sequence_length", length, wanted, remedy))


def _columns(field: str, values: Any, channels: int) -> np.ndarray:
    """[time] or [time, channels] as a float64 matrix with the channels of the training data."""
    array = np.asarray(values, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != channels or len(array) == 0:
        wanted = f"[time, {channels}], the channels that the model was trained on"
        raise DataError(expected(field, f"shape {np.shape(values)}", wanted))
    return array
