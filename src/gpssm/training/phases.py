"""Training in phases: the stages that come first, and the rest, each with windows of its own."""

from collections.abc import Sequence
from typing import NamedTuple

from gpssm.data import Dataset, Normalisation, Recency, WindowSource, make_starts, open_windows

from .settings import Training


class Phase(NamedTuple):
    """Settings that hold until a step, and the windows from which their batches are drawn."""

    until: int
    training: Training
    windows: WindowSource
    recency: Recency | None = None  # all windows alike

    @property
    def rows(self) -> float:
        """For how many rows the data count: never fewer than one sequence has."""
        if self.recency is None:
            return self.windows.num_rows
        return max(self.recency.share * self.windows.num_rows, self.training.sequence_length)


def make_phases(
    data: Dataset, normalisation: Normalisation, training: Training
) -> tuple[Phase, ...]:
    """The stages and what follows them. All share the rows of the data; windows start elsewhere."""
    length, stride = training.sequence_length, training.stride
    rows = open_windows(data, normalisation, length, stride, training.dtype)
    found = []
    for until, settings in training.phases():
        length = settings.sequence_length
        windows = rows.starting_at(make_starts(data, length, min(stride, length)))
        found.append(Phase(until, settings, windows, make_recency(windows, settings)))
    return tuple(found)


def make_recency(windows: WindowSource, training: Training) -> Recency | None:
    """Weights of windows by age; None if all are equal."""
    half_life = training.half_life
    return None if half_life is None else Recency.of(windows.starts, half_life)


def phase_at(phases: Sequence[Phase], step: int) -> Phase:
    """The phase to which a step belongs."""
    return next(phase for phase in phases if step < phase.until)
