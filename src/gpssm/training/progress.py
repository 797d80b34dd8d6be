"""How training tells where it is: a bar in a terminal, log lines elsewhere, or silence.

A `Progress` is a context that is told of every chunk of steps. It only shows; it never decides.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress


@runtime_checkable
class Progress(Protocol):
    """Something that shows how far training is."""

    def __enter__(self) -> "Progress": ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def update(self, step: int, terms: dict[str, float]) -> None:
        """`step` steps are done; `terms` are averages over the last ones."""
        ...


ProgressFactory = Callable[[str, int], Progress]


class _Silent:
    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, step: int, terms: dict[str, float]) -> None:
        pass


class _Bar(_Silent):
    def __init__(self, title: str, total: int) -> None:
        self._rich = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[terms]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._rich.add_task(title, total=total, terms="compiling …")

    def __enter__(self) -> "Progress":
        self._rich.__enter__()
        return self

    def __exit__(self, *args: object) -> None:
        self._rich.__exit__(*args)  # type: ignore[arg-type]

    def update(self, step: int, terms: dict[str, float]) -> None:
        self._rich.update(self._task, completed=step, terms=_words(terms))


class _LogLines(_Silent):
    """At most one line every few seconds, for files and pipes."""

    def __init__(self, title: str, total: int, seconds: float = 10.0) -> None:
        self._title, self._total, self._seconds = title, total, seconds
        self._begin = self._last = time.monotonic()

    def update(self, step: int, terms: dict[str, float]) -> None:
        now = time.monotonic()
        if step < self._total and now - self._last < self._seconds:
            return
        self._last = now
        line = f"{self._title} {step}/{self._total} {_words(terms)} {now - self._begin:.0f} s"
        print(line, file=sys.stderr, flush=True)


def _words(terms: dict[str, float]) -> str:
    return " ".join(f"{name} {value:.3g}" for name, value in terms.items())


def silent(title: str, total: int) -> Progress:
    """Shows nothing."""
    del title, total
    return _Silent()


def bar(title: str, total: int) -> Progress:
    """A bar with the terms of the ELBO and the time left."""
    return _Bar(title, total)


def log_lines(title: str, total: int) -> Progress:
    """Plain lines on standard error."""
    return _LogLines(title, total)


def automatic(quiet: bool) -> ProgressFactory:
    """A bar in a terminal, log lines where there is none, nothing when quiet."""
    if quiet:
        return silent
    return bar if sys.stderr.isatty() else log_lines
