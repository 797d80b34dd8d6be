"""Progress of training: a bar in a terminal, log lines elsewhere, or nothing.

A `Progress` is a context that shows every chunk of steps. It never changes the training.
"""

import sys
import time
import warnings
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from gpssm.base.errors import GpssmWarning
from gpssm.base.progress import Bar

_RECENT = 20  # chunks over which the speed is measured


@runtime_checkable
class Progress(Protocol):
    """Something that shows how far training is."""

    def __enter__(self) -> "Progress": ...

    def __exit__(self, *_: Any) -> None: ...

    def update(self, step: int, terms: dict[str, float]) -> None:
        """`step` steps are done; `terms` are averages over the last ones."""
        ...


ProgressFactory = Callable[[str, int], Progress]


class _Silent:
    def __init__(self, title: str, total: int) -> None:
        pass

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


class _TrainingBar(Bar):
    def __init__(self, title: str, total: int) -> None:
        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[terms]}"),
            TextColumn("{task.fields[pace]}"),
        )
        super().__init__(title, total, *columns, terms="compiling …", pace="")
        self._pace = _Pace(total)

    def update(self, step: int, terms: dict[str, float]) -> None:
        pace = self._pace.update(time.monotonic(), step)
        self.show(completed=step, terms=_words(terms), pace=pace)


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


class _Guarded(_Silent):
    """Another progress, left out from its first error on: a display must not end a training."""

    def __init__(self, make: ProgressFactory, title: str, total: int) -> None:
        self._shown: Progress = _Silent(title, total)
        self._try(lambda _: setattr(self, "_shown", make(title, total).__enter__()))

    def __exit__(self, *error: object) -> None:
        self._try(lambda shown: shown.__exit__(*error))

    def update(self, step: int, terms: dict[str, float]) -> None:
        self._try(lambda shown: shown.update(step, terms))

    def _try(self, action: Callable[[Progress], None]) -> None:
        try:
            action(self._shown)
        except Exception as error:
            self._shown = _Silent("", 0)
            message = f"progress is no longer shown, after {type(error).__name__}: {error}"
            warnings.warn(message, GpssmWarning, stacklevel=4)


guarded = _Guarded  # a function to those who call it
silent: ProgressFactory = _Silent
bar: ProgressFactory = _TrainingBar  # with the terms of the ELBO, the speed and the time left
log_lines: ProgressFactory = _LogLines  # on standard error


def titled(progress: ProgressFactory, words: str) -> ProgressFactory:
    """The same with these words before the title."""
    return lambda title, total: progress(f"{words}, {title}", total)


def automatic(quiet: bool) -> ProgressFactory:
    """A bar in a terminal, log lines where there is none, nothing when quiet."""
    if quiet:
        return silent
    return bar if sys.stderr.isatty() else log_lines
