"""How training tells where it is: a bar in a terminal, log lines elsewhere, or silence.

A `Progress` is a context that is told of every chunk of steps. It only shows; it never decides.
"""

import sys
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress

_RECENT = 20  # chunks over which the speed is measured


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


class _Pace:
    """Steps per second and the time left, from the last chunks. The first one also compiles."""

    def __init__(self, total: int) -> None:
        self._total, self._seen = total, deque[tuple[float, int]](maxlen=_RECENT)

    def update(self, now: float, step: int) -> str:
        self._seen.append((now, step))
        (begin, first), (end, last) = self._seen[0], self._seen[-1]
        if end <= begin or last <= first:
            return ""
        speed = (last - first) / (end - begin)
        left = timedelta(seconds=round((self._total - last) / speed))
        return f"{speed:.3g} steps/s, left {left}"


class _Bar(_Silent):
    def __init__(self, title: str, total: int) -> None:
        self._rich = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[terms]}"),
            TextColumn("{task.fields[pace]}"),
            console=Console(stderr=True),
        )
        self._task = self._rich.add_task(title, total=total, terms="compiling …", pace="")
        self._pace = _Pace(total)

    def __enter__(self) -> "Progress":
        self._rich.__enter__()
        return self

    def __exit__(self, *args: object) -> None:
        self._rich.__exit__(*args)  # type: ignore[arg-type]

    def update(self, step: int, terms: dict[str, float]) -> None:
        pace = self._pace.update(time.monotonic(), step)
        self._rich.update(self._task, completed=step, terms=_words(terms), pace=pace)


class _LogLines(_Silent):
    """At most one line every few seconds, for files and pipes; and one for the last step."""

    def __init__(self, title: str, total: int, seconds: float = 10.0) -> None:
        self._title, self._total, self._seconds = title, total, seconds
        self._last, self._pace, self._waiting = time.monotonic(), _Pace(total), ""

    def __exit__(self, *_: object) -> None:
        self._show()  # training can end before its last step

    def update(self, step: int, terms: dict[str, float]) -> None:
        now = time.monotonic()
        pace = self._pace.update(now, step)
        self._waiting = f"{self._title} {step}/{self._total} {_words(terms)} {pace}".rstrip()
        if step == self._total or now - self._last >= self._seconds:
            self._last = now
            self._show()

    def _show(self) -> None:
        if self._waiting:
            print(self._waiting, file=sys.stderr, flush=True)
        self._waiting = ""


def _words(terms: dict[str, float]) -> str:
    return " ".join(f"{name} {value:.3g}" for name, value in terms.items())


def silent(title: str, total: int) -> Progress:
    """Shows nothing."""
    del title, total
    return _Silent()


def bar(title: str, total: int) -> Progress:
    """A bar with the terms of the ELBO, the steps per second and the time left."""
    return _Bar(title, total)


def log_lines(title: str, total: int) -> Progress:
    """Plain lines on standard error."""
    return _LogLines(title, total)


def automatic(quiet: bool) -> ProgressFactory:
    """A bar in a terminal, log lines where there is none, nothing when quiet."""
    if quiet:
        return silent
    return bar if sys.stderr.isatty() else log_lines
