"""Units in which squares of very large or very small values neither overflow nor vanish.

Ordinary values keep their units, and every bit of their scores. A unit is a power of two, by which
a division is exact.
"""

import numpy as np
from jaxtyping import Float

_ORDINARY = 330  # powers of two: sizes from about 1e-100 to 1e100
_LOWEST = -1020  # smaller units have no inverse


def ordinary_unit(values: Float[np.ndarray, "*rows outputs"]) -> Float[np.ndarray, " outputs"]:
    """A unit for each output: one, or a power of two near its largest value."""
    rows = values.reshape(-1, values.shape[-1])
    sizes = np.max(np.abs(rows), axis=0, initial=0.0, where=np.isfinite(rows))
    power = np.maximum(np.frexp(sizes)[1] - 1, _LOWEST)
    return np.where((abs(power) <= _ORDINARY) | (sizes == 0.0), 1.0, np.ldexp(1.0, power))


def in_unit(
    values: Float[np.ndarray, "*rows outputs"], unit: Float[np.ndarray, " outputs"]
) -> Float[np.ndarray, "*rows outputs"]:
    """The values in these units; no copy of values that keep theirs."""
    return values if (unit == 1.0).all() else values / unit


def root_mean_square(values: Float[np.ndarray, " _"]) -> float:
    """√(mean of the squares); NaN of no value."""
    if not len(values):
        return float("nan")
    unit = float(ordinary_unit(values[:, None])[0])
    with np.errstate(over="ignore"):  # values may be infinite
        return unit * float(np.sqrt(np.mean(np.square(values / unit))))
