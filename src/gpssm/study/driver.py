"""`sweep`: run all trials of a study, and resume an earlier start."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.base.errors import DataError, expected
from gpssm.base.files import remove_leftovers
from gpssm.base.locks import alone_in, claim
from gpssm.data import Dataset

from .cluster import Cluster, open_runner
from .display import open_display
from .jobs import Job, run_round
from .proposals import propose
from .result import TABLE, Sweep
from .scores import configuration_losses, overall
from .settings import Study
from .space import Configuration, check_values, draw, grid
from .table import Trials, chosen_in
from .trials import Batch, batch_cost, fit_batch, make_batches

IDENTITY = "study.json"
_NAME = re.compile(r"[\w-]+")


def sweep(
    study: Study,
    data: Mapping[str, Dataset],
    *,
    out: str | Path,
    cluster: Cluster | None = None,
    quiet: bool = False,
) -> Sweep:
    """Fit every configuration of a study to every data set, and keep each trial in a table.

    A data set that is split gives its training part alone. The same call goes on where another
    was stopped, in the folder `out`, which belongs to this study. The fits run in this process,
    or on Ray with a `cluster`.
    """
    folder, parts = Path(out), _training_parts(study, data)
    with alone_in(folder, "out"):
        claim(folder / IDENTITY, _identity(study, parts), "out", names=(TABLE,))
        if (folder / TABLE).is_dir():
            remove_leftovers(folder / TABLE)
        return _run(study, parts, folder, cluster, quiet)


def _run(
    study: Study, parts: dict[str, Dataset], folder: Path, cluster: Cluster | None, quiet: bool
) -> Sweep:
    """Round after round, until every trial is in the table or was lost."""
    trials, names = Trials(folder / TABLE, study), tuple(parts)
    lost: list[str] = []
    with open_runner(cluster) as runner, open_display(quiet) as display:
        for left, configurations in _rounds(study, names, trials):
            batches = _unfinished(study, names, configurations, trials)
            whole = len(configurations) * len(names)
            todo = sum(len(batch.configurations) for batch in batches)
            display.say(f"{whole - todo} of {whole} are there, {todo} to do")
            jobs = [_job(study, parts[batch.dataset], batch, trials) for batch in batches]
            lost += run_round(jobs, display, runner, left)
    return Sweep(study, names, folder, trials.read(), tuple(lost))


def _training_parts(study: Study, data: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """The training parts of the data sets, checked before any fit."""
    if not data:
        raise DataError(expected("data", "no data set", "at least one, by name"))
    for name, each in data.items():
        if not _NAME.fullmatch(name):
            wanted = "letters, digits, - and _: it names files"
            raise DataError(expected("name of a data set", repr(name), wanted))
        check_values(study, each.dim_y)
    return {name: each.train if "train" in each.parts else each for name, each in data.items()}


def _identity(study: Study, data: Mapping[str, Dataset]) -> dict[str, Any]:
    """Settings that identify the study, without the number and the batching of trials."""
    content = {name: study.to_json()[name] for name in Study.model_fields if name != "side_by_side"}
    content["search"] = {k: v for k, v in content["search"].items() if k != "configurations"}
    return {**content, "data": {name: _fingerprint(each) for name, each in data.items()}}


def _fingerprint(data: Dataset) -> str:
    digest = hashlib.sha256()
    for each in data.experiments:
        for array in (each.u, each.y):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _unfinished(
    study: Study, datasets: Sequence[str], configurations: Sequence[Configuration], trials: Trials
) -> list[Batch]:
    """Configurations that have no row in the table yet."""
    done, batches = trials.finished(), []
    for name in datasets:
        waiting = [each for each in configurations if (each.number, name) not in done]
        batches += make_batches(study, name, waiting)
    return batches


def _job(study: Study, data: Dataset, batch: Batch, trials: Trials) -> Job:
    return Job(
        label=batch.words,
        run=partial(fit_batch, study, data, batch),
        keep=trials.append,
        cost=batch_cost(study, batch, data.dim_y),
    )


# ---------------------------------------------------------------------- what comes next


def _rounds(
    study: Study, datasets: Sequence[str], trials: Trials
) -> Iterator[tuple[int, list[Configuration]]]:
    """Configurations that may be fitted in any order, and how many such rounds are left."""
    search = study.search
    if search.kind == "grid":
        yield 1, grid(search)
    elif search.kind == "random":
        yield 1, [draw(search, number) for number in range(search.configurations)]
    else:
        starts = range(0, search.configurations, search.at_once)
        for left, first in zip(reversed(range(1, len(starts) + 1)), starts, strict=True):
            yield left, _proposed(study, datasets, trials, first)


def _proposed(
    study: Study, datasets: Sequence[str], trials: Trials, first: int
) -> list[Configuration]:
    """Configurations of a round: from the table, and new proposals of Optuna."""
    search, table = study.search, trials.read()
    known = chosen_in(table)
    numbers = range(first, min(first + search.at_once, search.configurations))
    if not known.keys() >= set(numbers):
        loss = overall(configuration_losses(study, datasets, table)).dropna()
        earlier = loss[loss.index < first]
        earlier_losses = [(known[i], v) for i, v in zip(earlier.index, earlier, strict=True)]
        known = {**dict(enumerate(propose(search, earlier_losses, first), first)), **known}
    return [Configuration(number, known[number]) for number in numbers]
