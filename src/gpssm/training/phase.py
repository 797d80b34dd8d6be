"""Progress of what comes before and after training: baselines, calibration, scores, report."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from gpssm.base.progress import Bar

from .processes import is_first
from .progress import guarded

_PAUSE = 10.0  # seconds between two log lines
_SHORT = 2.0  # seconds: what takes less has no log line


@contextmanager
def phase(title: str, parts: int, quiet: bool = False) -> Iterator[Callable[[], None]]:
    """Show how far a task of several parts is; call what is yielded after each of them."""
    if quiet or not is_first():
        yield lambda: None
        return
    done = 0
    with guarded(_PhaseBar if sys.stderr.isatty() else _PhaseLines, title, parts) as shown:

        def tell() -> None:
            nonlocal done
            done += 1
            shown.update(done, {})

        yield tell


class _PhaseBar(Bar):
    """A bar with the time so far; it pulses where there is one part only."""

    def __init__(self, title: str, total: int) -> None:
        count = [MofNCompleteColumn()] if total > 1 else []
        columns = TextColumn("[bold]{task.description}"), BarColumn(bar_width=12)
        super().__init__(title, total if total > 1 else None, *columns, *count, TimeElapsedColumn())
        self._total = total

    def update(self, step: int, terms: dict[str, float]) -> None:
        del terms
        self.show(completed=step, total=self._total)


class _PhaseLines:
    """A line every few seconds, and one at the end of what was not short."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total, self._step = title, total, 0
        self._begin = self._last = time.monotonic()

    def __enter__(self) -> "_PhaseLines":
        return self

    def __exit__(self, *_: object) -> None:
        took = time.monotonic() - self._begin
        if took >= _SHORT and self._step == self._total:
            print(f"{self._title} took {took:.0f} s", file=sys.stderr, flush=True)

    def update(self, step: int, terms: dict[str, float]) -> None:
        del terms
        self._step, now = step, time.monotonic()
        if now - self._last >= _PAUSE and step < self._total:
            self._last = now
            print(f"{self._title} {step}/{self._total}", file=sys.stderr, flush=True)
