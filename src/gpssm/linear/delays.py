"""The alignment of the inputs by hold-out: which rows of them a linear model should see.

N4SID of a few orders is fitted to the training part of every fold and forecasts the held-out part.
All inputs at once see u[t] or u[t+1]; then each of them may see an older row, one input after the
other. A dead time saves the states that would have to hold the input back.
"""

from collections.abc import Sequence

import numpy as np

from gpssm.data import Dataset, Normalisation
from gpssm.data.alignment import Alignment

from .rollout import mean_square
from .starts import subspace_starts
from .windows import side_by_side, signals_of

_DELAYS = (0, 1, 2, 3, 4, 6, 8, 12, 16)
_TRIALS = 20  # of all inputs together: with many inputs only short delays are tried
_ORDERS, _HORIZONS = 3, (10,)  # how many of the orders
_GAIN = 0.9  # an older row must leave less than this share of the mean square


def likely_alignments(
    parts: Sequence[Dataset], normalisation: Normalisation, inputs: int, orders: Sequence[int]
) -> tuple[Alignment, ...]:
    """u[t] and u[t+1] for all inputs, and the best alignment where that is another one.

    A large order has room for a dead time among its states, and needs no older row.
    """
    few = orders[:: -(-len(orders) // _ORDERS)]
    if not inputs:
        return ((),)
    known: dict[Alignment, float] = {}

    def error(alignment: Alignment) -> float:
        if alignment not in known:
            known[alignment] = _held_out_error(parts, normalisation, alignment, few)
        return known[alignment]

    simple = (1,) * inputs, (0,) * inputs
    best, delays = min(simple, key=error), _DELAYS[: max(_TRIALS // inputs, 3)]
    for place in range(inputs):
        others = [(*best[:place], delay, *best[place + 1 :]) for delay in delays]
        found = min(others, key=error)
        best = found if error(found) < _GAIN * error(best) else best
    return tuple(dict.fromkeys((*simple, best)))


def _held_out_error(
    parts: Sequence[Dataset],
    normalisation: Normalisation,
    alignment: Alignment,
    orders: Sequence[int],
) -> float:
    """The mean square of the best order, averaged over the folds."""
    errors = []
    for part in parts:
        training, test = (signals_of(d, normalisation, alignment) for d in (part.train, part.test))
        starts = subspace_starts(training, orders, _HORIZONS, ridges=(1e-6,))
        pieces = side_by_side(test)
        errors.append(
            [min((mean_square(s, pieces) for s in starts[n]), default=np.inf) for n in orders]
        )
    return float(np.min(np.mean(errors, axis=0)))
