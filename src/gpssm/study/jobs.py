"""A list of jobs: what each one found is kept at once, one that fails is named, the rest goes on.

The jobs run in this process, one after the other, or wherever else a `Runner` takes them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from gpssm.errors import GpssmError
from gpssm.training.progress import ProgressFactory

from .display import Display, open_display


@dataclass(frozen=True)
class Job:
    """Something to compute, and how what it finds is kept; `keep` runs in this process."""

    label: str
    run: Callable[[ProgressFactory], Any]
    keep: Callable[[Any], object]
    cost: float = 1.0  # about how long it takes, in any unit
    trainings: int = 1  # one after the other


class Outcome(NamedTuple):
    """What a job found, or why it found nothing."""

    found: Any
    error: str | None
    seconds: float


# Runs jobs somewhere, and yields each one's outcome as soon as there is one.
Runner = Callable[[Sequence[Job], Display], Iterator[tuple[Job, Outcome]]]


def run_jobs(
    jobs: Sequence[Job], *, there: int = 0, runner: Runner | None = None, quiet: bool = False
) -> list[str]:
    """Runs all of them, beside those that are `there` already; the failed ones are the answer."""
    with open_display(quiet) as display:
        display.say(f"{there} of {there + len(jobs)} are there, {len(jobs)} to do")
        return run_round(jobs, display, runner or in_this_process)


def run_round(
    jobs: Sequence[Job], display: Display, runner: Runner, rounds_left: int = 1
) -> list[str]:
    """The same where what comes next depends on what these jobs find, in rounds like this one."""
    failed = []
    display.expect(rounds_left * sum(job.cost for job in jobs))
    for number, (job, outcome) in enumerate(runner(jobs, display), 1):
        if outcome.error is None:
            job.keep(outcome.found)
        else:
            failed.append(f"{job.label}: {outcome.error}")
            display.say(f"FAILED {failed[-1]}")
        display.finish(f"{number}/{len(jobs)} {job.label}", job.cost, outcome.seconds)
    return failed


def in_this_process(jobs: Sequence[Job], display: Display) -> Iterator[tuple[Job, Outcome]]:
    """One after the other."""
    for number, job in enumerate(jobs, 1):
        display.begin(f"{number}/{len(jobs)} {job.label}", job.cost, job.trainings)
        yield job, attempt(job.run, display.training)


def attempt(run: Callable[[ProgressFactory], Any], progress: ProgressFactory) -> Outcome:
    """An error that gpssm raises on purpose is an outcome; any other ends everything."""
    begin = time.monotonic()
    try:
        found, error = run(progress), None
    except GpssmError as failure:
        found, error = None, str(failure)
    finally:
        jax.clear_caches()  # many programs would use up the mappings of one process
    return Outcome(found, error, time.monotonic() - begin)
