"""The batches of the steps to come, gathered by a thread while the devices compute.

Which windows they hold is drawn from (key, step) for data in memory and for data on disk alike.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, Key, PRNGKeyArray

from gpssm.data import Recency, Rows, WindowSource, choose_windows

from .devices import place_batches

CHUNK = 25  # gradient steps per dispatch: enough to hide its cost, few enough for a lively bar


class Chunk(NamedTuple):
    """Which rows the steps of a chunk need, and where."""

    windows: WindowSource
    batch_size: int
    length: int
    mesh: Mesh
    recency: Recency | None = None


class Reader:
    """Delivers the batches [runs, CHUNK, batch, time, channels] of one chunk after the other."""

    def __init__(self, keys: Key[Array, " runs"], chunk_at: Callable[[int], Chunk]) -> None:
        self._keys, self._chunk_at = keys, chunk_at
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gpssm-batches")
        self._ahead: tuple[int, Future[Rows]] | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def expect(self, step: int) -> None:
        """Begin to gather the chunk that begins with this step, which will be taken next."""
        self._ahead = step, self._gathered(step)

    def take(self, step: int) -> Rows:
        """The batches of the chunk that begins with this step, as soon as they are there."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or ahead[0] != step:
            ahead = step, self._gathered(step)
        return ahead[1].result()

    def _gathered(self, step: int) -> "Future[Rows]":
        chunk = self._chunk_at(step)
        # Drawn here and not in the thread: there it would wait for the devices to be free.
        first = first_rows(self._keys, step, chunk)
        return self._thread.submit(gather, first, chunk)


def first_rows(
    keys: Key[Array, " runs"], step: int, chunk: Chunk
) -> Int[np.ndarray, "runs steps batch"]:
    """Where the windows of all steps of a chunk start."""
    now, size = jnp.asarray(step, jnp.int32), chunk.batch_size
    if chunk.recency is None:
        count = jnp.asarray(len(chunk.windows.starts), jnp.int32)
        chosen = np.asarray(_choose(keys, now, count, size))
    else:
        # One place in each of `size` equal parts of [0, 1): a batch spreads over the data.
        inside = np.asarray(_uniform(keys, now, size), np.float64)
        chosen = chunk.recency.choose((np.arange(size) + inside) / size)
    return chunk.windows.starts[chosen]


def gather(first: Int[np.ndarray, "runs steps batch"], chunk: Chunk) -> Rows:
    """The rows of the windows that start there, on the devices that need them."""

    def read(share: tuple[slice, ...]) -> Rows:
        return chunk.windows.read(first[share], chunk.length)

    return place_batches(read, first.shape, chunk.mesh)


def batch_key(key: PRNGKeyArray) -> PRNGKeyArray:
    """The key of a run that draws its batches; its other key draws noise."""
    return jax.random.split(key)[0]


@jax.jit(static_argnums=3)
def _choose(keys: Array, step: Array, count: Array, size: int) -> Array:
    return _of_all_steps(lambda key, step: choose_windows(key, step, count, size), keys, step)


@jax.jit(static_argnums=2)
def _uniform(keys: Array, step: Array, size: int) -> Array:
    draw = lambda key: jax.random.uniform(key, (size,), jnp.float32)  # noqa: E731
    return _of_all_steps(lambda key, step: draw(jax.random.fold_in(key, step)), keys, step)


def _of_all_steps(one: Callable[[PRNGKeyArray, Array], Array], keys: Array, step: Array) -> Array:
    """[runs, CHUNK, …] from the key that draws batches, and the step."""
    steps = step + jnp.arange(CHUNK, dtype=jnp.int32)
    of_run = lambda key: jax.vmap(lambda step: one(batch_key(key), step))(steps)  # noqa: E731
    return jax.vmap(of_run)(keys)
