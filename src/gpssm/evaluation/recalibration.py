"""Recalibration: noise levels chosen by cross-validation.

The calibration at the end of `fit` uses the training data only, on which an over-fitted model does
too well. Here the fit is repeated on folds, and the noise makes held-out rows most likely.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.base.errors import DataError, GpssmWarning, TrainingError, expected
from gpssm.data import Dataset
from gpssm.data.disk import blocks
from gpssm.data.folds import cut_blocks
from gpssm.fitted.fitting import fit
from gpssm.fitted.run import Run
from gpssm.training import cut_stretches
from gpssm.training.calibration import HELD_OUT_FACTORS, choose, likelihoods, with_noise
from gpssm.training.progress import ProgressFactory, automatic, titled


@overload
def recalibrate(
    runs: Run,
    data: Dataset,
    *,
    folds: int = 3,
    quiet: bool = False,
    progress: ProgressFactory | None = None,
    run_dir: str | Path | None = None,
) -> Run: ...
@overload
def recalibrate(
    runs: Sequence[Run],
    data: Dataset,
    *,
    folds: int = 3,
    quiet: bool = False,
    progress: ProgressFactory | None = None,
    run_dir: str | Path | None = None,
) -> list[Run]: ...
def recalibrate(
    runs: Run | Sequence[Run],
    data: Dataset,
    *,
    folds: int = 3,
    quiet: bool = False,
    progress: ProgressFactory | None = None,
    run_dir: str | Path | None = None,
) -> Run | list[Run]:
    """The same runs with noise levels calibrated on held-out data.

    `data` is what they were trained on. The fit of the first run is repeated once per fold, on
    the rest of the data; all runs get what the fold in the middle asks for. So it costs as much
    as `folds` fits of one seed. With a `half_life`, or where a drift was removed, a fold is a
    future, which only what came before it may forecast, and which half of the data or more came
    before. With a `run_dir` each of these fits has a folder in it, and the same call goes on where
    it was stopped.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    _check_data(several, data)
    first, shown = several[0], progress or automatic(quiet)
    still = quiet or progress is not None  # a caller's own display is about training
    ahead = first.training.half_life is not None or data.has_drift
    parts = cut_folds(data, folds, ahead, first.training.validation_warmup)
    folders = [None if run_dir is None else Path(run_dir) / f"fold-{i}" for i in range(len(parts))]
    found = []
    for i, (part, folder) in enumerate(zip(parts, folders, strict=True), 1):
        each = shown if progress else titled(shown, f"fold {i}/{len(parts)}")
        found.append(
            _fold_likelihoods(first, part, {"progress": each, "quiet": still, "run_dir": folder})
        )
    chosen = choose(_middle(found), HELD_OUT_FACTORS)
    with jax.enable_x64(True):
        noise = jnp.asarray(chosen.level), jnp.asarray(chosen.factor)
        wider = [replace(run, system=with_noise(run.system, *noise)) for run in several]
    return wider[0] if isinstance(runs, Run) else wider


def _check_data(runs: Sequence[Run], data: Dataset) -> None:
    """Raise unless there are runs, and the data can be theirs."""
    if not runs:
        raise DataError(expected("runs", "none", "at least one"))
    runs[0].check_data(data)


def cut_folds(data: Dataset, folds: int, ahead: bool, warmup: int) -> list[Dataset]:
    """The cross-validation folds; raise if a held-out part is too short to forecast.

    `ahead`: those futures that much was known before: a model of little data would ask for too much
    noise. A fold that gaps leave nothing to forecast, or to learn an output from, is none.
    """
    try:
        parts = cut_blocks(data, folds, ahead)
    except DataError as error:
        remedy = "Use fewer folds, or none."
        raise DataError(expected("folds", f"{folds} ({error})", "fewer", remedy)) from error
    if ahead:
        known = [part for part in parts if 2 * part.train.num_rows >= data.num_rows]
        parts = known or parts[-1:]
    shortest = min(len(each) for part in parts for each in part.test)
    if shortest <= warmup:
        given = f"{folds}, of which one holds out {shortest} rows"
        remedy = "Use fewer folds, or none."
        raise DataError(expected("folds", given, f"more rows than the warm-up, {warmup}", remedy))
    usable = [part for part in parts if _is_measured(part, warmup)]
    if not usable:
        given = f"{folds}, none of which has measurements to learn from and after the warm-up"
        raise DataError(expected("folds", given, "one that has", "Use other folds, or none."))
    return [part.refitted() for part in usable]


def _is_measured(part: Dataset, warmup: int) -> bool:
    """Whether all outputs are measured in training, and one in the held-out part."""
    later = (rows for each in part.test for _, rows in blocks(each.y[warmup:]))
    known = np.sum([each.measured for each in part.train], axis=0)
    return bool(np.all(known > 0)) and any((~np.isnan(rows)).any() for rows in later)


def _middle(found: Sequence[np.ndarray | None]) -> np.ndarray:
    """The median over the folds; folds whose fit failed or diverges are ignored."""
    usable = [each for each in found if each is not None and np.isfinite(each).any()]
    if len(usable) < len(found):
        lost = len(found) - len(usable)
        message = f"{lost} of {len(found)} folds could not be fitted and are ignored."
        warnings.warn(message, GpssmWarning, stacklevel=3)
    if not usable:
        remedy = "Use a smaller learning_rate, or fewer folds."
        raise TrainingError(expected("folds", "none that could be fitted", "one", remedy))
    return np.median([np.where(np.isfinite(each), each, -np.inf) for each in usable], axis=0)


def _fold_likelihoods(run: Run, part: Dataset, around: dict[str, Any]) -> np.ndarray | None:
    """Likelihoods of the held-out part for every noise level; None if the fit failed.

    One start each: a fit that has failed asks for more noise than is needed, which is the safe
    side, and the fold in the middle decides.
    """
    training = run.training
    length = min(training.sequence_length, *(len(each) for each in part.train.experiments))
    settings = {name: getattr(training, name) for name in type(training).model_fields}
    settings |= {"sequence_length": length, "stride": min(training.stride, length), "starts": 1}
    try:
        again = fit(run.model, part.train, seed=run.seed, **around, **settings)
    except TrainingError:
        return None
    with jax.enable_x64(True):
        stretches = cut_stretches(part.test, again.normalisation, again.training)
        return np.asarray(likelihoods(again.system, stretches, HELD_OUT_FACTORS))
