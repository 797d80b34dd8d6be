"""The linear model that forecasts best: its order, its inputs and its fit by held-out forecasts.

Stretches of the data are held out in turn. Every candidate is fitted to the rest and forecasts
them. Candidates differ in the alignment of the inputs, the number of states, where the fit starts
(N4SID, or an ARX with fewer states), which errors it minimises (of long forecasts, of shorter ones,
or one step ahead), how long it does so, and whether unstable modes are moved to the unit circle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float

from gpssm.data.alignment import Alignment

from .batch import Batch, evaluate, fit
from .forecasting import Parameters, Windows
from .rollout import CUT
from .windows import SHORT, Runs, overlapping, side_by_side, stacked

NEAR = 25  # steps of the first part of a held-out forecast
_NEAR_FACTOR = 3.0  # a candidate may be so much worse than the best one over the first steps
_UNSTABLE, _ONE_STEP = 2.0, 1.5  # what the mean square of such a model counts
SNAPSHOTS = (1, 6, 20, 50)  # evaluations after which a fit is a candidate, besides the last one
EVALUATIONS = 100
LOSSES = ("long", "short", "one step")
_MARGIN = 1.0  # radius beyond which a mode is clipped


class Trial(NamedTuple):
    """What is fitted to every fold: one kind of candidates."""

    alignment: Alignment
    states: int
    start: str
    loss: str


class Kind(NamedTuple):
    """What is reported of a candidate: the inputs it sees, and how it was made."""

    alignment: Alignment
    words: str
    one_step: bool = False


Key = tuple[Alignment, int, str]  # alignment, states and start of a trial
Starts = Mapping[Key, Sequence[Sequence[Parameters]]]  # [fold][start]


@dataclass(frozen=True)
class Material:
    """The windows of all sets: of each alignment the training parts of the folds, then all of the
    data; after them of each alignment the held-out parts."""

    long: Windows
    short: Windows
    alignments: tuple[Alignment, ...]
    folds: int

    @classmethod
    def of(cls, signals: Mapping[Alignment, tuple[Runs, Runs]]) -> "Material":
        """From the runs of all folds: those for training, with all of the data as the last ones,
        and those held out."""
        train = [runs for training, _ in signals.values() for runs in training]
        test = [runs for _, held_out in signals.values() for runs in held_out]
        long = stacked([*map(overlapping, train), *map(side_by_side, test)])
        short = stacked([overlapping(runs, SHORT) for runs in [*train, *test]])
        near = np.where(np.cumsum(short.counted, axis=2) <= NEAR, short.counted, 0.0)
        near[: len(train)] = short.counted[: len(train)]
        with jax.enable_x64(True):
            both = jax.device_put((long, short._replace(counted=near)))
        return cls(both[0], both[1], tuple(signals), len(test) // len(signals))

    def training(self, alignment: Alignment, fold: int) -> int:
        """The number of a set for training."""
        return self.alignments.index(alignment) * (self.folds + 1) + fold

    def held_out(self, alignment: Alignment, fold: int) -> int:
        """The number of a held-out set; 0 stands for none."""
        first = len(self.alignments) * (self.folds + 1)
        kept = fold < self.folds
        return first + self.alignments.index(alignment) * self.folds + fold if kept else 0


@dataclass(frozen=True)
class Candidates:
    """Fitted models [candidate][fold], and errors of held-out forecasts [candidate, fold]."""

    kinds: list[Kind]
    models: list[list[Parameters]]
    far: Float[np.ndarray, "candidates folds"]
    near: Float[np.ndarray, "candidates folds"]

    @property
    def unstable(self) -> Bool[np.ndarray, " candidates"]:
        """Which of them have a mode outside of the unit circle when fitted to all of the data."""
        return np.array([_radius(each[-1].A) > _MARGIN + 1e-9 for each in self.models])


def _radius(A: Float[np.ndarray, "n n"]) -> float:
    return float(np.abs(np.linalg.eigvals(A)).max()) if np.isfinite(A).all() else np.inf


def joined(parts: Sequence[Candidates]) -> Candidates:
    """All of them in one list."""
    return Candidates(
        [kind for each in parts for kind in each.kinds],
        [models for each in parts for models in each.models],
        np.concatenate([each.far for each in parts]),
        np.concatenate([each.near for each in parts]),
    )


def fit_trials(trials: Sequence[Trial], starts: Starts, material: Material) -> Candidates:
    """All candidates of all trials."""
    best = _best_starts(starts, material)
    by_loss = [[trial for trial in trials if trial.loss == loss] for loss in LOSSES]
    return joined([_fit_one_loss(each, best, material) for each in by_loss if each])


def best_of(candidates: Candidates) -> int:
    """The least error, among those that are not far worse than another over the first steps.

    An unstable model must be clearly better than a stable one: a mode that grows harmlessly in one
    stretch ruins the forecast of another one. The same holds for one that was not fitted to
    forecasts, as for unstable plants, since few of its long ones are good.
    """
    far, near = candidates.far.mean(axis=1), candidates.near.mean(axis=1)
    far = far * np.where(candidates.unstable, _UNSTABLE, 1.0)
    far = far * np.where([kind.one_step for kind in candidates.kinds], _ONE_STEP, 1.0)
    return int(np.argmin(np.where(near <= _NEAR_FACTOR**2 * near.min(), far, np.inf)))


def _best_starts(starts: Starts, material: Material) -> dict[Key, list[Parameters]]:
    """Of the starts of one kind the one that forecasts its training data best, fold by fold."""
    keys = [(key, fold) for key, folds in starts.items() for fold in range(len(folds))]
    every = [(key, fold, start) for key, fold in keys for start in starts[key][fold]]
    which = [material.training(key[0], fold) for key, fold, _ in every]
    batch = Batch.of([start for *_, start in every], which, with_gain=False)
    losses = np.nan_to_num(evaluate(batch, material.long, CUT)[0], nan=np.inf)
    found: dict[Key, list[Parameters]] = {}
    for wanted, fold in keys:
        here = [i for i, (key, f, _) in enumerate(every) if (key, f) == (wanted, fold)]
        found.setdefault(wanted, []).append(every[min(here, key=lambda i: losses[i])][2])
    return found


def _fit_one_loss(
    trials: Sequence[Trial],
    best: Mapping[Key, Sequence[Parameters]],
    material: Material,
) -> Candidates:
    """The candidates of trials that have their loss in common."""
    one_step, folds = trials[0].loss == "one step", range(material.folds + 1)
    windows = material.long if trials[0].loss == "long" else material.short
    models = [best[trial[:3]][fold] for trial in trials for fold in folds]
    which = [material.training(trial.alignment, fold) for trial in trials for fold in folds]
    batch = Batch.of(models, which, with_gain=one_step)
    snapshots = fit(batch, windows, EVALUATIONS, SNAPSHOTS)
    test = [material.held_out(trial.alignment, fold) for trial in trials for fold in folds]
    return joined([
        _scored(batch._replace(rows=rows, which=np.array(test)), material, trials, snapshot, clip)
        for snapshot, rows in enumerate(snapshots)
        for clip in (False, True)
    ])  # fmt: skip


def _scored(
    batch: Batch, material: Material, trials: Sequence[Trial], snapshot: int, clip: bool
) -> Candidates:
    """The models of one snapshot with the errors of their forecasts (K is not used)."""
    parameters = batch.models(batch.rows)
    if clip:
        parameters = parameters._replace(A=clipped(parameters.A))
    starts = [Parameters(*matrices) for matrices in zip(*parameters, strict=True)]
    forecasting = Batch.of(starts, batch.which.tolist(), with_gain=False)
    shape = len(trials), material.folds + 1
    far, near = (
        np.nan_to_num(evaluate(forecasting, windows, CUT)[0], nan=CUT**2).reshape(shape)[:, :-1]
        for windows in (material.long, material.short)
    )
    small = [trial.states for trial in trials for _ in range(shape[1])]
    models = [_without_padding(start, n) for start, n in zip(starts, small, strict=True)]
    rows = [models[i : i + shape[1]] for i in range(0, len(models), shape[1])]
    kinds = [
        Kind(trial.alignment, _words(trial, snapshot, clip), trial.loss == "one step")
        for trial in trials
    ]
    return Candidates(kinds, rows, far, near)


def _words(trial: Trial, snapshot: int, clip: bool) -> str:
    fit = f"fitted to {trial.loss} forecasts from" if snapshot else "reduced from"
    words = f"{trial.states} states, {fit} {trial.start}"
    return f"{words}, without unstable modes" if clip else words


def _without_padding(start: Parameters, states: int) -> Parameters:
    A, B, C, d, K = start
    return Parameters(A[:states, :states], B[:states], C[:, :states], d, K[:states])


def clipped(A: Float[np.ndarray, "models n n"]) -> Float[np.ndarray, "models n n"]:
    """The same eigenvectors, with no eigenvalue outside the unit circle."""
    values, vectors = np.linalg.eig(np.where(np.isfinite(A), A, 0.0))
    outside = np.abs(values).max(axis=1) > _MARGIN
    values = values / np.maximum(np.abs(values), _MARGIN)
    changed = A.copy()
    for i in np.flatnonzero(outside):
        if np.linalg.cond(vectors[i]) < 1e8:  # else the modes cannot be told apart
            changed[i] = np.real(vectors[i] * values[i] @ np.linalg.inv(vectors[i]))
    return changed
