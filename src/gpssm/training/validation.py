"""How good the forecasts of unseen data are, while training goes on; and the best so far."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from gpssm.data import Dataset, Normalisation, Rows, open_windows
from gpssm.errors import DataError, expected
from gpssm.inference import Sequences, System
from gpssm.inference.rollout import predict
from gpssm.inference.sequences import from_batch_first, repeat_particles
from gpssm.model import gaussian_log_density

from .settings import Training

LONGEST = 500  # time steps of a scored forecast
_SIGN = {"rmse": 1.0, "log_likelihood": -1.0}  # that makes a loss of a score


class Stretches(NamedTuple):
    """Pieces of the validation data, all of one length, that are forecast from a warm-up."""

    warmup: Sequences
    u: Float[Array, "time controls batch"]
    y: Float[Array, "time outputs batch"]
    scored: Bool[Array, "time outputs batch"]  # measured, and after the warm-up


class Score(NamedTuple):
    """Of the open-loop forecasts of one model, in normalised units and without the warm-up."""

    rmse: Float[Array, ""]
    log_likelihood: Float[Array, ""]


class Best(NamedTuple):
    """The best parameters of each seed, and how long ago any seed has found better ones."""

    system: System
    loss: Float[Array, " seeds"]  # infinite: nothing was scored yet
    step: Int[Array, " seeds"]
    stale: Int[Array, ""]  # validations since then


def no_scores(steps: int, seeds: int) -> Score:
    """Steps after which nothing was validated."""
    blank: Any = np.full((steps, seeds), np.nan)
    return Score(blank, blank.copy())


def cut_stretches(data: Dataset, normalisation: Normalisation, training: Training) -> Stretches:
    """Stretches of equal length that cover every experiment; some overlap a little."""
    shortest, warmup = min(data.experiments, key=len), training.validation_warmup
    if len(shortest) <= warmup:
        given, wanted = f"{shortest.label} of {len(shortest)} rows", f"more than the {warmup}"
        remedy = "These are its `validation_warmup`: shorten it, or give longer experiments."
        raise DataError(expected("validation", given, wanted, remedy))
    length = _length(len(shortest), warmup)
    windows = open_windows(data, normalisation, length, 1, training.dtype)
    starts = _starts([len(each) for each in data.experiments], length)
    stretches = make_stretches(windows.read(starts, length), training)
    if not stretches.scored.any():
        remedy = "Give other validation data."
        raise DataError(expected("validation", "no measurement after the warm-up", "some", remedy))
    return stretches


def _length(rows: int, warmup: int) -> int:
    """As few equal pieces of the shortest experiment as are short enough."""
    return max(-(-rows // -(-rows // LONGEST)), warmup + 1)


def _starts(lengths: list[int], length: int) -> Int[np.ndarray, " stretches"]:
    """Evenly spaced in each experiment, from its first row to its last."""
    offsets = np.cumsum([0, *lengths[:-1]])
    starts = [
        offset + np.linspace(0, rows - length, -(-rows // length)).round().astype(np.int32)
        for offset, rows in zip(offsets, lengths, strict=True)
    ]
    return np.concatenate(starts)


def make_stretches(rows: Rows, training: Training) -> Stretches:
    """Stretches [batch, time, channels] of which all but the warm-up is scored."""
    warmup, length = training.validation_warmup, rows.y.shape[1]
    first = from_batch_first(*(part[:, :warmup] for part in rows))
    u, y, mask = (jnp.transpose(part, (1, 2, 0)) for part in rows)
    return Stretches(first, u, y, mask & (jnp.arange(length) >= warmup)[:, None, None])


@eqx.filter_jit
def score_seeds(systems: System, stretches: Stretches) -> Score:
    """The scores of several seeds, whose parameters are stacked along the first axis."""
    return jax.vmap(lambda system: score(system, stretches))(systems)


def forecast(system: System, stretches: Stretches) -> Float[Array, "time outputs n"]:
    """Particles of the outputs without the noise of the sensor, from the warm-up of each stretch.

    The random numbers are always the same ones.
    """
    warmup = stretches.warmup
    x = predict(jax.random.key(0), system, stretches.u, warmup, warmup.length)
    return system.model.emission.observe(x)


def score(system: System, stretches: Stretches) -> Score:
    """RMSE of the mean and log-likelihood of the mixture, over all that is scored."""
    y, known, particles = stretches.y, stretches.scored, system.config.particles
    seen = forecast(system, stretches)
    mean = jnp.mean(seen.reshape(*y.shape, particles), axis=-1)
    error = jnp.sum(jnp.where(known, jnp.square(mean - y), 0.0)) / jnp.sum(known)
    # log p(y[t]) = log mean over the particles of Π N(y; x, Σy), with all outputs together
    noise = system.model.emission.noise.astype(seen.dtype)[None, :, None]
    density = gaussian_log_density(repeat_particles(y, particles), seen, noise)
    density = jnp.sum(jnp.where(repeat_particles(known, particles), density, 0.0), axis=1)
    density = density.reshape(y.shape[0], y.shape[2], particles)
    mixture = jax.nn.logsumexp(density, axis=-1) - jnp.log(particles)
    counted = jnp.any(known, axis=1)
    return Score(jnp.sqrt(error), jnp.sum(jnp.where(counted, mixture, 0.0)) / jnp.sum(counted))


def loss_of(found: Score, metric: str) -> Float[Array, "*seeds"]:
    """The score that decides, the smaller the better."""
    return _SIGN[metric] * getattr(found, metric)


def nothing_yet(systems: System, seeds: int) -> Best:
    """Before the first validation."""
    worst, never = jnp.full((seeds,), jnp.inf), jnp.full((seeds,), -1, jnp.int32)
    return Best(systems, worst, never, jnp.zeros((), jnp.int32))


@eqx.filter_jit
def better_of(best: Best, systems: System, loss: Float[Array, " seeds"], step: Array) -> Best:
    """For each seed the old parameters or the new ones. A loss that is not a number never wins."""
    better = loss < best.loss
    return Best(
        choose_seeds(better, systems, best.system),
        jnp.where(better, loss, best.loss),
        jnp.where(better, step, best.step),
        jnp.where(jnp.any(better), 0, best.stale + 1),
    )


def choose_seeds(condition: Bool[Array, " seeds"], yes: System, no: System) -> System:
    """For each seed, one of two systems."""

    def choose(a: Array, b: Array) -> Array:
        return jnp.where(condition.reshape((-1,) + (1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(choose, yes, no)
