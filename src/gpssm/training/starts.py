"""Random restarts: train each seed several times and keep one that has not failed.

Training looks at short sequences. Some starts explain these but not a long simulation, which the
ELBO hardly tells; a simulation of the same data does.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm.inference import System
from gpssm.metrics import metrics

from .loop import TrainingResult
from .validation import Stretches, score

FAILED = 1.25  # times the lowest error, on rows that all were trained on
_score = eqx.filter_jit(score)


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
    """Keep one of every `starts` results, which belong to one seed.

    It is the one that forecasts the held-out stretches best. Where none are held out, it is the
    first that has not failed on its own: the lowest error there may mean overfitting. Where the
    data are too short for a forecast, the highest ELBO decides. A start that failed is kept only
    where all of them did.
    """

    def choose(found: Sequence[TrainingResult]) -> TrainingResult:
        finished = [each for each in found if each.failure is None] or list(found[:1])
        if len(finished) == 1:
            return finished[0]
        if held_out is not None:
            return finished[int(np.argmin(_losses(finished, held_out, metric)))]
        if own is not None:
            return finished[first_to_hold(_losses(finished, own, "rmse"))]
        return max(finished, key=lambda each: each.history.final_elbo)

    return [choose(results[i : i + starts]) for i in range(0, len(results), starts)]


def first_to_hold(errors: Sequence[float]) -> int:
    """The first that is not much worse than the best."""
    return int(np.argmax(np.asarray(errors) <= FAILED * min(errors)))


def open_loop_loss(system: System, stretches: Stretches, metric: str = "rmse") -> float:
    """Open-loop error on these stretches; infinite if a forecast is not finite."""
    found = _score(system, stretches, (metric,))
    loss = float(metrics()[metric].loss(found[metric]))
    return loss if np.isfinite(loss) else np.inf


def _losses(results: Sequence[TrainingResult], stretches: Stretches, metric: str) -> list[float]:
    return [open_loop_loss(each.average, stretches, metric) for each in results]
