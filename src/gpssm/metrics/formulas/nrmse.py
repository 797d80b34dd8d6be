"""Normalised RMSE: the RMSE in units of the output's standard deviation in training."""

from gpssm.metrics.metric import Metric, Sample
from gpssm.metrics.mixture import Values


def squared_share(sample: Sample) -> Values:
    """((E y − y) / spread)²."""
    return (sample.error / sample.spread) ** 2


METRIC = Metric(
    "nrmse", "normalised RMSE", squared_share, better="lower", unit="spread", place=2, power=0,
    finish=lambda average: average**0.5,
)  # fmt: skip
