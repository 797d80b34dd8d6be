"""Progress of a list of jobs, with the time left: a bar, log lines, or nothing."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from gpssm.base.progress import Bar
from gpssm.training.progress import Progress as TrainingProgress

_LINE_EVERY = 30.0  # seconds between two lines within a job


class Display:
    """Lines on standard error: the steps of jobs in this process, and the end of all jobs."""

    def __init__(self) -> None:
        self._total, self._done = 0.0, 0.0
        self._start, self._last = time.monotonic(), 0.0
        self._label, self._cost, self._share = "", 0.0, 0.0
        self._trainings, self._training = 1, 0

    def expect(self, cost: float) -> None:
        """Set the cost of the remaining jobs."""
        self._total = self._done + cost

    def say(self, text: str) -> None:
        """A line between the others."""
        print(text, file=sys.stderr, flush=True)

    def begin(self, label: str, cost: float, trainings: int) -> None:
        """A job of so many trainings, one after the other, starts in this process."""
        self._label, self._cost, self._share = label, cost, 0.0
        self._trainings, self._training = trainings, 0

    def finish(self, label: str, cost: float, seconds: float) -> None:
        """A job has come to its end, wherever it ran."""
        self._done, self._cost, self._share = self._done + cost, 0.0, 0.0
        self.say(f"{label} took {seconds:.0f} s, left {self.left}")

    def training(self, title: str, total: int) -> TrainingProgress:
        """The `ProgressFactory` of a job."""
        del title
        self._training += 1
        return _Steps(self, total)

    def step(self, step: int, total: int) -> None:
        """Report the number of finished steps of the current training."""
        self._share = (self._training - 1 + step / total) / self._trainings
        now = time.monotonic()
        if now - self._last > _LINE_EVERY:
            self._last = now
            self.say(f"{self._label} {self._share:.0%}, left {self.left}")

    @property
    def reached(self) -> float:
        """The cost of all that is done."""
        return self._done + self._cost * self._share

    @property
    def left(self) -> str:
        """Time left for the whole list, at the pace so far."""
        if self.reached == 0.0:
            return "unknown"
        spent = time.monotonic() - self._start
        seconds = spent * (self._total - self.reached) / self.reached
        return str(timedelta(seconds=round(seconds)))


class _Quiet(Display):
    """The same without any output."""

    def say(self, text: str) -> None:
        pass


class _WithBar(Display):
    """The same as a bar."""

    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar

    def expect(self, cost: float) -> None:
        super().expect(cost)
        self._bar.show(total=self._total)

    def say(self, text: str) -> None:
        self._bar.say(text)

    def begin(self, label: str, cost: float, trainings: int) -> None:
        super().begin(label, cost, trainings)
        self._bar.show(description=label)

    def step(self, step: int, total: int) -> None:
        self._last = time.monotonic()  # a bar needs no lines
        super().step(step, total)
        self._bar.show(completed=self.reached, left=self.left)

    def finish(self, label: str, cost: float, seconds: float) -> None:
        super().finish(label, cost, seconds)
        self._bar.show(completed=self.reached, left=self.left)


class _Steps:
    """The progress of one training, as a part of its job."""

    def __init__(self, display: Display, total: int) -> None:
        self._display, self._total = display, total

    def __enter__(self) -> "TrainingProgress":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, step: int, terms: dict[str, float]) -> None:
        del terms
        self._display.step(step, self._total)


@contextmanager
def open_display(quiet: bool = False) -> Iterator[Display]:
    """The display that suits standard error."""
    if quiet or not sys.stderr.isatty():
        yield _Quiet() if quiet else Display()
        return
    columns = TextColumn("[bold]{task.description}"), BarColumn(), TaskProgressColumn()
    times = TimeElapsedColumn(), TextColumn("left {task.fields[left]}")
    with Bar("", 100.0, *columns, *times, left="") as bar:
        yield _WithBar(bar)
