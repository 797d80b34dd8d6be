"""A grid of jobs: each finished one on the disk at once, none done twice, the time left in view."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from gpssm.errors import GpssmError
from gpssm.training.progress import Progress as TrainingProgress
from gpssm.training.progress import ProgressFactory

from .config import CellSettings, same_settings
from .files import read_json, write_json

_LINE_EVERY = 30.0  # seconds between two log lines within a job


@dataclass(frozen=True)
class Job:
    """What is to be computed, where it is kept, and how often it trains with its settings."""

    label: str
    path: Path
    settings: CellSettings
    run: Callable[[ProgressFactory], dict[str, Any]]
    rounds: int = 1

    @property
    def is_done(self) -> bool:
        """There is a result, of the same settings."""
        stored = read_json(self.path)
        return stored is not None and same_settings(stored["settings"], self.settings)

    @property
    def cost(self) -> float:
        """About how long it takes, in any unit."""
        return self.rounds * (_MINIMUM + cost(self.settings))

    @property
    def groups(self) -> int:
        """How many trainings there are, one after the other."""
        return self.rounds * -(-self.settings.seeds // self.settings.seeds_at_once)


_MINIMUM = 1e6  # of loading, forecasting and scoring, beside what training costs


def cost(settings: CellSettings) -> float:
    """About how much training computes: only the ratios count, for the time left."""
    if settings.gru is not None:
        gru = settings.gru
        return settings.seeds * gru.steps * gru.batch_size * gru.sequence_length * gru.width
    if settings.model is None or settings.training is None:
        return 0.0
    model, training = settings.model, settings.training
    passes = 2 if model.target == "smoother" else 1
    states = training.batch_size * training.sequence_length * model.particles
    return settings.seeds * training.steps * states * model.inducing_points * passes


def run_jobs(jobs: Sequence[Job]) -> list[str]:
    """Runs what is not done yet; a job that fails is named in the answer, and the rest goes on."""
    waiting = [job for job in jobs if not job.is_done]
    failed = []
    with _display(sum(job.cost for job in waiting)) as show:
        show.say(f"{len(jobs) - len(waiting)} of {len(jobs)} are there, {len(waiting)} to do")
        for number, job in enumerate(waiting, 1):
            show.begin(f"{number}/{len(waiting)} {job.label}", job)
            try:
                write_json(job.path, job.run(show.training))
            except GpssmError as error:
                failed.append(f"{job.label}: {error}")
                show.say(f"FAILED {failed[-1]}")
            show.finish()
            jax.clear_caches()  # a grid of programs would use up the mappings of one process
    return failed


class _Log:
    """Where the grid is, as lines on standard error; the bar of a terminal builds on it."""

    def __init__(self, total: float) -> None:
        self._total, self._done, self._share = total, 0.0, 0.0
        self._start, self._last, self._label = time.monotonic(), 0.0, ""
        self._job_start, self._cost, self._groups, self._group = self._start, 0.0, 1, 0

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def begin(self, label: str, job: Job) -> None:
        self._label, self._cost, self._share = label, job.cost, 0.0
        self._groups, self._group = job.groups, 0
        self._job_start = time.monotonic()

    def finish(self) -> None:
        self._done, self._cost, self._share = self._done + self._cost, 0.0, 0.0
        took = time.monotonic() - self._job_start
        self.say(f"{self._label} took {took:.0f} s, left {self.left}")

    def training(self, title: str, total: int) -> TrainingProgress:
        """What a job tells its steps to; each group of seeds is a part of the job."""
        del title
        self._group += 1
        return _Steps(self, total)

    def step(self, step: int, total: int) -> None:
        self._share = (self._group - 1 + step / total) / self._groups
        now = time.monotonic()
        if now - self._last > _LINE_EVERY:
            self._last = now
            self.say(f"{self._label} {self._share:.0%}, left {self.left}")

    @property
    def reached(self) -> float:
        return self._done + self._cost * self._share

    @property
    def left(self) -> str:
        """Of the whole grid, at the pace so far."""
        if self.reached == 0.0:
            return "unknown"
        spent = time.monotonic() - self._start
        seconds = spent * (self._total - self.reached) / self.reached
        return str(timedelta(seconds=round(seconds)))


class _Bar(_Log):
    """The same as a bar."""

    def __init__(self, total: float, rich: Progress) -> None:
        super().__init__(total)
        self._rich, self._task = rich, rich.add_task("", total=total, left="")

    def say(self, text: str) -> None:
        self._rich.console.print(text, highlight=False, markup=False)

    def begin(self, label: str, job: Job) -> None:
        super().begin(label, job)
        self._rich.update(self._task, description=label)

    def step(self, step: int, total: int) -> None:
        self._last = time.monotonic()  # a bar needs no lines
        super().step(step, total)
        self._rich.update(self._task, completed=self.reached, left=self.left)

    def finish(self) -> None:
        super().finish()
        self._rich.update(self._task, completed=self.reached, left=self.left)


class _Steps(AbstractContextManager["_Steps"]):
    def __init__(self, log: _Log, total: int) -> None:
        self._log, self._total = log, total

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, step: int, terms: dict[str, float]) -> None:
        del terms
        self._log.step(step, self._total)


@contextmanager
def _display(total: float) -> Iterator[_Log]:
    if not sys.stderr.isatty():
        yield _Log(total)
        return
    columns = TextColumn("[bold]{task.description}"), BarColumn(), TaskProgressColumn()
    times = TimeElapsedColumn(), TextColumn("left {task.fields[left]}")
    with Progress(*columns, *times, console=Console(stderr=True)) as rich:
        yield _Bar(total, rich)
