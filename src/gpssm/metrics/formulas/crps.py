"""Continuous ranked probability score: ∫ (P(Y < x) − [y < x])² dx = E|Y − y| − ½ E|Y − Y'|.

The mean absolute error of a whole distribution, in the units of the data. Both expectations of a
mixture of Gaussians are sums of E|N(m, s²)| = m (2 Φ(m/s) − 1) + 2 s φ(m/s).
"""

import math

from gpssm.metrics.metric import Metric, Sample
from gpssm.metrics.mixture import Values, namespace, normal_cdf


def crps(sample: Sample) -> Values:
    """Exact for the mixture, particle by particle and pair by pair."""
    particles, noise = sample.particles, sample.noise[None]
    xp, count = namespace(particles), len(particles)
    distance = xp.mean(_mean_size(particles - sample.y[None], noise), axis=0)
    # All pairs (s, s + shift); a shift and its opposite are the same pairs. Shift 0: E|Y − Y'| of
    # two draws from one component.
    pairs = _mean_size(xp.zeros_like(sample.y), math.sqrt(2.0) * sample.noise)
    for shift in range(1, count // 2 + 1):
        apart = particles - xp.roll(particles, shift, axis=0)
        weight = 1.0 if 2 * shift == count else 2.0
        pairs = pairs + weight * xp.mean(_mean_size(apart, math.sqrt(2.0) * noise), axis=0)
    return distance - 0.5 * pairs / count


def _mean_size(mean: Values, std: Values) -> Values:
    """E|X| of X ~ N(mean, std²)."""
    ratio = mean / std
    density = namespace(ratio).exp(-0.5 * ratio**2) / math.sqrt(2.0 * math.pi)
    return mean * (2.0 * normal_cdf(ratio) - 1.0) + 2.0 * std * density


METRIC = Metric("crps", "CRPS", crps, better="lower", unit="data", place=4, power=1)
