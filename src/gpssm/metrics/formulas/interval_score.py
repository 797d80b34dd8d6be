"""Interval score of the central 95 % interval [l, h]: its width, plus 40 times any miss.

(h − l) + 2/α (l − y)₊ + 2/α (y − h)₊ with α = 0.05: the smaller the better, so that an interval is
rewarded for being narrow and punished for every measurement outside of it.
"""

from gpssm.metrics.metric import LEVEL, Metric, Sample
from gpssm.metrics.mixture import Values, namespace, quantile

_PENALTY = 2.0 / (1.0 - LEVEL)


def interval_score(sample: Sample) -> Values:
    """Interval score of every step and output."""
    xp = namespace(sample.y)
    low = quantile(sample.particles, sample.noise, 0.5 - 0.5 * LEVEL)
    high = quantile(sample.particles, sample.noise, 0.5 + 0.5 * LEVEL)
    outside = xp.maximum(low - sample.y, 0.0) + xp.maximum(sample.y - high, 0.0)
    return high - low + _PENALTY * outside


METRIC = Metric(
    "interval_score",
    "interval score",
    interval_score,
    better="lower",
    unit="data",
    place=5,
    power=1,
)
