"""What every forecast must beat."""

import numpy as np
from jaxtyping import Float

from .forecast import Forecast


def constant_mean(y_train: Float[np.ndarray, "rows outputs"], steps: int) -> Forecast:
    """The mean of the training outputs, with their standard deviation, for all times."""
    mean, std = np.nanmean(y_train, axis=0), np.nanstd(y_train, axis=0)
    return Forecast(np.tile(mean, (1, steps, 1)), std)
