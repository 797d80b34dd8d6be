"""`fit`: from data and settings to runs."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Unpack, overload

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm.base.errors import ConfigError, DataError, expected
from gpssm.data import Dataset, Normalisation, WindowSource, choose_windows
from gpssm.data.alignment import align_inputs
from gpssm.data.io.timing import common_step
from gpssm.inference import Model, System, build
from gpssm.inference.linear_part import LinearStart
from gpssm.inference.sequences import from_batch_first
from gpssm.model import with_common_scales
from gpssm.training import (
    BatchedSettings,
    Checkpoints,
    Phase,
    Stretches,
    Training,
    TrainingOptions,
    TrainingResult,
    alone,
    calibrate_all,
    cut_stretches,
    data_hash,
    is_first,
    keep_one,
    long_stretches,
    make_phases,
    silent,
    start_keys,
    train,
)
from gpssm.training.progress import ProgressFactory, automatic

from .filter_noise import tune_filters
from .linear_inside import linear_inside
from .memory import check_training
from .outcomes import check_failures, check_skipped, tell_lost_starts
from .run import Run

_EXAMPLES = 64  # sequences from which the inducing inputs are placed


class _Around(NamedTuple):
    """What surrounds a training and does not change it."""

    shown: ProgressFactory
    quiet: bool  # about all that is not training
    devices: Sequence[jax.Device] | None
    run_dir: str | Path | None


class FitOptions(TrainingOptions, total=False):
    """Arguments of `fit` other than the model, the data and the number of seeds."""

    u: Any
    y: Any
    seed: int
    quiet: bool
    progress: ProgressFactory | None
    devices: Sequence[jax.Device] | None
    run_dir: str | Path | None
    validation: Dataset | float | None


@overload
def fit(
    model: Model, data: Dataset | None = None, *, seeds: None = None, **options: Unpack[FitOptions]
) -> Run: ...
@overload
def fit(
    model: Model, data: Dataset | None = None, *, seeds: int, **options: Unpack[FitOptions]
) -> list[Run]: ...
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
    **settings: Unpack[TrainingOptions],
) -> Run | list[Run]:
    """Fit a model to a data set, or to plain arrays `u` and `y` (or lists of them).

    `settings` are those of `gpssm.Training`, such as `steps=1000` or `learning_rate=0.01`.
    With `seeds=5` five runs train in one program, from the seeds `seed`, …, `seed + 4`, and a
    list of them is returned. The sequences of a batch are cut over the `devices`, by default all,
    those of other processes included: see `gpssm.connect`.
    With a `run_dir` nothing is lost: checkpoints are written there, the same call goes on where
    it was stopped, and the fitted model is saved there at the end.
    `progress` shows the training in the caller's own way; `quiet` is about all else then.
    With `validation` data, or a fraction such as 0.2 (the last fifth of every experiment is then
    held out), the parameters with the best open-loop forecasts of them are kept.
    """
    data, held_out = _hold_out(_dataset(data, u, y), validation)
    training = resolve_training(model, data, settings)
    around = _Around(_shown(progress, quiet), quiet, devices, run_dir)
    numbers = _seeds(seed, seeds)
    trainings = [training] * len(numbers)
    with nullcontext() if run_dir is None else alone(run_dir, "run_dir"):
        runs = _fit_runs(model, data, trainings, numbers, held_out, around)
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
    **settings: Unpack[TrainingOptions],
) -> list[list[Run]]:
    """Fit with several settings side by side, in one program: the runs of each candidate.

    A candidate is a dictionary of a `learning_rate`, an `inducing_kl`, or both; all else is
    common to them. With `validation` the history of each run has the scores of its steps.
    """
    for candidate in candidates:
        if unknown := sorted(set(candidate) - set(BatchedSettings._fields)):
            wanted = f"only {' and '.join(BatchedSettings._fields)}: all else is the same for all"
            raise ConfigError(expected("candidate", f"{', '.join(unknown)}", wanted))
    data, held_out = _hold_out(data, validation)
    numbers, around = _seeds(seed, seeds), _Around(_shown(progress, quiet), quiet, devices, None)
    trainings = [resolve_training(model, data, {**settings, **each}) for each in candidates]
    together = [training for training in trainings for _ in numbers]
    numbers = numbers * len(trainings)
    runs = _fit_runs(model, data, together, numbers, held_out, around)
    return [runs[i : i + seeds] for i in range(0, len(runs), seeds)]


def _shown(progress: ProgressFactory | None, quiet: bool) -> ProgressFactory:
    """Of several processes only the first one shows anything."""
    return (progress or automatic(quiet)) if is_first() else silent


def _seeds(first: int, count: int | None) -> list[int]:
    if count is not None and count < 1:
        raise ConfigError(expected("seeds", count, "at least 1, or None for a single run"))
    return list(range(first, first + (count or 1)))


def _fit_runs(
    model: Model,
    data: Dataset,
    trainings: Sequence[Training],
    numbers: list[int],
    held_out: Dataset | None,
    around: _Around,
) -> list[Run]:
    """One run for each seed and its settings, which differ at most in the batched ones."""
    normalisation = with_common_scales(Normalisation.of(data), model.physics)
    inside = linear_inside(model, data, normalisation, trainings[0], around.quiet)
    model, trainings = inside.model, [inside.lengthen(each) for each in trainings]
    check_training(model, trainings[0], len(trainings) * trainings[0].starts)
    names, step = (data.input_names, data.output_names), data.sampling_time
    units = data.input_units, data.output_units
    given, data = data, align_inputs(data, model.input_delays)
    held_out = held_out and align_inputs(held_out, model.input_delays)
    with jax.enable_x64(True):
        found, results, fitted = _train_all(
            model, data, normalisation, inside.start, trainings, numbers, held_out, around
        )
    runs = [
        Run(system, normalisation, training, number, result.history, *names, step, *units)
        for system, training, number, result in zip(
            fitted, trainings, numbers, results, strict=True
        )
    ]
    if trainings[0].tune_filter:
        runs = tune_filters(runs, given, around.quiet)
    kept = _save(runs, around.run_dir)
    check_failures(results, numbers, kept)
    tell_lost_starts(found)
    check_skipped(results)
    return runs


def _train_all(
    model: Model,
    data: Dataset,
    normalisation: Normalisation,
    linear: LinearStart | None,
    trainings: Sequence[Training],
    numbers: list[int],
    held_out: Dataset | None,
    around: _Around,
) -> tuple[list[TrainingResult], list[TrainingResult], list[System]]:
    """The results of all starts, those that are kept, and their calibrated systems."""
    training = trainings[0]
    phases = make_phases(data, normalisation, training)
    stretches = cut_stretches(held_out, normalisation, training) if held_out else None
    starts = [key for number in numbers for key in start_keys(number, training.starts)]
    keys = jnp.stack([jax.random.split(key) for key in starts])
    systems = [_fresh_system(key, model, phases[-1], normalisation, linear) for key in keys[:, 0]]
    windows, (shown, quiet, devices, run_dir) = phases[-1].windows, around
    checkpoints = _checkpoints(run_dir, model, training, numbers, windows, stretches)
    batched = [BatchedSettings.of(each) for each in trainings for _ in range(training.starts)]
    found = train(keys[:, 1], systems, phases, shown, devices, checkpoints, stretches, batched)
    own = long_stretches(data, normalisation, training) if stretches is None else None
    results = keep_one(found, training.starts, own, stretches, training.validation_metric)
    fitted = [result.average for result in results]
    if training.calibrate and (seen := stretches or own):
        fitted = calibrate_all(fitted, seen, quiet)
    return found, results, fitted


def _save(runs: Sequence[Run], run_dir: str | Path | None) -> list[Path]:
    """Write the models to the run directory, if there is one; return their paths."""
    kept = [] if run_dir is None else [Path(run_dir) / f"seed-{run.seed}.gpssm" for run in runs]
    if is_first():
        for run, path in zip(runs, kept, strict=False):
            run.save(path)
            if run.training.starts > 1:  # that of the start which was kept, under the seed's name
                run.history.to_csv(path.with_name(f"history-{path.stem}.csv"))
    return kept


def _checkpoints(
    run_dir: str | Path | None,
    model: Model,
    training: Training,
    seeds: list[int],
    windows: WindowSource,
    stretches: Stretches | None,
) -> Checkpoints | None:
    """The checkpoints of a run directory that belongs to exactly these settings and data."""
    if run_dir is None:
        return None
    pace = ("checkpoint_steps", "checkpoint_seconds")  # how often to save is no part of the run
    runs = [
        f"seed-{seed}" + (f"-start-{start}" if training.starts > 1 else "")
        for seed in seeds
        for start in range(training.starts)
    ]
    checkpoints = Checkpoints(run_dir, runs, *(getattr(training, name) for name in pace))
    identity = {
        "model": model.to_json(),
        "training": {k: v for k, v in training.to_json().items() if k not in pace},
        "seeds": seeds,
        "data": data_hash(windows),
        "validation": data_hash(stretches) if stretches else None,
    }
    # What was stored before a setting was thought of had its default.
    checkpoints.claim(identity, {"model": Model().to_json(), "training": Training().to_json()})
    return checkpoints


def _fresh_system(
    key: PRNGKeyArray,
    model: Model,
    phase: Phase,
    normalisation: Normalisation,
    linear: LinearStart | None,
) -> System:
    """The initial system, with inducing inputs placed on some of the sequences."""
    windows = phase.windows
    if phase.recency is None:
        chosen = np.asarray(choose_windows(key, 0, len(windows.starts), _EXAMPLES))
    else:
        chosen = phase.recency.spread(_EXAMPLES)
    examples = windows.read(windows.starts[chosen], phase.training.sequence_length)
    return build(key, model, from_batch_first(*examples), normalisation, linear)


def _dataset(data: Any, u: Any, y: Any) -> Dataset:
    if (data is None) == (y is None):
        given = "neither" if data is None else "both"
        raise DataError(expected("data or y", given, "one of them", "fit(model, data) or y=..."))
    if data is not None and u is not None:
        raise DataError(expected("u", "inputs together with data", "one of them"))
    if data is not None and not isinstance(data, Dataset):
        remedy = "Pass arrays by name: fit(model, u=u, y=y)."
        raise DataError(expected("data", f"a {type(data).__name__}", "a gpssm.Dataset", remedy))
    if data is not None and "test" in data.parts:
        remedy = "Give data.train; to train on every row, do not split."
        raise DataError(expected("data", "a data set with its test part", "what trains", remedy))
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
        steps = [("data", data.sampling_time), ("validation", validation.sampling_time)]
        common_step(steps, None)
        return data, validation
    if isinstance(validation, bool) or not isinstance(validation, int | float):
        wanted = "a gpssm.Dataset, or a fraction such as 0.2"
        raise DataError(expected("validation", f"a {type(validation).__name__}", wanted))
    if not 0.0 < validation < 1.0:
        raise DataError(expected("validation", validation, "a fraction between 0 and 1"))
    parts = data.split(1.0 - validation, validation)
    return parts.train, parts.validation


def resolve_training(model: Model, data: Dataset, settings: Mapping[str, Any]) -> Training:
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
