"""Rows of one plant or of many, in blocks of one size: the compiled programs of a belief."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from . import rows
from .factored import Factored
from .registry import FILTERS
from .rows import Carry, Record
from .state import FilterNoise

_WORKING_SET = 20_000  # members of all plants that are side by side at a time
_ROWS = 64  # of one plant in one call; of many plants there is one

_begin = partial(jax.jit, static_argnums=(0, 4))(rows.begin)
_advance = partial(jax.jit, static_argnums=0)(rows.advance)
_advance_plants = partial(jax.jit, static_argnums=(0, 1))(rows.advance_plants)


class Filtering(NamedTuple):
    """A filter in a model, for one plant (None) or many. Call its methods in double precision."""

    kind: str
    factored: Factored
    noise: FilterNoise
    particles: int
    plants: int | None

    def begin(self, seed: int) -> Carry:
        """Before the first row; the same for every plant."""
        key = jax.random.key_data(jax.random.key(seed))
        carry = _begin(self.kind, key, self.factored, self.noise, self.particles)
        if self.plants is None:
            return carry
        plants = self.plants
        repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], plants, axis=0), carry)
        return repeated._replace(key=carry.key, time=carry.time)

    def advance(
        self,
        carry: Carry,
        u: Float[np.ndarray, "*plants time inputs"],
        y: Float[np.ndarray, "*plants time outputs"],
    ) -> tuple[Carry, Record]:
        """All rows: the state after them, and what every row told."""
        block = _ROWS if self.plants is None else 1
        records = []
        for first in range(0, y.shape[-2], block):
            part = [each[..., first : first + block, :] for each in (u, y)]
            count, part = part[1].shape[-2], [_filled(each, block) for each in part]
            carry, record = self._block(carry, part[0], part[1], count)
            records.append(record if count == block else _first_rows(record, count))
        return carry, records[0] if len(records) == 1 else _joined(records, self.plants)

    def moments(self, carry: Carry) -> tuple[Any, Any]:
        """Mean and covariance of z = (x, d)."""
        mean, covariance = self._each(FILTERS[self.kind].moments)(carry.state)
        return np.asarray(mean), np.asarray(covariance)

    def members(self, carry: Carry) -> Float[np.ndarray, "*plants states_and_outputs n"]:
        """Draws of z of equal weight, where the filter has them."""
        return np.asarray(self._each(FILTERS[self.kind].members)(carry.state))

    def blank_record(self, carry: Carry, inputs: int) -> Record:
        """What a row tells, with zeros in it."""
        one = carry
        if self.plants is not None:
            one = jax.tree.map(lambda leaf: leaf[0], carry._replace(key=None, time=None))
            one = one._replace(key=carry.key, time=carry.time)
        dtype = self.factored.mean.dtype
        u, y = np.zeros((1, inputs), dtype), np.zeros((1, len(self.noise.sensor)), dtype)
        arguments = self.factored, self.noise, one, u, y, np.int32(1)
        record = jax.eval_shape(partial(rows.advance, self.kind), *arguments)[1]
        lead = () if self.plants is None else (self.plants,)
        return jax.tree.map(lambda leaf: np.zeros((*lead, *leaf.shape[1:]), leaf.dtype), record)

    def _block(self, carry: Carry, u: np.ndarray, y: np.ndarray, count: int) -> Any:
        arguments = self.factored, self.noise, carry, u, y, np.int32(count)
        if self.plants is None:
            return _advance(self.kind, *arguments)
        at_once = max(1, _WORKING_SET // self.particles)
        return _advance_plants(self.kind, at_once, *arguments)

    def _each(self, function: Any) -> Any:
        return function if self.plants is None else jax.vmap(function)


def last_row(record: Record, plants: int | None) -> Record:
    """What the last row told."""
    place: Any = -1 if plants is None else (slice(None), -1)
    return jax.tree.map(lambda leaf: np.asarray(leaf)[place], record)


def as_one_row(record: Record, plants: int | None) -> Record:
    """The inverse of `last_row`."""
    axis = 0 if plants is None else 1
    return jax.tree.map(lambda leaf: np.expand_dims(np.asarray(leaf), axis), record)


def _filled(values: np.ndarray, block: int) -> np.ndarray:
    """With as many rows as a block has."""
    if values.shape[-2] == block:
        return values
    filled = np.zeros((block, values.shape[-1]), values.dtype)
    filled[: len(values)] = values
    return filled


def _first_rows(record: Record, count: int) -> Record:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], record)


def _joined(records: list[Record], plants: int | None) -> Record:
    axis = 0 if plants is None else 1
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=axis), *records)
