"""Rows of a log, one after the other, in one compiled program whatever their number.

An output that is both far from all training data and far from its forecast is taken for a fault of
the sensor, and not used. If the same output stays there for several rows, the plant has moved: it
is used from then on.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from .factored import Factored
from .registry import FILTERS
from .state import FilterNoise, Info, OutputForecast

FAR = 10.0  # spreads of the training data, from their mean
SURPRISE = 8.0  # standard deviations of the forecast
PATIENCE = 5  # rows that an output may be left out in a row


class Carry(NamedTuple):
    """What is known after some rows: the state of the filter, and sums over the rows.

    `left_out` counts the rows in a row that each output was implausible. The likelihood is that of
    normalised outputs; `used` is how many of each output are in it.
    """

    state: Any
    key: Any  # words of a key, and the number of rows: the same for all plants
    time: Any
    left_out: Int[Array, "*plants outputs"]
    log_likelihood: Float[Array, "*plants"]
    used: Int[Array, "*plants outputs"]


class Record(NamedTuple):
    """What a row told, and mean and covariance of z = (x, d) after it."""

    info: Info
    mean: Float[Array, "*rows states_and_outputs"]
    covariance: Float[Array, "*rows states_and_outputs states_and_outputs"]


def begin(
    kind: str, seed: UInt32[Array, " words"], model: Factored, noise: FilterNoise, n: int
) -> Carry:
    """Before the first row."""
    outputs = len(noise.sensor)
    key = jax.random.fold_in(jax.random.wrap_key_data(seed), 0)
    state = FILTERS[kind].start(key, model, noise, n)
    none = jnp.zeros(outputs, jnp.int32)
    likelihood = jnp.zeros((), jnp.result_type(float))
    return Carry(state, seed, jnp.zeros((), jnp.int32), none, likelihood, none)


def advance(
    kind: str,
    model: Factored,
    noise: FilterNoise,
    carry: Carry,
    u: Float[Array, "rows controls"],
    y: Float[Array, "rows outputs"],
    count: Int[Array, ""],
) -> tuple[Carry, Record]:
    """The first `count` rows; row t of u leads from the row before to row t. NaN is missing."""
    blank = jax.eval_shape(lambda: _row(kind, model, noise, carry, u[0], y[0]))[1]
    empty = jax.tree.map(lambda leaf: jnp.zeros((len(y), *leaf.shape), leaf.dtype), blank)

    def step(t: Array, so_far: tuple[Carry, Record]) -> tuple[Carry, Record]:
        carry, records = so_far
        carry, record = _row(kind, model, noise, carry, u[t], y[t])
        return carry, jax.tree.map(lambda all_, one: all_.at[t].set(one), records, record)

    return jax.lax.fori_loop(0, count, step, (carry, empty))


def advance_plants(
    kind: str,
    at_once: int,
    model: Factored,
    noise: FilterNoise,
    carry: Carry,
    u: Float[Array, "plants rows controls"],
    y: Float[Array, "plants rows outputs"],
    count: Int[Array, ""],
) -> tuple[Carry, Record]:
    """The same for many plants, `at_once` of them side by side. All of them draw the same numbers.

    Key and time have no axis of plants: what is drawn is drawn once, not for each.
    """
    together = {"key": carry.key, "time": carry.time}
    apart = carry._replace(key=None, time=None)

    def one(plant: tuple[Carry, Array, Array]) -> tuple[Carry, Record]:
        mine, u, y = plant
        after, record = advance(kind, model, noise, mine._replace(**together), u, y, count)
        return after._replace(key=None, time=None), record

    after, record = jax.lax.map(one, (apart, u, y), batch_size=min(at_once, len(y)))
    return after._replace(key=carry.key, time=carry.time + count), record


def _row(
    kind: str, model: Factored, noise: FilterNoise, carry: Carry, u: Array, y: Array
) -> tuple[Carry, Record]:
    """One step on, then the outputs; nothing moves before the first row."""
    each = FILTERS[kind]
    key = jax.random.fold_in(jax.random.wrap_key_data(carry.key), carry.time + 1)
    key_step, key_outputs = jax.random.split(key)
    ahead = each.predict(key_step, model, noise, carry.state, u)
    choose = partial(jnp.where, carry.time == 0)
    ahead = jax.tree.map(choose, each.hold(carry.state), ahead)
    known = ~jnp.isnan(y)
    y = jnp.where(known, y, 0.0)
    used, left_out = _plausible(each.forecast(noise, ahead), y, known, carry.left_out)
    state, info = each.update(key_outputs, model, noise, ahead, y, used)
    likelihood = carry.log_likelihood + info.log_likelihood.astype(carry.log_likelihood.dtype)
    total = carry.used + used.astype(carry.used.dtype)
    after = Carry(state, carry.key, carry.time + 1, left_out, likelihood, total)
    return after, Record(info, *each.moments(state))


def _plausible(
    forecast: OutputForecast,
    y: Float[Array, " outputs"],
    known: Bool[Array, " outputs"],
    left_out: Int[Array, " outputs"],
) -> tuple[Bool[Array, " outputs"], Int[Array, " outputs"]]:
    """Which outputs to use, and for how many rows each has been implausible."""
    std = jnp.sqrt(jnp.diagonal(forecast.covariance))
    odd = known & (jnp.abs(y) > FAR) & (jnp.abs(y - forecast.mean) > SURPRISE * std)
    count = jnp.where(odd, left_out + 1, jnp.where(known, 0, left_out))
    return known & ~(odd & (count <= PATIENCE)), count
