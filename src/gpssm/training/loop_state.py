"""State of the training loop on the host: parameters, history, best parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.inference import System
from gpssm.metrics import metrics

from .history import History
from .settings import Training
from .step import StepInfo, TrainingState, no_steps, start
from .validation import (
    Best,
    Scores,
    Stretches,
    better_of,
    choose_seeds,
    no_scores,
    nothing_yet,
    score_seeds,
    validated_metrics,
)


class Saved(NamedTuple):
    """Content of a checkpoint: the state, the best parameters, and the history."""

    state: TrainingState
    steps: StepInfo
    scores: Scores
    best: Best


@dataclass
class Track:
    """Progress of training: the only object that changes while the loop runs."""

    state: TrainingState
    best: Best
    infos: list[StepInfo]
    scores: list[Scores]
    shown: dict[str, float] = field(default_factory=dict)

    @classmethod
    def begin(cls, systems: Sequence[System], training: Training) -> "Track":
        """Before the first step of all seeds."""
        starts, seeds = [start(system, training) for system in systems], len(systems)
        state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
        best = nothing_yet(state.average, seeds)
        scores = no_scores(validated_metrics(training.validation_metric), 0, seeds)
        return cls(state, best, [no_steps(seeds)], [scores])

    @classmethod
    def resume(cls, saved: Saved) -> "Track":
        """Resume from a checkpoint."""
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
        """Whether all steps are done, patience is exhausted, or all starts of a seed failed."""
        tired = training.patience is not None and int(self.best.stale) >= training.patience
        return self.step >= training.steps or tired or bool(self.lost(training.starts).any())

    def lost(self, starts: int) -> np.ndarray:
        """Which runs belong to a seed whose starts have all failed."""
        return self.failed.reshape(-1, starts).all(axis=1).repeat(starts)

    @property
    def failed(self) -> np.ndarray:
        """Which seeds have failed."""
        return np.asarray(self.state.recovery.failed_at) >= 0

    def advance(self, state: TrainingState, info: StepInfo) -> None:
        """After a chunk of steps."""
        self.state = state
        self.infos.append(info)
        self.scores.append(no_scores(tuple(self.scores[0]), len(info.skipped), self.seeds))
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
        metric = training.validation_metric
        found = score_seeds(self.state.average, stretches, validated_metrics(metric))
        loss = metrics()[metric].loss(found[metric])
        self.best = better_of(self.best, self.state.average, loss, self.state.step)
        for name, value in found.items():
            self.scores[-1][name][-1] = np.asarray(value)
        self._show_score(self.scores[-1])

    def saved(self) -> Saved:
        """Content of a checkpoint."""
        self.infos, self.scores = [_concatenate(self.infos)], [_concatenate(self.scores)]
        return Saved(self.state, self.infos[0], self.scores[0], self.best)

    def chosen(self) -> System:
        """The best average of each seed; without validation the last one that can be trusted."""
        recovery = self.state.recovery
        last = choose_seeds(jnp.asarray(self.failed), recovery.good.average, self.state.average)
        return choose_seeds(jnp.isfinite(self.best.loss), self.best.system, last)

    def _show_score(self, scores: Scores) -> None:
        rmse = scores["rmse"]
        known = ~np.isnan(rmse).all(axis=1)
        if known.any():
            self.shown["rmse"] = float(np.nanmean(rmse[known][-1]))


def histories(saved: Saved) -> list[History]:
    """One per seed; columns of scores only where something was validated."""
    seeds = saved.state.step.shape[0]
    validated = not np.isnan(saved.scores["rmse"]).all() or bool(np.asarray(saved.best.stale) > 0)
    return [
        History.of(seed_of(saved.steps, i), seed_of(saved.scores, i) if validated else None)
        for i in range(seeds)
    ]


def seed_of(columns: Any, seed: int) -> Any:
    """One seed out of arrays [steps, seeds]."""
    return jax.tree.map(lambda leaf: leaf[:, seed], columns)


def _concatenate(parts: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
