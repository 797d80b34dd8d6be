"""The batches of the steps to come, gathered by a thread while the devices compute.

Which windows they hold is drawn from (key, step) for data in memory and for data on disk alike.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, Key, PRNGKeyArray

from gpssm.data import Rows, WindowSource, choose_windows

from .devices import place_batches

CHUNK = 25  # gradient steps per dispatch: enough to hide its cost, few enough for a lively bar


class Chunk(NamedTuple):
    """Which rows the steps of a chunk need, and where."""

    windows: WindowSource
    batch_size: int
    length: int
    mesh: Mesh


class Reader:
    """Delivers the batches [runs, CHUNK, batch, time, channels] of one chunk after the other."""

    def __init__(self, keys: Key[Array, " runs"], chunk_at: Callable[[int], Chunk]) -> None:
        self._keys, self._chunk_at = keys, chunk_at
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gpssm-batches")
        self._ahead: tuple[int, Future[Rows]] | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        del kind, error, traceback
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
    count = jnp.asarray(len(chunk.windows.starts), jnp.int32)
    chosen = _choose(keys, jnp.asarray(step, jnp.int32), count, chunk.batch_size)
    return chunk.windows.starts[np.asarray(chosen)]


def gather(first: Int[np.ndarray, "runs steps batch"], chunk: Chunk) -> Rows:
    """The rows of the windows that start there, on the devices that need them."""

    def read(share: tuple[slice, ...]) -> Rows:
        return chunk.windows.read(first[share], chunk.length)

    return place_batches(read, first.shape, chunk.mesh)


def batch_key(key: PRNGKeyArray) -> PRNGKeyArray:
    """Of the two keys of a run, the one that draws its batches; the other one draws noise."""
    return jax.random.split(key)[0]


@jax.jit(static_argnums=3)
def _choose(keys: Array, step: Array, count: Array, size: int) -> Array:
    steps = step + jnp.arange(CHUNK, dtype=jnp.int32)
    one = lambda key, step: choose_windows(batch_key(key), step, count, size)  # noqa: E731
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(keys, steps)
