"""Subsequences for training, all on the device, and batches of them.

The rows of all experiments lie in one array; a window is the row where it starts. A batch is a
pure function of (key, step), so that a training run can stop and resume exactly.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..errors import DataError, expected
from .dataset import Dataset
from .experiment import Experiment
from .normalisation import Normalisation

Step = int | Int[Array, ""]


class Windows(NamedTuple):
    """Normalised rows of all experiments and the rows at which a window starts.

    A missing output is 0 in `y` and False in `mask`.
    """

    u: Float[Array, "rows inputs"]
    y: Float[Array, "rows outputs"]
    mask: Bool[Array, "rows outputs"]
    starts: Int[Array, " windows"]


def make_windows(
    dataset: Dataset, normalisation: Normalisation, length: int, stride: int, dtype: DTypeLike
) -> Windows:
    """Windows of `length` rows, `stride` apart, none across the border of an experiment.

    Where the stride does not fit, an experiment gets one more window at its end: its last
    samples are never dropped.
    """
    _check(dataset, length, stride)
    runs = dataset.experiments
    lengths = [len(each) for each in runs]
    offsets = np.cumsum([0, *lengths[:-1]])
    starts = [o + _starts(n, length, stride) for o, n in zip(offsets, lengths, strict=True)]
    u = np.concatenate([normalisation.u(each.u) for each in runs])
    y = np.concatenate([normalisation.y(each.y) for each in runs])
    mask = ~np.isnan(y)
    with jax.enable_x64(True):  # the dtype asked for, whatever the global flag says
        return Windows(
            u=jnp.asarray(u, dtype),
            y=jnp.asarray(np.where(mask, y, 0.0), dtype),
            mask=jnp.asarray(mask),
            starts=jnp.asarray(np.concatenate(starts), jnp.int32),
        )


def batch(
    windows: Windows, length: int, key: PRNGKeyArray, step: Step, size: int
) -> tuple[
    Float[Array, "{size} {length} inputs"],
    Float[Array, "{size} {length} outputs"],
    Bool[Array, "{size} {length} outputs"],
]:
    """Inputs, outputs and mask of the batch of one step.

    The list of W windows is cut into `size` equal strata and one window is drawn from each: a
    batch spreads over the data, and each window is expected size/W times in each batch. A
    stratum need not hold a whole number of windows: with W·size cells, of which a window owns
    `size` and a stratum W, cell i·W + r belongs to window (i·W + r) // size. With fewer windows
    than `size` some are drawn more than once.
    """
    count = windows.starts.shape[0]
    draw = jax.random.fold_in(key, step)
    cell = jax.random.randint(draw, (size,), 0, count, dtype=jnp.int32)
    chosen = (jnp.arange(size, dtype=jnp.int32) * count + cell) // size
    rows = windows.starts[chosen][:, None] + jnp.arange(length, dtype=jnp.int32)[None, :]
    return windows.u[rows], windows.y[rows], windows.mask[rows]


def _starts(rows: int, length: int, stride: int) -> Int[np.ndarray, " windows"]:
    """Where the windows of one experiment start, the last one flush with its end."""
    last = rows - length
    regular = np.arange(0, last + 1, stride)
    return regular if regular[-1] == last else np.append(regular, last)


def _check(dataset: Dataset, length: int, stride: int) -> None:
    """A window fits into every experiment, and no sample falls between two windows."""
    if length < 1 or not 1 <= stride <= length:
        given = f"length {length}, stride {stride}"
        remedy = "A larger stride would skip samples; to thin the data out, call decimate."
        raise DataError(expected("windows", given, "1 <= stride <= length", remedy))
    shortest: Experiment = min(dataset.experiments, key=len)
    if len(shortest) < length:
        given = f"windows of {length} rows for {shortest.label} of {len(shortest)} rows"
        remedy = f"The largest length that works is {len(shortest)}."
        raise DataError(expected("windows", given, "windows no longer than any one", remedy))
