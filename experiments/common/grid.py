"""A grid of jobs: each finished one on the disk at once, none done twice, the time left in view."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gpssm import study
from gpssm.training.progress import ProgressFactory

from .config import CellSettings, same_settings
from .files import add_record, read_record


@dataclass(frozen=True)
class Job:
    """What is to be computed, and where it is kept: a file of records and the key in it."""

    label: str
    path: Path
    key: tuple[str, ...]
    settings: CellSettings
    run: Callable[[ProgressFactory], dict[str, Any]]
    extra_cost: float = 0.0  # of training something else than a model of gpssm

    @property
    def is_done(self) -> bool:
        """There is a result, of the same settings."""
        stored = read_record(self.path, self.key)
        return stored is not None and same_settings(stored["settings"], self.settings)

    @property
    def cost(self) -> float:
        """About how long it takes, in any unit."""
        return _MINIMUM + training_cost(self.settings) + self.extra_cost

    @property
    def groups(self) -> int:
        """How many trainings there are, one after the other."""
        return -(-self.settings.seeds // self.settings.seeds_at_once)


_MINIMUM = 1e6  # of loading, forecasting and scoring, beside what training costs


def training_cost(settings: CellSettings) -> float:
    """About how much training computes: only the ratios count, for the time left."""
    if settings.model is None or settings.training is None:
        return 0.0
    return settings.seeds * study.training_cost(settings.model, settings.training)


def run_jobs(jobs: Sequence[Job], cluster: bool = False) -> list[str]:
    """Runs what is not done yet; a job that fails is named in the answer, and the rest goes on."""
    waiting = [
        study.Job(job.label, job.run, partial(add_record, job.path, job.key), job.cost, job.groups)
        for job in jobs
        if not job.is_done
    ]
    there = study.Cluster() if cluster else None
    with study.open_runner(there) as runner, study.open_display() as display:
        display.say(f"{len(jobs) - len(waiting)} of {len(jobs)} are there, {len(waiting)} to do")
        return study.run_round(waiting, display, runner)


def add_cores_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cores", type=int, help="of this process; default: 1, with --quick 2")


def cores(options: argparse.Namespace) -> int:
    """A short form is waited for, and takes two; a long study leaves the machine to its user."""
    return options.cores or min(2 if options.quick else 1, os.cpu_count() or 1)


def add_cluster_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", action="store_true", help="on Ray, as in gpssm sweep")
