"""Which row of an input a model sees: by input, how many steps it takes to act on the outputs.

x[t+1] = f(x[t], u[t+1−delay]): with a delay of 0 the output y[t+1] answers to u[t+1] (direct
feedthrough), with 1 to u[t], and with more to an older one (dead time).
"""

import numpy as np
from jaxtyping import Float

Alignment = tuple[int, ...]  # a delay per input


def aligned(
    u: Float[np.ndarray, "time inputs"], alignment: Alignment
) -> Float[np.ndarray, "time inputs"]:
    """Row t holds u[t+1−delay]; before the record starts, and after its end, the next known row."""
    rows = np.arange(len(u))[:, None] + 1 - np.array(alignment, dtype=int)[None]
    return np.take_along_axis(u, np.clip(rows, 0, len(u) - 1), axis=0)
