"""A column of time stamps: its unit, and whether its steps are equal."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import DataError, expected
from gpssm.base.text import percent
from gpssm.data.stamps import Stamps
from gpssm.data.transforms.resample import check_new_step

JITTER = 0.05  # by how much of the usual step a step may be off, whatever the others are
ROUNDING = 0.4  # by how much of a step a stamp may be off equal steps; half a step is a lost row
_MANY = 20  # steps, since a lost row of fewer cannot be told from stamps that are rounded
_ABOUT = 0.02  # of a step; near enough for a new one
_DIGITS = 1e-12  # of a step, lost where floating-point stamps are subtracted
_UNSURE = 1e-3  # of a step, at most, that is read from stamps which a clock has rounded
UNITS: Mapping[str, float] = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0
}  # fmt: skip
_RECENT = 5e8, 5e9  # seconds since 1970: the years 1985 to 2128
_WORDS = {
    "ns": "ns nsec nanos nanosecond nanoseconds",
    "us": "us µs μs usec micros microsecond microseconds",
    "ms": "ms msec millis millisecond milliseconds",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
}
_UNIT_OF = {word: unit for unit, words in _WORDS.items() for word in words.split()}
_LAST_WORD = re.compile(r"([A-Zµμ]+|[A-Z]?[a-zµμ]+)[\s\])}]*$")
_EQUAL = "equal steps forward in time"
_SORT = "Sort the rows by time, or give the column that names the experiment."


@dataclass(frozen=True)
class Timing:
    """How time is read: the unit of the time column, a new step in seconds, a lag in rows.

    `input_lag`: the rows by which the log holds each input too late. It is 1 where the input of
    a row is the one that led to it.
    """

    unit: str | None = None
    resample: float | None = None
    input_lag: int = 0

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in UNITS:
            raise DataError(expected("time_unit", repr(self.unit), f"one of {', '.join(UNITS)}"))
        if self.resample is not None:
            object.__setattr__(self, "resample", check_new_step(self.resample))
        if isinstance(self.input_lag, bool) or self.input_lag % 1:
            raise DataError(expected("input_lag", self.input_lag, "a whole number of rows"))
        if self.input_lag < 0:
            raise DataError(expected("input_lag", self.input_lag, "0 rows or more"))


class Fault(NamedTuple):
    """Why time stamps are refused: the row, and the parts of a message."""

    row: int
    given: str
    wanted: str
    remedy: str


class Regularity(NamedTuple):
    """The step of time stamps, and by how much of it they deviate at most from equal steps."""

    step: float
    deviation: float


def guess_unit(column: str) -> str | None:
    """The unit that the name of a column ends with: `tempo_ms`, `time [ms]`, `t_us`, `timeMs`."""
    found = _LAST_WORD.search(column)
    return _UNIT_OF.get(found[1].casefold()) if found else None


def known_unit(word: str) -> str | None:
    """The unit of time that a word names; None if it names none."""
    return _UNIT_OF.get(word.strip().casefold())


def unit_since_1970(stamps: np.ndarray) -> str | None:
    """The unit in which the first stamp is a date of our time; None for seconds and others."""
    try:
        value = float(stamps[0])
    except (IndexError, TypeError, ValueError):
        return None
    units = (unit for unit in ("ms", "us", "ns") if _RECENT[0] < value * UNITS[unit] < _RECENT[1])
    return next(units, None)


def find_disorder(stamps: Stamps, may_repeat: bool) -> Fault | None:
    """The first row without a time stamp, or with one that is not later than the one before."""
    seconds = stamps.seconds
    bad = ~np.isfinite(seconds)
    if bad.any():
        remedy = (
            "Give every row a time stamp, or leave the time column out and give the step "
            "(--sampling-time, in Python sampling_time=)."
        )
        return Fault(int(np.argmax(bad)), "no time stamp", "a number", remedy)
    steps = np.diff(seconds)
    if (steps == 0).any() and not may_repeat:
        return _fault(stamps, steps == 0, *_about_duplicates(int(np.sum(steps == 0)), len(steps)))
    if (steps < 0).any():
        return _fault(stamps, steps < 0, "an unsorted time stamp", _SORT)
    return None


def _about_duplicates(count: int, steps: int) -> tuple[str, str]:
    """What was found, and what to do: many duplicates come from a clock that rounds."""
    if count == 1:
        return "a duplicate time stamp", "Remove one."
    remedy = (
        "Remove the repeated rows. If the clock is too coarse, leave the time column out and give "
        "the step (--sampling-time, in Python sampling_time=)."
    )
    return f"{count} of {steps} time stamps equal to the one before", remedy


def find_regularity(stamps: Stamps, strict: bool) -> Regularity | Fault:
    """The sampling time, or why there is none.

    Clocks round, so that stamps around equal steps are accepted; not in the blocks of a file that
    is read in pieces (`strict`), which do not see all of it.
    """
    seconds = stamps.seconds
    steps = np.diff(seconds)
    usual = float(np.median(steps))
    off = abs(steps - usual) > JITTER * usual
    if not off.any():
        return Regularity(float(_simple(seconds[-1] / len(steps), _DIGITS)), 0.0)
    step, worst = _line(seconds)
    if worst <= ROUNDING and len(steps) >= _MANY and not strict:
        unsure = min(2.0 * worst / len(steps), _UNSURE)
        return Regularity(float(_simple(step, unsure)), worst)
    most = abs(steps - usual).max()
    given = (
        f"irregular sampling: {off.sum()} of {len(steps)} steps are off the usual {usual:.4g} s by "
        f"more than {percent(JITTER)}, by {most:.4g} s at most"
    )
    new = _simple(usual, _ABOUT)
    remedy = (
        f"Resample it (--resample {new}, in Python resample={new}), "
        "or start a new experiment at the jump."
    )
    return _fault(stamps, off, given, remedy)


def common_step(found: Sequence[tuple[str, float | None]], given: float | None) -> float | None:
    """One sampling time for all experiments: that of their time stamps, else the one given."""
    steps = [("sampling_time", given), *found]
    known = [(where, step) for where, step in steps if step is not None]
    for where, step in known:
        origin, first = known[0]
        if not is_same_step(step, first):
            remedy = "Resample one of them, or make data sets of their own."
            wanted = f"{first:.6g} s as in {origin}"
            raise DataError(expected(where, f"a step of {step:.6g} s", wanted, remedy))
    return known[0][1] if known else None


def is_same_step(step: float, known: float) -> bool:
    """Whether two sampling times differ by no more than clocks do."""
    return abs(step - known) <= JITTER * abs(known)


def _line(seconds: Float[np.ndarray, " time"]) -> tuple[float, float]:
    """The step of the straight line through the stamps, and how many steps one is off at most."""
    rows = np.arange(len(seconds)) - 0.5 * (len(seconds) - 1)
    centred = seconds - seconds.mean()
    step = float(rows @ centred / (rows @ rows))
    return step, float(abs(centred - step * rows).max() / step)


def _fault(stamps: Stamps, wrong: np.ndarray, what: str, remedy: str) -> Fault:
    at = int(np.argmax(wrong))
    before, after = (stamps[row : row + 1].written()[0] for row in (at, at + 1))
    given = f"{what}: {_text(before)} is followed by {_text(after)}"
    return Fault(at + 1, given, _EQUAL, remedy)


def _text(stamp: object) -> str:
    return f"{stamp:.10g}" if isinstance(stamp, float) else str(stamp)


def _simple(step: float, share: float) -> str:
    """The step with as few digits as tell it within this share."""
    texts = [f"{step:.{digits}g}" for digits in range(1, 17)]
    return next((t for t in texts if abs(float(t) - step) <= share * step), texts[-1])
