"""Subsequences for training, and batches of them.

The rows of all experiments are counted through; a window is the row where it starts. Which windows
make a batch is a pure function of (key, step): training resumes exactly, in memory as on disk.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from gpssm.base.errors import DataError, expected

from .dataset import Dataset
from .disk import give_back
from .experiment import Experiment
from .normalisation import Normalisation

Numbers = Array | np.ndarray  # on a device or not yet
Step = int | Int[Array, ""]
_FORGOTTEN = 60  # half-lives


class Rows(NamedTuple):
    """Normalised inputs, outputs and mask of some windows. A missing output is 0 and False."""

    u: Float[Numbers, "*windows time inputs"]
    y: Float[Numbers, "*windows time outputs"]
    mask: Bool[Numbers, "*windows time outputs"]


class Starts:
    """Where windows start, as a formula: with a stride of 1 there are as many as rows."""

    def __init__(self, lengths: Sequence[int], length: int, stride: int) -> None:
        rows = np.asarray(lengths, np.int64)
        self._stride, self._last = stride, rows - length
        self._offsets = np.cumsum(rows) - rows
        self._ends = np.cumsum(-(-self._last // stride) + 1)  # of each experiment, in windows

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """The last window of an experiment is flush with its end."""
        of = np.searchsorted(self._ends, index, side="right")
        before = np.concatenate([[0], self._ends[:-1]])
        return self._offsets[of] + np.minimum((index - before[of]) * self._stride, self._last[of])


class Windows(NamedTuple):
    """`Rows` of all experiments in memory, and the rows at which a window starts."""

    u: Float[np.ndarray, "rows inputs"]
    y: Float[np.ndarray, "rows outputs"]
    mask: Bool[np.ndarray, "rows outputs"]
    starts: Int[np.ndarray, " windows"]

    @property
    def num_rows(self) -> int:
        """Of all experiments."""
        return self.y.shape[0]

    def read(self, first: Int[np.ndarray, "*windows"], length: int) -> Rows:
        """The windows of `length` rows that start at these rows."""
        rows = first[..., None] + np.arange(length).reshape((1,) * first.ndim + (-1,))
        return Rows(self.u[rows], self.y[rows], self.mask[rows])

    def starting_at(self, starts: Starts) -> "Windows":
        """Other windows of the same rows."""
        return self._replace(starts=_listed(starts))


class Spool:
    """The rows of several experiments, counted through, of which some are read at a time."""

    def __init__(self, experiments: Sequence[Experiment]) -> None:
        # Plain arrays over the same maps: slices of them are made much faster.
        self._pairs = [(np.asarray(each.u), np.asarray(each.y)) for each in experiments]
        self._ends = np.cumsum([len(each) for each in experiments])

    @property
    def num_rows(self) -> int:
        """Of all experiments."""
        return int(self._ends[-1])

    def read(
        self, first: Int[np.ndarray, "*windows"], length: int
    ) -> tuple[
        Float[np.ndarray, "*windows {length} inputs"],
        Float[np.ndarray, "*windows {length} outputs"],
    ]:
        """Inputs and outputs of stretches of one length, none across a border."""
        flat = first.ravel()
        dims = [array.shape[1] for array in self._pairs[0]]
        u, y = (np.empty((flat.size, length, dim)) for dim in dims)
        of = np.searchsorted(self._ends, flat, side="right")
        for i, (row, which) in enumerate(zip(flat.tolist(), of.tolist(), strict=True)):
            inputs, outputs = self._pairs[which]
            begin = row - self._ends[which] + len(outputs)
            u[i], y[i] = inputs[begin : begin + length], outputs[begin : begin + length]
        for pair in self._pairs:
            for array in pair:
                give_back(array)
        shape = (*first.shape, length)
        return u.reshape(*shape, dims[0]), y.reshape(*shape, dims[1])


class WindowsOnDisk(NamedTuple):
    """The same for experiments that stay on disk: what is read is normalised on the way."""

    spool: Spool
    normalisation: Normalisation
    dtype: DTypeLike
    starts: Starts

    @property
    def num_rows(self) -> int:
        """Of all experiments."""
        return self.spool.num_rows

    def read(self, first: Int[np.ndarray, "*windows"], length: int) -> Rows:
        """The windows of `length` rows that start at these rows."""
        u, y = self.spool.read(first, length)
        return Rows(*_normalised(u, y, self.normalisation, self.dtype))

    def starting_at(self, starts: Starts) -> "WindowsOnDisk":
        """Other windows of the same rows."""
        return self._replace(starts=starts)


WindowSource = Windows | WindowsOnDisk


class Recency(NamedTuple):
    """Weights of windows: halved for every half-life of age.

    Experiments follow each other in the order of the data set. Windows whose weight is lost in
    rounding are left out, so that of data on disk only the newest are listed.
    """

    cumulative: Float[np.ndarray, " newest"]  # sum of the weights up to each window
    windows: int  # of all ages

    @classmethod
    def of(cls, starts: Starts | Int[np.ndarray, " windows"], half_life: float) -> "Recency":
        """The age of a window is the number of rows from its start to that of the newest one."""
        count, row = len(starts), lambda i: starts[np.array([i])][0]
        newest = row(count - 1)
        first = bisect_left(range(count), newest - _FORGOTTEN * half_life, key=row)
        ages = newest - starts[np.arange(first, count)]
        return cls(np.cumsum(0.5 ** (ages / half_life)), count)

    @property
    def share(self) -> float:
        """Effective share of the data: the mean weight."""
        return float(self.cumulative[-1]) / self.windows

    def choose(self, place: Float[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """The window at this share, in [0, 1), of the sum of all weights."""
        found = np.searchsorted(self.cumulative, place * self.cumulative[-1], side="right")
        newest = len(self.cumulative)
        return self.windows - newest + np.minimum(found, newest - 1)  # a product is rounded up

    def spread(self, count: int) -> Int[np.ndarray, " {count}"]:
        """`count` windows at equal distances of weight; older ones are farther apart."""
        return self.choose((np.arange(count) + 0.5) / count)


def make_starts(dataset: Dataset, length: int, stride: int) -> Starts:
    """Windows of `length` rows, `stride` apart, none across the border of an experiment.

    Where the stride does not fit, one more window at the end holds the last samples.
    """
    if length < 1 or not 1 <= stride <= length:
        given = f"length {length}, stride {stride}"
        remedy = "A larger stride would skip samples; to thin the data out, call decimate."
        raise DataError(expected("windows", given, "1 <= stride <= length", remedy))
    shortest = min(dataset.experiments, key=len)
    if len(shortest) < length:
        given = f"windows of {length} rows for {shortest.label} of {len(shortest)} rows"
        remedy = f"The largest length that works is {len(shortest)}."
        raise DataError(expected("windows", given, "windows no longer than any one", remedy))
    return Starts([len(each) for each in dataset], length, stride)


def make_windows(
    dataset: Dataset, normalisation: Normalisation, length: int, stride: int, dtype: DTypeLike
) -> Windows:
    """The windows of `make_starts` with all their rows in memory."""
    starts = make_starts(dataset, length, stride)
    u, y = (np.concatenate([getattr(each, kind) for each in dataset]) for kind in "uy")
    return Windows(*_normalised(u, y, normalisation, dtype), _listed(starts))


def open_windows(
    dataset: Dataset, normalisation: Normalisation, length: int, stride: int, dtype: DTypeLike
) -> WindowSource:
    """The windows of `make_starts`, with their rows where those of the data set are."""
    if not any(each.is_on_disk for each in dataset):
        return make_windows(dataset, normalisation, length, stride, dtype)
    starts = make_starts(dataset, length, stride)
    return WindowsOnDisk(Spool(dataset.experiments), normalisation, dtype, starts)


def choose_windows(
    key: PRNGKeyArray, step: Step, count: int | Int[Array, ""], size: int
) -> Int[Array, " {size}"]:
    """Which of `count` windows make the batch of one step.

    The list of W windows is cut into `size` equal strata and one window is drawn from each: a
    batch spreads over the data, and each window is expected size/W times in each batch. A
    stratum need not hold a whole number of windows: with W·size cells, of which a window owns
    `size` and a stratum W, cell i·W + r belongs to window (i·W + r) // size. With fewer windows
    than `size` some are drawn more than once.
    """
    cell = jax.random.randint(jax.random.fold_in(key, step), (size,), 0, count, dtype=jnp.int32)
    stratum = jnp.arange(size, dtype=jnp.int32)
    # i·W itself may be too large for its 32 bits: with W = q·size + m it is i·q·size + i·m.
    whole, rest = count // size, count % size
    return stratum * whole + (stratum * rest + cell) // size


def batch(
    windows: Windows, length: int, key: PRNGKeyArray, step: Step, size: int
) -> tuple[
    Float[Array, "{size} {length} inputs"],
    Float[Array, "{size} {length} outputs"],
    Bool[Array, "{size} {length} outputs"],
]:
    """Inputs, outputs and mask of the batch of one step, of rows that are on the device."""
    chosen = choose_windows(key, step, windows.starts.shape[0], size)
    first = jnp.asarray(windows.starts)[chosen]
    rows = first[:, None] + jnp.arange(length)[None, :]
    u, y, mask = (jnp.asarray(each)[rows] for each in windows[:3])
    return u, y, mask


def _normalised(
    u: np.ndarray, y: np.ndarray, normalisation: Normalisation, dtype: DTypeLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, y = np.asarray(normalisation.u(u)), np.asarray(normalisation.y(y))
    mask = ~np.isnan(y)
    return u.astype(dtype), np.where(mask, y, 0.0).astype(dtype), mask


def _listed(starts: Starts) -> Int[np.ndarray, " windows"]:
    return starts[np.arange(len(starts))].astype(np.int32)
