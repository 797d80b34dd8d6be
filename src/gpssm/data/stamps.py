"""The user's time stamps, kept so that a forecast can be written at them."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from jaxtyping import Float

Digits = Literal["s", "ms", "us", "ns"]
_DECIMALS = 9  # of stamps that are computed: 0.3 and not 0.30000000000000004
_EXACT = 2**53  # floating point keeps the whole numbers below
_NANOSECONDS: Final[dict[Digits, int]] = {"s": 10**9, "ms": 10**6, "us": 10**3}


@dataclass(frozen=True, eq=False)
class Stamps:
    """A time column: numbers in a unit of the user's, or dates."""

    name: str
    values: np.ndarray
    unit: float = 1.0  # seconds for each number
    utc: bool = False  # the dates had offsets, and are now in UTC
    clock: bool = False  # the numbers are seconds since midnight, of times of the day
    elapsed: bool = False  # such times go on after 24:00:00, and do not begin again

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> "Stamps":
        return replace(self, values=self.values[rows])

    @property
    def are_dates(self) -> bool:
        """Whether they are dates and not numbers."""
        return self.values.dtype.kind == "M"

    @property
    def seconds(self) -> Float[np.ndarray, " time"]:
        """Seconds since the first stamp; NaN where there is no stamp."""
        if len(self) == 0:
            return np.zeros(0)
        since = self.values - self.values[0]
        return since / np.timedelta64(1, "s") if self.are_dates else since * self.unit

    def after(self, seconds: Float[np.ndarray, " rows"]) -> "Stamps":
        """Stamps that lie these seconds after the first one."""
        if self.are_dates:
            since = np.rint(seconds * 1e9).astype("timedelta64[ns]")
            return replace(self, values=self.values[0].astype("datetime64[ns]") + since)
        since = seconds / self.unit
        if self.values.dtype.kind == "i" and abs(self.values[0]) >= _EXACT:
            return replace(self, values=self.values[0] + np.rint(since).astype(np.int64))
        return replace(self, values=np.round(self.values[0] + since, _DECIMALS))

    def written(self) -> np.ndarray:
        """As they stand in a file: dates as ISO texts, whole numbers without a point."""
        if self.clock:
            return _clock_times(self.values, self.elapsed)
        if self.are_dates:
            zone: Literal["UTC", "naive"] = "UTC" if self.utc else "naive"
            return np.datetime_as_string(self.values, _shortest(self.values), timezone=zone)
        if self.values.dtype.kind == "i":
            return self.values
        whole = np.all(self.values == np.rint(self.values)) and np.all(abs(self.values) < _EXACT)
        return self.values.astype(np.int64) if whole else self.values


def _clock_times(seconds: Float[np.ndarray, " rows"], elapsed: bool) -> np.ndarray:
    """Seconds since midnight as 08:00:00; after midnight hours begin again unless `elapsed`."""
    since = np.rint(seconds * 1e9).astype("timedelta64[ns]")
    dates = np.datetime64(0, "ns") + since
    texts = np.datetime_as_string(dates, _shortest(dates))
    clocks = [text.split("T")[1] for text in texts]
    if elapsed:
        hours = since // np.timedelta64(1, "h")
        clocks = [f"{hour:02d}{clock[2:]}" for hour, clock in zip(hours, clocks, strict=True)]
    return np.array(clocks, dtype=object)


def _shortest(dates: np.ndarray) -> Digits:
    """The digits of a second that dates need."""
    counts = dates.astype("datetime64[ns]").astype(np.int64)
    return next((unit for unit, size in _NANOSECONDS.items() if not np.any(counts % size)), "ns")
