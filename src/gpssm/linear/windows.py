"""Training data as the linear model sees it: aligned, normalised, cut into windows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.data import Dataset, Experiment, Normalisation
from gpssm.data.alignment import Alignment, aligned

from .forecasting import WARMUP, Windows
from .model import with_one

SHARE, LONGEST, SHORT = 0.6, 1000, 150  # of a record, and steps of long and of short ones
_APART = 0.5  # of a window: how far apart windows start
_STEPS = 8_000  # of all windows together: longer data is thinned out


class Signal(NamedTuple):
    """One run in normalised units: (u, 1) as the model sees it, y with gaps, y with lines."""

    u: Float[np.ndarray, "time inputs_and_one"]
    y: Float[np.ndarray, "time outputs"]
    whole: Float[np.ndarray, "time outputs"]


Runs = list[list[Signal]]  # of several data sets


def signals_of(data: Dataset, normalisation: Normalisation, alignment: Alignment) -> list[Signal]:
    """All runs of a data set."""
    return [_signal(run, normalisation, alignment) for run in data]


def _signal(run: Experiment, normalisation: Normalisation, alignment: Alignment) -> Signal:
    u = with_one(aligned(np.asarray(normalisation.u(run.u)), alignment))
    y = np.asarray(normalisation.y(run.y))
    return Signal(u, y, bridged(y))


def bridged(y: Float[np.ndarray, "time outputs"]) -> Float[np.ndarray, "time outputs"]:
    """Straight lines through the gaps; zero where nothing was measured."""
    rows, whole = np.arange(len(y)), np.zeros_like(y)
    for column, known in zip(range(y.shape[1]), ~np.isnan(y).T, strict=True):
        if known.any():
            whole[:, column] = np.interp(rows, rows[known], y[known, column])
    return whole


def overlapping(runs: Sequence[Signal], longest: int = LONGEST) -> list[Signal]:
    """Windows of up to 60 % of a run, and of so many steps."""
    return _thinned([piece for run in runs for piece in _pieces(run, longest)])


def side_by_side(runs: Sequence[Signal], longest: int = LONGEST) -> list[Signal]:
    """Runs cut into windows of so many steps that do not overlap."""
    counts = [-(-len(run.y) // longest) for run in runs]
    edges = [np.linspace(0, len(r.y), n + 1).astype(int) for r, n in zip(runs, counts, strict=True)]
    return [
        Signal(*(a[first:last] for a in run))
        for run, borders in zip(runs, edges, strict=True)
        for first, last in pairwise(borders)
    ]


def first_part(piece: Signal, steps: int) -> Signal:
    """Its warm-up and so many steps after that."""
    end = min(WARMUP, len(piece.y) // 2) + steps
    return Signal(*(a[:end] for a in piece))


def _pieces(run: Signal, longest: int) -> list[Signal]:
    length = min(max(int(SHARE * len(run.y)), min(len(run.y), 2 * WARMUP)), longest)
    count = 1 + round((len(run.y) - length) / (_APART * length))
    starts = np.linspace(0, len(run.y) - length, count).astype(int)
    return [Signal(*(a[start : start + length] for a in run)) for start in starts]


def _thinned(pieces: list[Signal]) -> list[Signal]:
    """Fewer of them, evenly, where there are too many steps."""
    room = max(_STEPS // max(len(piece.y) for piece in pieces), 1)
    kept = np.linspace(0, len(pieces) - 1, min(room, len(pieces))).round().astype(int)
    return [pieces[i] for i in kept]


def stacked(sets: Sequence[Sequence[Signal]]) -> Windows:
    """Arrays of one shape, filled up with what has no weight; times are whole chunks."""
    windows = max(len(pieces) for pieces in sets)
    time = max(len(piece.y) for pieces in sets for piece in pieces)
    time = -(-time // WARMUP) * WARMUP
    (_, inputs), (_, outputs) = sets[0][0].u.shape, sets[0][0].y.shape
    shape = len(sets), windows, time
    signal, y = np.zeros((*shape, inputs + outputs)), np.zeros((*shape, outputs))
    known = np.zeros((*shape, outputs))
    for i, pieces in enumerate(sets):
        for j, piece in enumerate(pieces):
            rows = i, j, slice(len(piece.y))
            signal[rows], y[rows] = np.concatenate([piece.u, piece.whole], axis=1), piece.whole
            known[rows] = _weights(piece)
    seen = np.maximum(-known[:, :, :WARMUP], 0.0)
    return Windows(signal, y, seen, np.maximum(known, 0.0))


def _weights(piece: Signal) -> Float[np.ndarray, "time outputs"]:
    """−1 for a measurement of the warm-up, 1 for one after it, 0 for a gap."""
    warmup = min(WARMUP, len(piece.y) // 2)
    after = np.arange(len(piece.y)) >= warmup
    return np.where(np.isnan(piece.y), 0.0, np.where(after, 1.0, -1.0)[:, None])
