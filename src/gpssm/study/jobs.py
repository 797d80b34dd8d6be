"""A list of jobs: each result is saved at once; a failed job does not stop the others.

The jobs run in this process, one after the other, or wherever else a `Runner` takes them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from gpssm.base.errors import GpssmError
from gpssm.training.progress import ProgressFactory

from .display import Display


@dataclass(frozen=True)
class Job:
    """A computation and a function that saves its result; `keep` runs in this process."""

    label: str
    run: Callable[[ProgressFactory], Any]
    keep: Callable[[Any], object]
    cost: float = 1.0  # about how long it takes, in any unit
    trainings: int = 1  # one after the other


class Outcome(NamedTuple):
    """Result of a job, or the reason of its failure."""

    found: Any
    error: str | None
    seconds: float


# Runs jobs somewhere, and yields each one's outcome as soon as there is one.
Runner = Callable[[Sequence[Job], Display], Iterator[tuple[Job, Outcome]]]


def run_round(
    jobs: Sequence[Job], display: Display, runner: Runner, rounds_left: int = 1
) -> list[str]:
    """Run all of them and return the failed ones; `rounds_left` like this one are still to come."""
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
