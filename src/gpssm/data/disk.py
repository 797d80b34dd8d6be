"""Arrays that stay on disk: read in blocks, or window by window, and never all at once.

They are memory maps (`numpy.memmap`, opened for reading). A map counts every page that was touched
as memory of the process, though the system can take such pages back at any time; so they are given
back after every block.
"""

import mmap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

if TYPE_CHECKING:
    from .experiment import Experiment

BLOCK = 1 << 16  # rows that are looked at together


def stays_on_disk(values: object) -> bool:
    """A map of floating-point numbers that nobody can write to through it; all else is copied."""
    return isinstance(values, np.memmap) and values.dtype.kind == "f" and not values.flags.writeable


def is_on_disk(experiments: "Sequence[Experiment]") -> bool:
    """Whether the rows of any experiment are on disk."""
    return any(stays_on_disk(array) for each in experiments for array in (each.u, each.y))


def blocks(values: Float[np.ndarray, "rows _"]) -> Iterator[tuple[int, np.ndarray]]:
    """(First row, rows) of one block after the other: what is in memory is a single one."""
    if not stays_on_disk(values):
        yield 0, values
        return
    for first in range(0, len(values), BLOCK):
        yield first, np.asarray(values[first : first + BLOCK], np.float64)
        give_back(values)


def give_back(values: np.ndarray) -> None:
    """Tell the system that the pages of a map are not needed now."""
    root: object = values
    while isinstance(root, np.ndarray):
        root = root.base
    if isinstance(root, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not everywhere
        root.madvise(mmap.MADV_DONTNEED)


class Spool:
    """The rows of several experiments, counted through, of which some are read at a time."""

    def __init__(self, experiments: "Sequence[Experiment]") -> None:
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
            begin = row - int(self._ends[which]) + len(outputs)
            u[i], y[i] = inputs[begin : begin + length], outputs[begin : begin + length]
        for pair in self._pairs:
            for array in pair:
                give_back(array)
        shape = (*first.shape, length)
        return u.reshape(*shape, dims[0]), y.reshape(*shape, dims[1])
