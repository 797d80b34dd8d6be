"""Jobs on Ray: a cluster that runs already, or the cores of this machine."""

import functools
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import Field

from gpssm.base.extras import load_extra
from gpssm.base.settings import Settings
from gpssm.base.startup import prepare
from gpssm.training.progress import ProgressFactory, silent

from .display import Display
from .jobs import Job, Outcome, Runner, attempt, in_this_process


class Cluster(Settings):
    """Resources of a job on Ray. Ray finds a cluster by itself, or by its `RAY_ADDRESS`."""

    cpus: float = Field(1.0, ge=0, le=10_000, description="of each job")
    gpus: float = Field(0.0, ge=0, le=10_000, description="of each job")
    retries: int = Field(3, ge=0, le=1000, description="of a job whose worker died")


@contextmanager
def open_runner(cluster: Cluster | None) -> Iterator[Runner]:
    """Where jobs run: in this process, or on a cluster while the context is open."""
    if cluster is None:
        yield in_this_process
        return
    ray = load_extra("ray", "cluster", "cluster: a study on many machines")
    started = ray.is_initialized()
    try:
        yield functools.partial(_on_ray, ray, cluster)
    finally:
        if not started:
            ray.shutdown()


def _on_ray(
    ray: Any, cluster: Cluster, jobs: Sequence[Job], display: Display
) -> Iterator[tuple[Job, Outcome]]:
    """Yield outcomes as jobs end. Ray restarts a job whose worker died."""
    if not jobs:
        return
    display.begin(f"{len(jobs)} jobs on Ray", 0.0, 1)
    _start(ray)
    task = ray.remote(_in_worker).options(
        num_cpus=cluster.cpus, num_gpus=cluster.gpus, max_retries=cluster.retries
    )
    waiting, running = deque(jobs), dict[Any, Job]()
    while waiting or running:
        # A job carries its data: only those that may soon run are handed over.
        while waiting and len(running) < _room(ray, cluster):
            job = waiting.popleft()
            running[task.remote(job.run)] = job
        (ready,), _ = ray.wait(list(running), num_returns=1)
        yield running.pop(ready), _outcome(ray, ready, cluster)


def _start(ray: Any) -> None:
    """At the first job only: it takes some seconds."""
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")


def _room(ray: Any, cluster: Cluster) -> int:
    """Number of jobs to queue: twice the number of workers."""
    there = ray.cluster_resources()
    wanted = {"CPU": cluster.cpus, "GPU": cluster.gpus}
    places = [there.get(name, 0.0) / each for name, each in wanted.items() if each]
    return max(int(2 * min(places, default=1.0)), 1)


def _outcome(ray: Any, ready: Any, cluster: Cluster) -> Outcome:
    """Result of a worker. A dead worker is a failed outcome; other errors are raised."""
    try:
        return ray.get(ready)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Outcome(None, f"its worker died, after {cluster.retries} retries ({lines[0]})", 0.0)


def _in_worker(run: Callable[[ProgressFactory], Any]) -> Outcome:
    _prepare_once()
    return attempt(run, silent)


@functools.cache
def _prepare_once() -> None:
    """A worker has one core and runs many jobs, with the first of which JAX starts."""
    prepare(cores=1)
