"""Which row of an input a model sees: by input, how many steps it takes to act on the outputs.

x[t+1] = f(x[t], u[t+1−delay]): with a delay of 0 the output y[t+1] answers to u[t+1] (direct
feedthrough), with 1 to u[t], and with more to an older one (dead time).
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import ConfigError, expected

from .dataset import Dataset

Alignment = tuple[int, ...]  # a delay per input


def aligned(
    u: Float[np.ndarray, "*batch time inputs"], alignment: Alignment
) -> Float[np.ndarray, "*batch time inputs"]:
    """Row t holds u[t+1−delay]; before the record starts, and after its end, the next known row."""
    if all(delay == 1 for delay in alignment):
        return u
    time = u.shape[-2]
    rows = np.arange(time)[:, None] + 1 - np.array(alignment)
    rows = np.clip(rows, 0, time - 1).reshape((1,) * (u.ndim - 2) + rows.shape)
    return np.take_along_axis(u, rows, axis=-2)


def align_inputs(data: Dataset, alignment: Alignment | None) -> Dataset:
    """The data with the inputs in the rows in which a model sees them; None: as they are."""
    if alignment is None:
        return data
    if len(alignment) != data.dim_u:
        wanted = f"{data.dim_u}, one for each input"
        raise ConfigError(expected("input_delays", f"{len(alignment)} numbers", wanted))
    if all(delay == 1 for delay in alignment):
        return data
    moved = (replace(run, u=aligned(run.u, alignment)) for run in data.experiments)
    return replace(data, experiments=tuple(moved))
