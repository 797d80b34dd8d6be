"""Root mean square error of the mean: √(1/T Σt (E y[t] − y[t])²)."""

from gpssm.metrics.metric import Metric, Sample
from gpssm.metrics.mixture import Values


def squared_error(sample: Sample) -> Values:
    """(E y − y)²."""
    return sample.error**2


METRIC = Metric(
    "rmse", "RMSE", squared_error, better="lower", unit="data", place=1, power=2,
    finish=lambda average: average**0.5,
)  # fmt: skip
