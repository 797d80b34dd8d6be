"""How good a configuration was: one number for its seeds, one for all data sets."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .settings import Study


def losses(scores: np.ndarray, objective: str) -> np.ndarray:
    """What may be averaged over seeds and data sets, the smaller the better.

    The logarithm of an RMSE: an average of it weighs shares, not sizes.
    """
    return np.log(scores) if objective == "rmse" else -scores


def scores_of(losses: np.ndarray, objective: str) -> np.ndarray:
    """The inverse of `losses`."""
    return np.exp(losses) if objective == "rmse" else -losses


def configuration_losses(
    study: Study, datasets: Sequence[str], table: pd.DataFrame
) -> pd.DataFrame:
    """The loss of each configuration on each data set, averaged over its seeds.

    Infinite where one of them failed, NaN where it was not fitted.
    """
    loss = pd.Series(losses(table[study.objective].to_numpy(float), study.objective), table.index)
    keys = [table["configuration"], table["dataset"]]
    mean = loss.fillna(np.inf).groupby(keys).mean().unstack()
    return mean.reindex(columns=list(datasets))


def overall(loss: pd.DataFrame) -> pd.Series:
    """Of each configuration over all data sets; NaN where one of them is missing."""
    return loss.mean(axis=1, skipna=False)
