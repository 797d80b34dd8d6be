"""Ctrl-C and SIGTERM during training: finish the steps under way, save, and leave."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from .processes import is_first


class TrainingStopped(SystemExit):
    """Training was asked to stop and has saved. Exit code 130 (SIGINT) or 143 (SIGTERM)."""

    def __init__(self, code: int, words: str = "") -> None:
        super().__init__(code)
        self.words = words


def stop(number: int, step: int, run_dir: Path) -> NoReturn:
    """Leave, with what is to be said then."""
    name = signal.Signals(number).name
    remedy = "Run the same command again to resume."
    raise TrainingStopped(
        128 + number, f"Stopped at step {step} by {name}; saved in {run_dir}. {remedy}"
    )


@contextmanager
def stops_told() -> Iterator[None]:
    """Say how to resume, after the last output of the progress display."""
    try:
        yield
    except TrainingStopped as stopped:
        if is_first():
            print(stopped.words, file=sys.stderr)
        raise


class StopRequest:
    """Which signal has arrived, if any."""

    number: int | None = None


@contextmanager
def watch_signals() -> Iterator[StopRequest]:
    """Record SIGINT and SIGTERM instead of stopping; a second one acts as usual."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request  # only the main thread may handle signals
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        request.number = number
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, note)
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
