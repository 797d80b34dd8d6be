"""Slow drift of an output, estimated jointly with the effect of the inputs, and removed.

A heater that warms up, a sensor that ages: the outputs move slowly though the inputs stay the
same. Every output, in units of its spread, is taken for a sum of Gaussian processes:

    y[t] = Σ g[i] u[t−i] + c + ℓ[t] + e[t]
           g   impulse response that decays:   cov(g[i], g[j]) = γ λ^max(i, j)
           c   constant of a record
           ℓ   half a slope, half a random walk; `size` is its spread after as long as was recorded
           e   noise with a memory:            cov(e[s], e[t]) = α ρ^|s−t| + σ² [s = t]

γ, λ, α, ρ and σ² maximise the likelihood of the outputs; the caller chooses `size`. The mean of ℓ,
given all outputs, is a function of time, and a straight line after the last row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Bool, Float, Int

from gpssm.base.errors import DataError, expected
from gpssm.data.experiment import Experiment

MOST_ROWS = 1000  # that are looked at: a drift is slow, and the work grows with their cube
_MEMORY = (8, 100)  # past inputs, at least and at most; between these a tenth of the longest piece
_WIDE = 100.0  # variance of the constant c
_FAR = 1e9  # samples between rows of two records
# log γ, logit λ, log α, logit ρ, log σ²: where the search begins, and between what it stays. Noise
# forgets within a tenth of the longest piece: what takes longer is a drift.
_START = (-2.0, 1.5, -5.0, 2.0, -5.0)
_LOWEST = (-12.0, -3.0, -16.0, -3.0, -16.0)
_HIGHEST = (6.0, 6.0, 3.0, 6.0, 3.0)


@dataclass(frozen=True, eq=False)
class Drift:
    """The mean of ℓ in one record, in the units of its outputs, as a function of the row."""

    size: float
    origin: int  # the row at which it is zero
    span: float  # rows after which its spread should be `size`
    rows: Int[np.ndarray, " seen"]
    weights: Float[np.ndarray, "seen outputs"]

    def __call__(self, rows: Int[np.ndarray, " time"]) -> Float[np.ndarray, "time outputs"]:
        """The level at these rows of the original record."""
        s, t = ((each - self.origin) / self.span for each in (rows, self.rows))
        return self.size**2 * _wander(s[:, None], t) @ self.weights


class _Seen(NamedTuple):
    """The rows of all pieces whose past inputs are known."""

    piece: Int[np.ndarray, " rows"]
    place: Int[np.ndarray, " rows"]  # in the piece
    record: Int[np.ndarray, " rows"]
    row: Int[np.ndarray, " rows"]  # of the original record
    y: Float[np.ndarray, "rows outputs"]


class _Pairs(NamedTuple):
    """What the covariance of two rows depends on, for all pairs of them."""

    past: Float[np.ndarray, "rows memory inputs"]  # in units of their spread, the newest first
    same: Bool[np.ndarray, "rows rows"]  # record
    apart: Float[np.ndarray, "rows rows"]  # in samples
    level: Float[np.ndarray, "rows rows"]  # covariance of ℓ


def find_drifts(runs: Sequence[Experiment], size: float, names: Sequence[str]) -> dict[str, Drift]:
    """The drift of each record by its name, which all pieces of it have."""
    if not 0.0 < size < np.inf:
        wanted = "a positive number, the spread of the drift in units of that of the output"
        raise DataError(expected("remove_drift", f"size {size}", wanted))
    origins, ends = _extents(runs)
    span = float(max(end - origin for origin, end in zip(origins.values(), ends, strict=True)))
    longest = max(len(run) for run in runs)
    memory = int(np.clip(longest // 10, *_MEMORY))
    seen = _look_at(runs, list(origins), memory)
    time = (seen.row - np.array(list(origins.values()))[seen.record]) / span
    weights = np.zeros_like(seen.y)
    for channel, name in enumerate(names):
        chosen = _usable(seen.y[:, channel], name)
        mine = _Seen(*(each[chosen] for each in seen))
        level = size**2 * _wander(time[chosen][:, None], time[chosen])
        pairs = _pairs(mine, _past(runs, mine, memory), level, runs[0].stride)
        y = _centred(mine.y[:, channel], mine.record)
        spread = np.std(y) or 1.0
        weights[chosen, channel] = spread * _weigh(pairs, y / spread, longest)
    return {
        name: Drift(size, origin, span, seen.row[mine], weights[mine])
        for i, (name, origin) in enumerate(origins.items())
        for mine in [(seen.record == i) & weights.any(axis=1)]
    }


def no_drift(size: float, outputs: int) -> Drift:
    """Zero drift, for a record without training rows."""
    return Drift(size, 0, 1.0, np.zeros(0, dtype=int), np.zeros((0, outputs)))


def _extents(runs: Sequence[Experiment]) -> tuple[dict[str, int], list[int]]:
    """First row by name, and last row, of every record. Its pieces do not overlap."""
    pieces = sorted(runs, key=lambda run: (run.name, run.start))
    origins, ends = {}, []
    for name, group in groupby(pieces, key=lambda run: run.name):
        mine = list(group)
        for before, after in pairwise(mine):
            if after.start <= before.rows[-1]:
                remedy = "Give each experiment a name of its own."
                given = f"two experiments {name!r} with the same rows"
                raise DataError(expected("remove_drift", given, "one drift for each name", remedy))
        origins[name] = mine[0].start
        ends.append(int(mine[-1].rows[-1]))
    return origins, ends


def _look_at(runs: Sequence[Experiment], records: Sequence[str], memory: int) -> _Seen:
    found = []
    for piece, run in enumerate(runs):
        place = np.arange(memory, len(run))
        mine, record = (np.full(len(place), i) for i in (piece, records.index(run.name)))
        found.append(_Seen(mine, place, record, run.rows[memory:], run.y[memory:]))
    return _Seen(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _usable(y: Float[np.ndarray, " rows"], name: str) -> Int[np.ndarray, " chosen"]:
    """Rows in which an output was measured; evenly thinned if there are many."""
    rows = np.flatnonzero(~np.isnan(y))
    if len(rows) < _MEMORY[0]:
        given = f"{len(rows)} measured rows of output {name!r} with enough past inputs"
        raise DataError(expected("remove_drift", given, f"at least {_MEMORY[0]}", "Record more."))
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).round().astype(int)]


def _past(
    runs: Sequence[Experiment], seen: _Seen, memory: int
) -> Float[np.ndarray, "rows memory inputs"]:
    """Inputs of each row and of the rows before it, `memory` in all."""
    u = np.concatenate([run.u for run in runs])
    spread = u.std(axis=0)
    scaled = (u - u.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    begins = np.cumsum([0, *(len(run) for run in runs[:-1])])
    last = begins[seen.piece] + seen.place
    return scaled[last[:, None] - np.arange(memory + 1)]


def _pairs(
    seen: _Seen,
    past: Float[np.ndarray, "rows memory inputs"],
    level: Float[np.ndarray, "rows rows"],
    stride: int,
) -> _Pairs:
    same = seen.record[:, None] == seen.record
    apart = np.where(same, np.abs(seen.row[:, None] - seen.row) / stride, _FAR)
    return _Pairs(past, same, apart, np.where(same, level, 0.0))


def _centred(
    y: Float[np.ndarray, " rows"], record: Int[np.ndarray, " rows"]
) -> Float[np.ndarray, " rows"]:
    """Without the mean of each record."""
    means = np.bincount(record, y) / np.maximum(np.bincount(record), 1)
    return y - means[record]


def _wander(s: Float[np.ndarray, "a #b"], t: Float[np.ndarray, " b"]) -> Float[np.ndarray, "a b"]:
    """Covariance of half a slope and half a random walk, both zero at time zero."""
    return 0.5 * (s * t + 0.5 * (np.abs(s) + np.abs(t) - np.abs(s - t)))


def _weigh(
    pairs: _Pairs, y: Float[np.ndarray, " rows"], longest: int
) -> Float[np.ndarray, " rows"]:
    """K⁻¹ y with the covariance under which y is most likely."""
    highest = np.array(_HIGHEST)
    highest[3] = np.log(max(longest / 10.0 - 1.0, 1.0))  # ρ where 1 / (1 − ρ) is a tenth of it
    with jax.enable_x64(True):
        given = jax.tree.map(jnp.asarray, pairs), jnp.asarray(y)
        found = scipy.optimize.minimize(
            lambda raw: tuple(np.asarray(each) for each in _surprise(jnp.asarray(raw), *given)),
            np.minimum(_START, highest),
            jac=True,
            bounds=list(zip(_LOWEST, highest, strict=True)),
        )
        weights = np.linalg.solve(np.asarray(_covariance(jnp.asarray(found.x), given[0])), y)
    if not np.isfinite(weights).all():
        remedy = "Check the scale of the data."
        raise DataError(expected("remove_drift", "no finite likelihood", "one", remedy))
    return weights


@jax.jit
@jax.value_and_grad
def _surprise(raw: Float[Array, "5"], pairs: _Pairs, y: Float[Array, " rows"]) -> Float[Array, ""]:
    """−log N(y; 0, K) without its constant."""
    L = jnp.linalg.cholesky(_covariance(raw, pairs))
    whitened = jax.scipy.linalg.solve_triangular(L, y, lower=True)
    return 0.5 * whitened @ whitened + jnp.sum(jnp.log(jnp.diag(L)))


def _covariance(raw: Float[Array, "5"], pairs: _Pairs) -> Float[Array, "rows rows"]:
    """K, of all rows with each other."""
    γ, α, σ2 = jnp.exp(raw[0]), jnp.exp(raw[2]), jnp.exp(raw[4])
    λ, ρ = jax.nn.sigmoid(raw[1]), jax.nn.sigmoid(raw[3])
    rows, memory, _ = pairs.past.shape
    age = jnp.arange(memory)
    P = γ * λ ** jnp.maximum(age[:, None], age[None, :])
    weighted = jnp.einsum("aiu,im->amu", pairs.past, P)
    response = weighted.reshape(rows, -1) @ pairs.past.reshape(rows, -1).T
    noise = α * ρ**pairs.apart + σ2 * jnp.eye(rows)
    return response + _WIDE * pairs.same + pairs.level + noise
