"""Noise levels with which the prediction intervals of open-loop forecasts are calibrated.

Where the posterior hardly conditions on the outputs, the ELBO prefers a process noise that is too
small: more of it would spread the particles without bringing them nearer to the data. After
training a level is therefore added to Σx, and Σy is scaled up, so that long forecasts have the
highest likelihood. Only held-out data may lower Σy: overfitting hides on training data.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.data import Dataset, Normalisation, open_windows
from gpssm.gp.positive import positive
from gpssm.inference import System
from gpssm.model import gaussian_log_density

from .phase import phase
from .phases import make_recency
from .settings import Training
from .validation import Stretches, forecast, make_stretches

LEVELS = np.array([0.0, *10.0 ** np.arange(-7.0, -0.4, 0.5)])  # added to Σx, normalised
FACTORS = 2.0 ** np.arange(0, 6)  # on Σy
HELD_OUT_FACTORS = np.concatenate([FACTORS, 0.5 ** np.arange(1, 5)])  # the first changes nothing
_STRETCHES, _LONGEST = 8, 500
_HALF_LIVES = 2  # the most that a stretch is long where old rows count less
_SHARE = 0.7  # of the shortest experiment, for the length of a stretch


class Calibration(NamedTuple):
    """Increment of Σx, factor of Σy, and the log-likelihood before and after."""

    level: float
    factor: float
    before: float
    after: float


def long_stretches(
    data: Dataset, normalisation: Normalisation, training: Training
) -> Stretches | None:
    """Long stretches of the data that overlap; none if it is too short for a forecast.

    Where old rows count less the stretches are newer and shorter: old noise would widen the bands.
    """
    shortest, least = min(len(each) for each in data.experiments), 2 * training.validation_warmup
    length = min(int(_SHARE * shortest), _LONGEST)
    if length <= least:
        return None
    if training.half_life is not None:
        length = int(min(length, max(_HALF_LIVES * training.half_life, least + 1)))
    windows = open_windows(data, normalisation, length, 1, training.dtype)
    recency = make_recency(windows, training)
    if recency is None:
        chosen = np.linspace(0, len(windows.starts) - 1, _STRETCHES).round().astype(int)
    else:
        chosen = recency.spread(_STRETCHES)
    stretches = make_stretches(windows.read(windows.starts[chosen], length), training)
    return stretches if stretches.scored.any() else None


def calibrate(system: System, stretches: Stretches) -> tuple[System, Calibration]:
    """The system with the noise under which the stretches are most likely."""
    chosen = choose(np.asarray(likelihoods(system, stretches)))
    return with_noise(system, jnp.asarray(chosen.level), jnp.asarray(chosen.factor)), chosen


def calibrate_all(systems: Sequence[System], stretches: Stretches, quiet: bool) -> list[System]:
    """The systems, each with its own noise."""
    found = []
    with phase("calibration", len(systems), quiet) as tell:
        for system in systems:
            found.append(calibrate(system, stretches)[0])
            tell()
    return found


def choose(
    found: Float[np.ndarray, "levels factors"], tried: Float[np.ndarray, " factors"] = FACTORS
) -> Calibration:
    """The most likely of all choices; where none is finite the first, which changes nothing."""
    known = np.where(np.isfinite(found), found, -np.inf)
    i, j = np.unravel_index(np.argmax(known), known.shape)
    return Calibration(float(LEVELS[i]), float(tried[j]), float(known[0, 0]), float(known[i, j]))


@eqx.filter_jit
def likelihoods(
    system: System, stretches: Stretches, tried: Float[Array | np.ndarray, " factors"] = FACTORS
) -> Float[Array, "levels factors"]:
    """Per measurement, of a Gaussian with the moments of the particles and the sensor.

    The mixture itself would ask for a wider sensor the fewer particles there are.
    """
    y, known, particles = stretches.y, stretches.scored, system.config.particles
    factors = jnp.asarray(tried)[:, None, None, None]

    def for_level(level: Array) -> Array:
        seen = forecast(with_noise(system, level, jnp.ones(())), stretches)
        seen = seen.reshape(*y.shape, particles)
        mean, spread = jnp.mean(seen, axis=-1), jnp.var(seen, axis=-1)
        sensor = factors * system.model.emission.noise[None, None, :, None]
        density = gaussian_log_density(y[None], mean[None], spread[None] + sensor)
        total = jnp.sum(jnp.where(known[None], density, 0.0), axis=(1, 2, 3))
        return total / jnp.sum(known)

    return jax.lax.map(for_level, jnp.asarray(LEVELS))  # one after the other: less memory


def with_noise(system: System, level: Array, factor: Array) -> System:
    """The same system with Σx + level and factor · Σy."""
    where = lambda s: (s.model.transition.raw_noise, s.model.emission.raw_noise)  # noqa: E731
    process, output = (positive(raw) for raw in where(system))
    return eqx.tree_at(where, system, (_raw(process + level), _raw(factor * output)))


def _raw(value: Float[Array, " n"]) -> Float[Array, " n"]:
    """The unconstrained parameter of a positive value."""
    return value + jnp.log(-jnp.expm1(-value))
