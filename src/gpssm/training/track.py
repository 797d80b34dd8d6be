"""What the training loop carries along on the host: the state, all that was told, the best."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.inference import System

from .history import History
from .settings import Training
from .step import StepInfo, TrainingState, no_steps, start
from .validation import (
    Best,
    Score,
    Stretches,
    better_of,
    choose_seeds,
    loss_of,
    no_scores,
    nothing_yet,
    score_seeds,
)


class Saved(NamedTuple):
    """What a checkpoint holds: the state, the best parameters, and what every step has told."""

    state: TrainingState
    steps: StepInfo
    scores: Score
    best: Best


@dataclass
class Track:
    """How far training is. Only this changes while the loop runs."""

    state: TrainingState
    best: Best
    infos: list[StepInfo]
    scores: list[Score]
    shown: dict[str, float] = field(default_factory=dict)

    @classmethod
    def begin(cls, systems: Sequence[System], training: Training) -> "Track":
        """Before the first step of all seeds."""
        state = _stack([start(system, training) for system in systems])
        seeds = len(systems)
        best = nothing_yet(state.average, seeds)
        return cls(state, best, [no_steps(seeds)], [no_scores(0, seeds)])

    @classmethod
    def resume(cls, saved: Saved) -> "Track":
        """Where a checkpoint was written."""
        track = cls(saved.state, saved.best, [saved.steps], [saved.scores])
        track._show_score(saved.scores)
        return track

    @property
    def step(self) -> int:
        """Steps that are done."""
        return int(self.state.step[0])

    @property
    def seeds(self) -> int:
        """Number of runs side by side."""
        return int(self.state.step.shape[0])

    def ended(self, training: Training) -> bool:
        """All steps done, no better score for too long, or a seed all of whose starts gave up."""
        tired = training.patience is not None and int(self.best.stale) >= training.patience
        return self.step >= training.steps or tired or bool(self.lost(training.starts).any())

    def lost(self, starts: int) -> np.ndarray:
        """Which runs belong to a seed all of whose starts have given up."""
        return self.failed.reshape(-1, starts).all(axis=1).repeat(starts)

    @property
    def failed(self) -> np.ndarray:
        """Which seeds have given up."""
        return np.asarray(self.state.recovery.failed_at) >= 0

    def advance(self, state: TrainingState, info: StepInfo) -> None:
        """After a chunk of steps."""
        self.state = state
        self.infos.append(info)
        self.scores.append(no_scores(len(info.skipped), self.seeds))
        alive = ~self.failed if not self.failed.all() else np.ones(self.seeds, bool)
        terms = jax.tree.map(lambda leaf: leaf[:, alive], info.elbo)
        self.shown |= {
            "elbo": float(np.mean(terms.total)),
            "fit": float(np.mean(terms.log_likelihood)),
            "kl_x": float(np.mean(terms.state_kl)),
            "kl_u": float(np.mean(terms.inducing_kl + terms.smoother_kl)),
        }

    def validate(self, stretches: Stretches, training: Training) -> None:
        """Score the averages, and remember those that are the best so far."""
        found = score_seeds(self.state.average, stretches)
        loss = loss_of(found, training.validation_metric)
        self.best = better_of(self.best, self.state.average, loss, self.state.step)
        for column, value in zip(self.scores[-1], found, strict=True):
            column[-1] = np.asarray(value)
        self._show_score(self.scores[-1])

    def saved(self) -> Saved:
        """What to write into a checkpoint."""
        self.infos, self.scores = [_concatenate(self.infos)], [_concatenate(self.scores)]
        return Saved(self.state, self.infos[0], self.scores[0], self.best)

    def chosen(self) -> System:
        """The best average of each seed; without validation the last one that can be trusted."""
        recovery = self.state.recovery
        last = choose_seeds(jnp.asarray(self.failed), recovery.good.average, self.state.average)
        return choose_seeds(jnp.isfinite(self.best.loss), self.best.system, last)

    def _show_score(self, scores: Score) -> None:
        known = ~np.isnan(scores.rmse).all(axis=1)
        if known.any():
            self.shown["rmse"] = float(np.nanmean(scores.rmse[known][-1]))


def histories(saved: Saved) -> list[History]:
    """One per seed; columns of scores only where something was validated."""
    seeds = saved.state.step.shape[0]
    validated = not np.isnan(saved.scores.rmse).all() or bool(np.asarray(saved.best.stale) > 0)
    return [
        History.of(seed_of(saved.steps, i), seed_of(saved.scores, i) if validated else None)
        for i in range(seeds)
    ]


def seed_of(columns: Any, seed: int) -> Any:
    """One seed out of arrays [steps, seeds]."""
    return jax.tree.map(lambda leaf: leaf[:, seed], columns)


def _concatenate(parts: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _stack(states: Sequence[TrainingState]) -> TrainingState:
    """Several seeds along a new first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
