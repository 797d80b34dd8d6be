"""How trainings ended: which failed, which starts were lost, and whether steps were skipped."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from gpssm.base.errors import ConfigError, GpssmWarning, TrainingError, expected
from gpssm.training import ROLLBACKS, TrainingResult

_MANY_SKIPPED = 0.05  # share of the steps


def check_failures(
    results: Sequence[TrainingResult], seeds: Sequence[int], kept: Sequence[Path]
) -> None:
    """Raise if a seed failed; the best model so far stays in the run_dir."""
    for i, (seed, result) in enumerate(zip(seeds, results, strict=True)):
        if result.failure is None:
            continue
        groups = ", ".join(result.failure.groups) or "no group (the ELBO itself is not finite)"
        where = f"is in {kept[i]}" if kept else "is lost: no run_dir was given"
        given = (
            f"no finite gradient at step {result.failure.step} of seed {seed}, after {ROLLBACKS} "
            f"roll-backs with smaller and smaller steps; not finite in: {groups}"
        )
        remedy = f"Use a smaller learning_rate, or check the data. The best model so far {where}."
        raise TrainingError(expected("training", given, "a finite one", remedy))


def tell_lost_starts(found: Sequence[TrainingResult]) -> None:
    """Warn of starts that diverged while others of their seed did not."""
    if lost := sum(each.failure is not None for each in found):
        message = f"{lost} of {len(found)} starts diverged; use a smaller learning_rate."
        warnings.warn(message, GpssmWarning, stacklevel=3)


def check_skipped(results: Sequence[TrainingResult]) -> None:
    """Raise if no step was finite; warn if many were not."""
    for result in results:
        skipped, steps = int(result.history.table["skipped"].sum()), len(result.history.table)
        if skipped == steps:
            remedy = "Check the initial values of the model and the scale of the data."
            given = f"no finite gradient in {steps} steps"
            raise ConfigError(expected("training", given, "one", remedy))
        if skipped > _MANY_SKIPPED * steps:
            skips = f"{skipped} of {steps} steps were not finite and were skipped"
            warnings.warn(f"{skips}; use a smaller learning_rate.", GpssmWarning, stacklevel=3)
