"""The noise of filters, set after training."""

from collections.abc import Sequence

from gpssm.data import Dataset
from gpssm.training.phase import phase

from .run import Run


def tune_filters(runs: Sequence[Run], data: Dataset, quiet: bool) -> list[Run]:
    """The runs, each with its own noise. `data` are as they were given, without an alignment."""
    found = []
    with phase("filter noise", len(runs), quiet) as tell:
        for run in runs:
            found.append(run.tune_filter(data))
            tell()
    return found
