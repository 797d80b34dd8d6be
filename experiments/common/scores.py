"""Small parts of scores that the records of all experiments share."""

import numpy as np

LEVELS = (0.5, 0.9, 0.95)  # of prediction intervals


def number(value: float) -> float | None:
    """JSON has no infinity: a score that is not finite becomes None."""
    return value if np.isfinite(value) else None
