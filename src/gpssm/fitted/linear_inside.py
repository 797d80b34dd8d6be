"""What linear models say before training: the part inside, and how long sequences must be."""

import warnings
from typing import NamedTuple

from gpssm.base.errors import ConfigError, expected
from gpssm.data import Dataset, DataWarning, Normalisation
from gpssm.inference import Model
from gpssm.inference.linear_part import LinearStart, linear_start
from gpssm.linear import LinearModel, arx, forecasting_linear
from gpssm.training import Training
from gpssm.training.lengths import needed_length, with_growing_sequences
from gpssm.training.phase import phase


class LinearInside(NamedTuple):
    """The model with the input delays of its linear part, its start, and the length it asks for."""

    model: Model
    start: LinearStart | None = None
    length: int = 0

    def lengthen(self, training: Training) -> Training:
        """The same training on longer sequences where it may grow them."""
        return with_growing_sequences(training, self.length) if training.grow else training


def linear_inside(
    model: Model,
    data: Dataset,
    normalisation: Normalisation,
    training: Training,
    quiet: bool,
) -> LinearInside:
    """From a linear model of the data, where the settings ask for one.

    The linear part takes seconds to find; where sequences alone grow, an ARX will do. Delays that
    the settings name are kept.
    """
    if not (model.linear_part or training.grow):
        return LinearInside(model)
    shortest = min(len(each) for each in data.experiments)
    with phase("linear model", 1, quiet) as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = _linear_part(model, data) if model.linear_part else arx(data)
        start = linear_start(found, data, normalisation) if model.linear_part else None
        tell()
    if start is not None:
        model = model.replace(input_delays=found.alignment)
    length = needed_length(found.settling_time, shortest, training.horizon)
    return LinearInside(model, start, length)


def _linear_part(model: Model, data: Dataset) -> LinearModel:
    if model.dim_x < data.dim_y:
        wanted = f"at least the number of outputs, {data.dim_y}"
        raise ConfigError(expected("dim_x", model.dim_x, wanted))
    return forecasting_linear(data, orders=(model.dim_x,), input_delays=model.input_delays)
