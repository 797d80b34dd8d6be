"""Log-likelihood of the mixture: 1/T Σt log p(y[t]), of each output or of all outputs jointly."""

from gpssm.metrics.metric import Metric, Sample
from gpssm.metrics.mixture import Values, log_density


def of_each_output(sample: Sample) -> Values:
    """log p(y) of every output by itself."""
    return log_density(sample.particles, sample.noise, sample.y, sample.known, joint=False)


def of_all_outputs(sample: Sample) -> Values:
    """log p(y) of the outputs that were measured at a time step, together."""
    return log_density(sample.particles, sample.noise, sample.y, sample.known, joint=True)


METRIC = Metric(
    "log_likelihood", "log-likelihood", of_each_output, better="higher", unit="nats", place=6,
    digits=".3f", joint=of_all_outputs,
)  # fmt: skip
