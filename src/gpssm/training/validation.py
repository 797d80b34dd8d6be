"""Validation during training: scores on held-out data, and the best parameters."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from gpssm.base.errors import DataError, expected
from gpssm.data import Dataset, Normalisation, Rows, open_windows
from gpssm.inference import Sequences, System
from gpssm.inference.rollout import predict
from gpssm.inference.sequences import from_batch_first
from gpssm.metrics import Sample, metrics
from gpssm.metrics.scores import variation

from .settings import Training

LONGEST = 500  # time steps of a scored forecast
_ALWAYS = ("rmse", "log_likelihood")  # always reported

# Metrics of the open-loop forecasts by name, in normalised units and without the warm-up.
Scores = dict[str, Any]  # arrays of JAX or of NumPy, with an axis of seeds where there are several


class Stretches(NamedTuple):
    """Pieces of the validation data, all of one length, that are forecast from a warm-up."""

    warmup: Sequences
    u: Float[Array, "time controls batch"]
    y: Float[Array, "time outputs batch"]
    scored: Bool[Array, "time outputs batch"]  # measured, and after the warm-up


class Best(NamedTuple):
    """The best parameters of each seed, and how long ago any seed has found better ones."""

    system: System
    loss: Float[Array, " seeds"]  # infinite: nothing was scored yet
    step: Int[Array, " seeds"]
    stale: Int[Array, ""]  # validations since then


def validated_metrics(deciding: str) -> tuple[str, ...]:
    """Names of the reported metrics: RMSE, log-likelihood, and the selecting one."""
    return tuple(dict.fromkeys((*_ALWAYS, deciding)))


def no_scores(names: Sequence[str], steps: int, seeds: int) -> Scores:
    """Steps after which nothing was validated."""
    return {name: np.full((steps, seeds), np.nan) for name in names}


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
    """Length of the fewest equal pieces of the shortest experiment that are short enough."""
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
def score_seeds(systems: System, stretches: Stretches, names: tuple[str, ...]) -> Scores:
    """The scores of several seeds, whose parameters are stacked along the first axis."""
    return jax.vmap(lambda system: score(system, stretches, names))(systems)


def forecast(system: System, stretches: Stretches) -> Float[Array, "time outputs n"]:
    """Particles of the outputs without the noise of the sensor, from the warm-up of each stretch.

    The random numbers are always the same ones.
    """
    warmup = stretches.warmup
    x = predict(jax.random.key(0), system, stretches.u, warmup, warmup.length)
    return system.model.emission.observe(x)


def score(system: System, stretches: Stretches, names: tuple[str, ...]) -> Scores:
    """The metrics of these names, pooled over all outputs and all that is scored."""
    sample = _make_sample(system, stretches)
    table = metrics()
    parts = {name: (table[name].joint or table[name].formula)(sample) for name in names}
    return {name: table[name].pooled(part, sample.known) for name, part in parts.items()}


def _make_sample(system: System, stretches: Stretches) -> Sample:
    """The forecasts of all stretches, one after the other."""
    y, known = (_in_a_row(each[..., None])[0] for each in (stretches.y, stretches.scored))
    seen = forecast(system, stretches).reshape(*stretches.y.shape, system.config.particles)
    noise = jnp.sqrt(system.model.emission.noise.astype(seen.dtype))[None]
    return Sample(_in_a_row(seen), noise, y, known, jnp.ones_like(noise), variation(y, known))


def _in_a_row(values: Array) -> Array:
    """[time, outputs, batch, particles] as [particles, time · batch, outputs]."""
    time, outputs, batch, particles = values.shape
    return jnp.transpose(values, (3, 0, 2, 1)).reshape(particles, time * batch, outputs)


def nothing_yet(systems: System, seeds: int) -> Best:
    """Before the first validation."""
    worst, never = jnp.full((seeds,), jnp.inf), jnp.full((seeds,), -1, jnp.int32)
    return Best(systems, worst, never, jnp.zeros((), jnp.int32))


@eqx.filter_jit
def better_of(best: Best, systems: System, loss: Float[Array, " seeds"], step: Array) -> Best:
    """Keep the better parameters of each seed; a loss that is NaN never wins."""
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
