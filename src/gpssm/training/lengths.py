"""How long training sequences are: as long as forecasts must hold, or as the slowest mode lasts.

Within a shorter sequence a slow drift costs nothing, because x[1] of every sequence is found again.
Sequences grow to their full length, since the first steps learn most from many short ones. The
number of rows in a batch stays the same, so that a step costs about the same.
"""

import numpy as np

from .settings import Stage, Training

SHORTEST, LONGEST = 50, 1000  # steps of a sequence
SHARE = 0.6  # of the shortest record
_FEWEST = 2  # sequences of a batch
_PARTS = (0.5, 0.25)  # of all steps: for the first length, and for one between it and the last


def needed_length(settling: float, shortest: int, horizon: int | None = None) -> int:
    """Steps of a sequence for a plant with this settling time and a shortest record of these rows.

    `horizon` is the length of the forecasts that will be asked for; None: any.
    """
    limits = [settling, SHARE * shortest, LONGEST, np.inf if horizon is None else horizon]
    return min(max(int(min(limits)), SHORTEST), shortest)


def with_growing_sequences(training: Training, length: int) -> Training:
    """The same training with stages of sequences that grow to this length."""
    first = training.sequence_length
    if length <= first:
        return training
    between = round(float(np.sqrt(first * length)))
    begin, middle = (max(int(part * training.steps), 1) for part in _PARTS)
    rows = first * training.batch_size
    stages: tuple[Stage, ...] = (
        Stage(steps=begin, sequence_length=first, batch_size=training.batch_size),
        Stage(steps=middle, sequence_length=between, batch_size=_batch(rows, between)),
    )
    if begin + middle >= training.steps:  # a handful of steps
        stages = ()
    return training.replace(
        stages=stages, sequence_length=length, batch_size=_batch(rows, length), grow=False
    )


def _batch(rows: int, length: int) -> int:
    return max(-(-rows // length), _FEWEST)
