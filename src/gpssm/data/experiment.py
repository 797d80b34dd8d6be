"""One recorded run: inputs, outputs with gaps, and where its rows came from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gpssm.base.errors import DataError, expected
from gpssm.base.text import percent

from .disk import blocks, stays_on_disk
from .stamps import Stamps
from .steps import Removed, block_means

PARTS = ("train", "validation", "test")
MIN_ROWS = 2  # a single row shows no transition


@dataclass(frozen=True, eq=False)
class Experiment:
    """One run of the system, in its own units. Immutable; the arrays cannot be written.

    Arrays are copied, but for a `numpy.memmap` that was opened for reading: it stays on disk.
    `start` and `stride` say which rows of the original record are held here, and `trends` what
    was subtracted from them, so that a forecast can be mapped back. `stamps` are the user's times.
    """

    u: Float[np.ndarray, "time inputs"]
    y: Float[np.ndarray, "time outputs"]
    name: str = ""
    part: str = ""
    start: int = 0
    stride: int = 1
    trends: tuple[Removed, ...] = ()
    stamps: Stamps | None = None

    def __post_init__(self) -> None:
        _check_rows(self.u, self.y, self.label)
        wanted = "finite values without gaps"
        _refuse(self.u, lambda rows: ~np.isfinite(rows), f"inputs of {self.label}", wanted)
        wanted = "finite values, or NaN for a missing one"
        _refuse(self.y, np.isinf, f"outputs of {self.label}", wanted)
        for field in ("start", "stride"):
            if not isinstance(row := getattr(self, field), int | np.integer):
                raise DataError(expected(f"{field} of {self.label}", repr(row), "a whole number"))
        if self.part not in ("", *PARTS):
            raise DataError(expected("part", repr(self.part), f"one of {PARTS} or ''"))
        if self.stamps is not None and len(self.stamps) != len(self.y):
            given = f"{len(self.stamps)} time stamps for {len(self.y)} rows"
            raise DataError(expected(self.label, given, "one for each row"))
        object.__setattr__(self, "u", _frozen(self.u))
        object.__setattr__(self, "y", _frozen(self.y))

    @classmethod
    def of(
        cls, y: Any, u: Any = None, name: str = "", stamps: Stamps | None = None
    ) -> "Experiment":
        """From anything that numpy takes for an array [time, channels] or [time]."""
        label = f"experiment {name!r}" if name else "the experiment"
        outputs = _two_dimensional(y, f"outputs of {label}")
        empty = u is None or np.size(u) == 0
        inputs = np.zeros((len(outputs), 0)) if empty else _two_dimensional(u, f"inputs of {label}")
        _check_rows(inputs, outputs, label)
        return cls(inputs, outputs, name, stamps=stamps)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def label(self) -> str:
        """Name of this experiment in messages."""
        return f"experiment {self.name!r}" if self.name else "the experiment"

    @property
    def mask(self) -> Bool[np.ndarray, "time outputs"]:
        """True where an output was measured."""
        return ~np.isnan(self.y)

    @property
    def measured(self) -> Int[np.ndarray, " outputs"]:
        """Number of measured values of each output."""
        return np.sum([np.sum(~np.isnan(rows), axis=0) for _, rows in blocks(self.y)], axis=0)

    @property
    def is_on_disk(self) -> bool:
        """Whether some of its rows are on disk."""
        return stays_on_disk(self.u) or stays_on_disk(self.y)

    @property
    def rows(self) -> Int[np.ndarray, " time"]:
        """The rows of the original record that are held here, counted from 0."""
        return self.start + self.stride * np.arange(len(self))

    def cut(self, first: int, last: int, part: str) -> "Experiment":
        """The rows first, …, last−1 as a part of their own."""
        if last - first < MIN_ROWS:
            wanted = f"at least {MIN_ROWS} rows"
            field = f"the {part} part of {self.label} ({len(self)} rows)"
            raise DataError(
                expected(
                    field, f"{last - first} rows", wanted, "Move the split, or give more rows."
                )
            )
        u, y, start = self.u[first:last], self.y[first:last], self.start + self.stride * first
        stamps = None if self.stamps is None else self.stamps[first:last]
        return replace(self, u=u, y=y, part=part, start=start, stamps=stamps)

    def every(self, factor: int, average_inputs: bool) -> "Experiment":
        """Every factor-th row; the input is that of the row, or its mean until the next one."""
        u = block_means(self.u, factor) if average_inputs else self.u[::factor]
        stamps = None if self.stamps is None else self.stamps[::factor]
        return replace(self, u=u, y=self.y[::factor], stride=self.stride * factor, stamps=stamps)

    def without(self, trend: Removed) -> "Experiment":
        """The same rows with a trend or a drift subtracted from the outputs."""
        return replace(self, y=self.y - trend(self.rows), trends=(*self.trends, trend))

    def removed(self, rows: Int[np.ndarray, " time"]) -> Float[np.ndarray, "time outputs"]:
        """All that was subtracted from the outputs at these rows of the original record."""
        nothing = np.zeros((len(rows), self.y.shape[1]))
        return sum((trend(rows) for trend in self.trends), nothing)

    def original(self) -> "Experiment":
        """The same rows with all of that added back."""
        return replace(self, y=self.y + self.removed(self.rows), trends=())


def _two_dimensional(values: Any, field: str) -> Float[np.ndarray, "time channels"]:
    """A float64 matrix with time downwards; a plain sequence becomes one column."""
    try:
        array = values if stays_on_disk(values) else np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        given = f"values that are no numbers ({error})"
        raise DataError(expected(field, given, "numbers")) from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2:
        wanted = "an array [time, channels] or [time]"
        remedy = "Give several experiments as a list of such arrays."
        raise DataError(expected(field, f"an array of shape {array.shape}", wanted, remedy))
    return array


def _check_rows(u: np.ndarray, y: np.ndarray, label: str) -> None:
    """Raise unless inputs and outputs have equally many rows, and enough of them."""
    if len(u) != len(y):
        given = f"{len(u)} rows of inputs and {len(y)} of outputs"
        wanted = "as many of one as of the other"
        raise DataError(expected(label, given, wanted, "Time goes downwards."))
    if len(y) < MIN_ROWS:
        remedy = "Record more, or decimate less."
        raise DataError(expected(label, f"{len(y)} rows", f"at least {MIN_ROWS}", remedy))
    if y.shape[1] == 0:
        raise DataError(expected(label, "no outputs", "at least one output channel"))


def _refuse(
    values: np.ndarray, is_bad: Callable[[np.ndarray], np.ndarray], field: str, wanted: str
) -> None:
    """Raise an error that names the first invalid entry of an array."""
    for first, rows in blocks(values):
        bad = is_bad(rows)
        if bad.any():
            row, channel = np.argwhere(bad)[0]
            place = f"row {first + row}, channel {channel} (counted from 0)"
            remedy = "Fill it, or cut the experiment there."
            raise DataError(expected(field, f"{rows[row, channel]} at {place}", wanted, remedy))


def _frozen(values: np.ndarray) -> np.ndarray:
    """A read-only copy; arrays on disk are read-only already."""
    if stays_on_disk(values):
        return values
    copy = np.array(values, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def summary(runs: Sequence[Experiment]) -> str:
    """Number and length of the experiments, and the share of missing values."""
    lengths = sorted({len(each) for each in runs})
    rows = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    missing = 1.0 - sum(each.measured.sum() for each in runs) / sum(each.y.size for each in runs)
    noun = "experiment" if len(runs) == 1 else "experiments"
    gaps = f", {percent(missing, 1)} of the outputs missing" if missing else ""
    return f"{len(runs)} {noun} of {rows} rows{gaps}"
