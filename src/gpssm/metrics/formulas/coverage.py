"""Coverage: the share of the measurements inside the central 95 % interval."""

from gpssm.metrics.metric import LEVEL, Metric, Sample
from gpssm.metrics.mixture import Values, probability_below


def is_inside(sample: Sample) -> Values:
    """1 where the probability integral transform of a measurement is in the interval, else 0."""
    below = probability_below(sample.particles, sample.noise, sample.y)
    return 1.0 * (abs(below - 0.5) <= 0.5 * LEVEL)


METRIC = Metric(
    "coverage",
    "95 % covers",
    is_inside,
    better="nominal",
    unit="share",
    place=7,
    power=0,
    digits=".1%",
)
