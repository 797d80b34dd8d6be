"""What a filter remembers, the noises it works with, and what it tells of every row.

The state of the plant is z = (x, d): d is a disturbance of each output that integrates,

    x[t+1] = f(x[t], u[t]) + noise      d[t+1] = d[t] + w      y[t] = C x[t] + d[t] + v

Everything is in normalised units.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float

from gpssm.inference import System

_UNKNOWN_FOR = 100.0  # steps without an output that d has behind it at the start


class FilterNoise(NamedTuple):
    """Variances: of the process for each state, of sensor and disturbance for each output.

    A disturbance of zero is none: d stays at zero. `function` is a factor of what f and uncertain
    parameters of the dynamics add to a step: drawn again at every step, they make it too wide.
    """

    process: Float[Array, " states"]
    sensor: Float[Array, " outputs"]
    disturbance: Float[Array, " outputs"]
    function: Float[Array, ""] | float = 1.0

    @classmethod
    def of(cls, system: System) -> "FilterNoise":
        """The noises of the model, which forecasts have too, without a disturbance."""
        process, sensor = system.model.transition.noise, system.model.emission.noise
        return cls(process, sensor, jnp.zeros_like(sensor), jnp.ones((), sensor.dtype))

    def cast(self, dtype: DTypeLike) -> "FilterNoise":
        """The same in another precision."""
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), self)

    @property
    def of_a_step(self) -> Float[Array, " rows"]:
        """Variance that a step adds to z, besides that of f."""
        return jnp.concatenate([self.process, self.disturbance])

    def start(self, variance: Float[Array, " states"]) -> Float[Array, " rows"]:
        """Variance of z[1]: that of x[1], and what d gathers in some time, at most 1."""
        gathered = _UNKNOWN_FOR * self.disturbance
        return jnp.concatenate([variance, gathered / (1.0 + gathered)])


class EnsembleState(NamedTuple):
    """Members of equal weight."""

    members: Float[Array, "rows n"]


class ParticleState(NamedTuple):
    """Members and the logarithm of their weights, which sum to one."""

    members: Float[Array, "rows n"]
    log_weights: Float[Array, " n"]


class GaussianState(NamedTuple):
    """Mean and covariance of z."""

    mean: Float[Array, " rows"]
    covariance: Float[Array, "rows rows"]


class Cloud(NamedTuple):
    """Members one step on, before their outputs are seen.

    Each is a draw from a Gaussian with the mean and the variance that are given beside it.
    """

    members: Float[Array, "rows n"]
    means: Float[Array, "rows n"]
    variances: Float[Array, "rows n"]
    log_weights: Float[Array, " n"]


class GaussianPrediction(NamedTuple):
    """Mean and covariance of z one step on, and the derivative of its mean by the z before it."""

    mean: Float[Array, " rows"]
    covariance: Float[Array, "rows rows"]
    slope: Float[Array, "rows rows"]


class OutputForecast(NamedTuple):
    """Mean and covariance of y[t] given the outputs before it, noise of the sensor included."""

    mean: Float[Array, " outputs"]
    covariance: Float[Array, "outputs outputs"]


class Info(NamedTuple):
    """What an output told: `nis` is its squared innovation in units of the forecast covariance.

    Sums run over the outputs that were `used`. The expectation of `nis` is their number.
    """

    forecast: OutputForecast
    innovation: Float[Array, " outputs"]  # zero where an output was not used
    nis: Float[Array, ""]
    log_likelihood: Float[Array, ""]
    used: Bool[Array, " outputs"]


def split(
    z: Float[Array, "rows *n"], outputs: int
) -> tuple[Float[Array, "states *n"], Float[Array, "outputs *n"]]:
    """x and d."""
    return z[:-outputs], z[-outputs:]


def observe(z: Float[Array, "rows *n"], outputs: int) -> Float[Array, "outputs *n"]:
    """C x + d, without noise."""
    return z[:outputs] + z[-outputs:]
