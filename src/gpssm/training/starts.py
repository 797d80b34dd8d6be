"""Several starts from one seed, of which the one is kept that forecasts best in open loop.

Training looks at short sequences, and from some starts it ends where these are explained and a long
simulation goes wrong. The ELBO hardly tells; a simulation of the same data does.
"""

from collections.abc import Sequence

import equinox as eqx
import numpy as np

from gpssm.inference import System

from .validation import Score, Stretches, loss_of, score


def open_loop_loss(system: System, stretches: Stretches, metric: str = "rmse") -> float:
    """How bad the forecasts of these stretches are: infinite where they are not finite."""
    loss = float(loss_of(_score(system, stretches), metric))
    return loss if np.isfinite(loss) else np.inf


def best_start(systems: Sequence[System], stretches: Stretches, metric: str = "rmse") -> int:
    """Which of them forecasts the stretches best; the first one where none is finite."""
    return int(np.argmin([open_loop_loss(each, stretches, metric) for each in systems]))


@eqx.filter_jit
def _score(system: System, stretches: Stretches) -> Score:
    return score(system, stretches)
