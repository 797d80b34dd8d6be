"""Arrays that stay on disk: memory maps (`numpy.memmap`, opened for reading), read in blocks.

A map counts every page that was touched as memory of the process, though the system can take such
pages back at any time; so they are given back after every block.
"""

import mmap
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

BLOCK = 1 << 16  # rows that are looked at together


def stays_on_disk(values: object) -> bool:
    """Whether an array is a read-only memory map of floats; all others are copied."""
    return isinstance(values, np.memmap) and values.dtype.kind == "f" and not values.flags.writeable


def blocks(values: Float[np.ndarray, "rows _"]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (first row, rows), one block in memory at a time."""
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
