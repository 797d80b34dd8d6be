"""Honest noise by cross-validation: what forecasts of data that were held out ask for.

The calibration at the end of `fit` sees only the data that it was trained on, which flatter a
model that has over-fitted. Here the same fit is repeated on folds of the data, and the noise is
set so that the stretches that were left out are most likely: more of it, or a smaller Σy.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from .data import Dataset
from .fitting import fit
from .prediction import blocked_folds
from .run import Run
from .training import cut_stretches
from .training.calibration import HELD_OUT_FACTORS, choose, likelihoods, with_noise
from .training.progress import ProgressFactory


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
    """The same runs with noise that suits forecasts of unseen data.

    `data` is what they were trained on. The fit of the first run is repeated once per fold, on
    the rest of the data; all runs get what the fold in the middle asks for. So it costs as much
    as `folds` fits of one seed. With a `half_life` a fold is a future, which only what came before
    it may forecast, and which half of the data or more came before. With a `run_dir` each of these
    fits has a folder in it, and the same call goes on where it was stopped.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    first, shown = several[0], {"quiet": quiet, "progress": progress}
    parts = (
        blocked_folds(data, folds) if first.training.half_life is None else _futures(data, folds)
    )
    folders = [None if run_dir is None else Path(run_dir) / f"fold-{i}" for i in range(len(parts))]
    found = [
        _fold_likelihoods(first, part, {**shown, "run_dir": folder})
        for part, folder in zip(parts, folders, strict=True)
    ]
    chosen = choose(np.median(found, axis=0), HELD_OUT_FACTORS)
    with jax.enable_x64(True):
        noise = jnp.asarray(chosen.level), jnp.asarray(chosen.factor)
        wider = [replace(run, system=with_noise(run.system, *noise)) for run in several]
    return wider[0] if isinstance(runs, Run) else wider


def _futures(data: Dataset, folds: int) -> list[Dataset]:
    """Those that much was known before: a model of little data would ask for too much noise."""
    parts = blocked_folds(data, folds, ahead=True)
    return [part for part in parts if 2 * part.train.num_rows >= data.num_rows] or parts[-1:]


def _fold_likelihoods(run: Run, part: Dataset, around: dict[str, Any]) -> np.ndarray:
    """Of the stretch that is held out, for every choice of the noise."""
    training = run.training
    length = min(training.sequence_length, *(len(each) for each in part.train.experiments))
    settings = {name: getattr(training, name) for name in type(training).model_fields}
    # One start: the fold in the middle decides, so a fit that fails in one of them does no harm.
    settings |= {"sequence_length": length, "stride": min(training.stride, length), "starts": 1}
    again = fit(run.model, part.train, seed=run.seed, **around, **settings)
    with jax.enable_x64(True):
        stretches = cut_stretches(part.test, again.normalisation, again.training)
        return np.asarray(likelihoods(again.system, stretches, HELD_OUT_FACTORS))
