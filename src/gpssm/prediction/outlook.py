"""Long forecasts and many scenarios: moments and quantiles instead of particles.

A forecast of 10⁵ steps goes on in pieces, each from where the last one ended. Only moments and
quantiles of a piece are kept, so the memory does not depend on the number of particles, and what is
at work at any time does not depend on the length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.base.errors import DataError, expected
from gpssm.inference import System
from gpssm.inference.rollout import go_on, predict
from gpssm.inference.sequences import Sequences

_WORKING_SET = 2_000_000  # numbers in the states of one piece
_LONGEST_PIECE = 1000  # steps
_BISECTIONS = 30


@dataclass(frozen=True, eq=False)
class Outlook:
    """Moments and quantiles of the outputs, in the units of the data.

    Arrays are [time, outputs], with the scenarios in front where several were given.
    """

    mean: Float[np.ndarray, "*scenarios time outputs"]
    std: Float[np.ndarray, "*scenarios time outputs"]
    quantiles: dict[float, Float[np.ndarray, "*scenarios time outputs"]]

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The central band of this level, where its two quantiles were asked for."""
        tails = round(0.5 - 0.5 * level, 12), round(0.5 + 0.5 * level, 12)
        known = {round(each, 12): values for each, values in self.quantiles.items()}
        if missing := [each for each in tails if each not in known]:
            wanted = f"one whose quantiles were asked for: {sorted(known)}"
            raise DataError(expected("level", f"{level}, that is {missing}", wanted))
        return known[tails[0]], known[tails[1]]


class Piece(eqx.Module):
    """What some steps of all scenarios come to, in normalised units."""

    mean: Float[Array, "time outputs scenarios"]
    variance: Float[Array, "time outputs scenarios"]
    quantiles: Float[Array, "levels time outputs scenarios"]


def check_levels(levels: Any) -> None:
    """Several numbers, strictly between 0 and 1."""
    if np.ndim(levels) != 1:
        remedy = f"levels=({levels},)" if np.ndim(levels) == 0 else ""
        raise DataError(expected("levels", levels, "a sequence of numbers", remedy))
    for level in levels:
        if not 0.0 < level < 1.0:
            raise DataError(expected("levels", level, "numbers between 0 and 1"))


def pieces(
    key: PRNGKeyArray,
    system: System,
    u: Float[Array, "time controls scenarios"],
    warmup: Sequences,
    levels: Sequence[float],
) -> Iterator[Piece]:
    """The warm-up, then piece after piece of open loop to the end of u."""
    steps, seen, n = u.shape[0], warmup.length, u.shape[-1] * system.config.particles
    path = predict(key, system, warmup.u, warmup, seen)
    yield summarise(system, path, u.shape[-1], tuple(levels))
    length = int(np.clip(_WORKING_SET // (n * system.config.dim_x), 1, _LONGEST_PIECE))
    x, at = path[-1], seen - 1  # the row of u that leads to the next state
    del path
    for part, begin in enumerate(range(at, steps - 1, length)):
        rows = u[begin : begin + length + 1]
        ahead = rows.shape[0] - 1
        # One shape for all pieces, so that one program does: the last one is filled up and cut.
        rows = jnp.pad(rows, [(0, length + 1 - rows.shape[0]), (0, 0), (0, 0)])
        path = go_on(key, system, x, rows, jnp.asarray(part))[1:]
        x = path[ahead - 1]
        summary = summarise(system, path, u.shape[-1], tuple(levels))
        yield jax.tree.map(lambda leaf, a=ahead: leaf[..., :a, :, :], summary)


@eqx.filter_jit
def summarise(
    system: System, path: Float[Array, "time states n"], scenarios: int, levels: tuple[float, ...]
) -> Piece:
    """Moments and quantiles of the outputs over the particles of each scenario."""
    noise = system.model.emission.noise.astype(path.dtype)[None, :, None]
    outputs = path[:, : noise.shape[1]]
    outputs = outputs.reshape(*outputs.shape[:2], scenarios, -1)
    mean, variance = jnp.mean(outputs, axis=-1), jnp.var(outputs, axis=-1) + noise
    std = jnp.sqrt(noise)
    found = [_quantile(outputs, std, level) for level in levels]
    return Piece(mean, variance, jnp.stack(found) if found else jnp.zeros((0, *mean.shape)))


def _quantile(
    outputs: Float[Array, "time outputs scenarios particles"],
    std: Float[Array, "1 outputs 1"],
    level: float,
) -> Float[Array, "time outputs scenarios"]:
    """By bisection on the mixture of all particles with the noise of the sensor."""

    def halve(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = 0.5 * (bounds[0] + bounds[1])
        below = jnp.mean(ndtr((middle[..., None] - outputs) / std[..., None]), axis=-1) < level
        return jnp.where(below, middle, bounds[0]), jnp.where(below, bounds[1], middle)

    bounds = jnp.min(outputs, axis=-1) - 10.0 * std, jnp.max(outputs, axis=-1) + 10.0 * std
    low, high = jax.lax.fori_loop(0, _BISECTIONS, halve, bounds)
    return 0.5 * (low + high)
