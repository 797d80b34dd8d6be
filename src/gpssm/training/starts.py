"""Several starts from one seed, so that a fit that fails is not the one that is kept.

Training looks at short sequences, and from some starts it ends where these are explained and a long
simulation goes wrong. The ELBO hardly tells; a simulation of the same data does.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm.inference import System

from .loop import TrainingResult
from .validation import Score, Stretches, loss_of, score

FAILED = 1.25  # times the lowest error, on rows that all were trained on


def start_keys(seed: int, starts: int) -> list[PRNGKeyArray]:
    """One for each start; the first one is the only one of a single start."""
    key = jax.random.key(seed)
    return [key, *(jax.random.fold_in(key, start) for start in range(1, starts))]


def keep_one(
    results: Sequence[TrainingResult],
    starts: int,
    own: Stretches | None,
    held_out: Stretches | None,
    metric: str,
) -> list[TrainingResult]:
    """Of every `starts` results, which belong to one seed, one.

    The one that forecasts the held-out stretches best. Where none are held out, the first that has
    not failed on its own: the lowest error there would be that of the one that has over-fitted
    most. Where the data are too short for a forecast, the one with the highest ELBO. A start that
    gave up is kept only where all of them did.
    """

    def choose(found: Sequence[TrainingResult]) -> TrainingResult:
        sound = [each for each in found if each.failure is None] or list(found[:1])
        if len(sound) == 1:
            return sound[0]
        if held_out is not None:
            return sound[int(np.argmin(_losses(sound, held_out, metric)))]
        if own is not None:
            return sound[first_to_hold(_losses(sound, own, "rmse"))]
        return max(sound, key=lambda each: each.history.final_elbo)

    return [choose(results[i : i + starts]) for i in range(0, len(results), starts)]


def first_to_hold(errors: Sequence[float]) -> int:
    """The first that is not much worse than the best."""
    return int(np.argmax(np.asarray(errors) <= FAILED * min(errors)))


def open_loop_loss(system: System, stretches: Stretches, metric: str = "rmse") -> float:
    """How bad the forecasts of these stretches are: infinite where they are not finite."""
    loss = float(loss_of(_score(system, stretches), metric))
    return loss if np.isfinite(loss) else np.inf


def _losses(results: Sequence[TrainingResult], stretches: Stretches, metric: str) -> list[float]:
    return [open_loop_loss(each.average, stretches, metric) for each in results]


@eqx.filter_jit
def _score(system: System, stretches: Stretches) -> Score:
    return score(system, stretches)
