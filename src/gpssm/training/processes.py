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

from gpssm.base.errors import GpssmError, ProcessLostError, expected
from gpssm.base.locks import alone_in

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
        get_barrier_sync_fn()(key=f"gpssm-{next(_meetings)}", timeout_ms=_PATIENCE_MS)


def from_first(content: bytes) -> bytes:
    """Send a value of the first process to all."""
    if not are_several():
        return content
    wait_for_all()
    size = int(multihost_utils.broadcast_one_to_all(np.asarray(len(content))))
    mine = np.frombuffer(content, np.uint8) if is_first() else np.zeros(size, np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(mine)).tobytes()


def on_first(action: Callable[[], Result]) -> Result | None:
    """Call a function in the first process only; None in the others.

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
    """Hold the lock of a folder for all processes: the first one takes it."""
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
    """Turn the error of JAX after a lost process into one that says what to do."""
    try:
        yield
    except GpssmError:
        raise
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if not are_several() or not _is_lost_connection(error):
            raise
        given = f"no answer from another process ({str(error).splitlines()[0]})"
        remedy = (
            "See its output for the reason. Start all of them again with the same "
            "command: with `run_dir` they resume from the last checkpoint."
        )
        wanted = f"all {jax.process_count()} to be there"
        raise ProcessLostError(expected("training", given, wanted, remedy)) from error


def _is_lost_connection(error: Exception) -> bool:
    """By its words: gloo's errors come as a plain ValueError."""
    words = ("Gloo", "NCCL", "UNAVAILABLE", "Barrier", "connection")
    return any(word in str(error) for word in words)
