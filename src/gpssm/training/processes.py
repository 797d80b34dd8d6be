"""Several processes that train together, on one machine or on many. JAX connects them.

All of them run the same steps at the same time; the first one also reads and writes checkpoints,
and shows how far training is.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils
from orbax.checkpoint.multihost import get_barrier_sync_fn

from gpssm.claims import alone_in
from gpssm.errors import GpssmError, ProcessLostError, expected

_PATIENCE_MS = 3_600_000
_meetings = itertools.count()

Result = TypeVar("Result")


def are_several() -> bool:
    """Whether this process is one of several."""
    return jax.process_count() > 1


def is_first() -> bool:
    """Whether this is the process that writes and shows."""
    return jax.process_index() == 0


def wait_for_all() -> None:
    """Go on when all processes are here.

    What they compute together has to begin within half a minute, or gloo takes the last one for
    dead; here they may be apart by an hour, as when one of them writes to a slow disk.
    """
    if are_several():
        meet = get_barrier_sync_fn()
        meet(key=f"gpssm-{next(_meetings)}", timeout_ms=_PATIENCE_MS)


def from_first(content: bytes) -> bytes:
    """What the first process has, in all of them."""
    if not are_several():
        return content
    wait_for_all()
    size = int(multihost_utils.broadcast_one_to_all(np.asarray(len(content))))
    mine = np.frombuffer(content, np.uint8) if is_first() else np.zeros(size, np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(mine)).tobytes()


def on_first(action: Callable[[], Result]) -> Result | None:
    """What the first process gets from doing this; None in the others.

    An error that gpssm explains is raised in all of them: none waits for one that has left.
    """
    result, error = None, None
    if is_first():
        try:
            result = action()
        except GpssmError as caught:
            error = caught
    message = from_first(str(error or "").encode()).decode()
    if error is not None:
        raise error
    if message:
        raise GpssmError(message)
    return result


@contextmanager
def alone(folder: str | Path, field: str) -> Iterator[None]:
    """In a folder, as those who train together: the first one holds it, all are refused it."""
    with ExitStack() as held:
        on_first(lambda: held.enter_context(alone_in(Path(folder), field)))
        yield


def largest(number: int) -> int:
    """The largest of the numbers that the processes have."""
    if not are_several():
        return number
    wait_for_all()
    return int(np.max(multihost_utils.process_allgather(np.asarray(number))))


@contextmanager
def lost_processes_explained() -> Iterator[None]:
    """What JAX raises when a process has gone is no fault of this one: say so, and what to do."""
    try:
        yield
    except GpssmError:
        raise
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if not are_several() or not _is_lost_connection(error):
            raise
        given = f"no answer from another process ({str(error).splitlines()[0]})"
        remedy = (
            "Its own output says why it has stopped. Start all of them again with the same "
            "command: with a run_dir they go on from the last checkpoint."
        )
        wanted = f"all {jax.process_count()} to be there"
        raise ProcessLostError(expected("training", given, wanted, remedy)) from error


def _is_lost_connection(error: Exception) -> bool:
    """By its words: gloo's errors come as a plain ValueError."""
    words = ("Gloo", "NCCL", "UNAVAILABLE", "Barrier", "connection")
    return any(word in str(error) for word in words)
