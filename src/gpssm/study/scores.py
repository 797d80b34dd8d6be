"""Scores of a configuration: averages over seeds and data sets."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gpssm.metrics import metrics

from .settings import Study


def losses(scores: np.ndarray, objective: str) -> np.ndarray:
    """Losses that can be averaged over seeds and data sets; smaller is better.

    The logarithm of an error: an average of it weighs shares, not sizes.
    """
    metric = metrics()[objective]
    return np.log(scores) if metric.is_ratio else metric.loss(scores)


def scores_of(losses: np.ndarray, objective: str) -> np.ndarray:
    """The inverse of `losses`."""
    metric = metrics()[objective]
    return np.exp(losses) if metric.is_ratio else metric.loss(losses)  # its own inverse


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
    """Loss of each configuration over all data sets; NaN where one is missing."""
    return loss.mean(axis=1, skipna=False)
