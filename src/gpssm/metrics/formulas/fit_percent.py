"""Fit in per cent: 100 (1 − ‖y − E y‖ / ‖y − ȳ‖), with the mean ȳ of the measurements.

100 is a perfect forecast, 0 one that is no better than the mean; it can be negative.
"""

from gpssm.metrics.metric import Metric, Sample
from gpssm.metrics.mixture import Values


def squared_share(sample: Sample) -> Values:
    """((E y − y) / √(1/T Σ (y − ȳ)²))²."""
    return (sample.error / sample.variation) ** 2


METRIC = Metric(
    "fit_percent", "fit [%]", squared_share, better="higher", unit="%", place=3, power=0,
    digits=".1f", finish=lambda average: 100.0 * (1.0 - average**0.5),
)  # fmt: skip
