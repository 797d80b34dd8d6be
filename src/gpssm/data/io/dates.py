"""Dates and clock times as loggers write them, read column by column."""

import datetime
import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gpssm.base.errors import DataError, expected

_CLOCK = (
    r"(?:(?P<days>\d+) days? )?(?P<hour>\d{1,4}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2}(?:[.,]\d*)?))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)
_DATE = r"(?P<first>\d{1,2})(?P<mark>[./-])(?P<second_>\d{1,2})(?P=mark)(?P<year>\d{4})"
_NAMED = r"(?P<day>\d{1,2})[- ](?P<month>[A-Za-z]{3})[a-z]*[- ](?P<year>\d{4})"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0}
_SPAN = rf"(?P<value>-?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?)\s*(?P<unit>{'|'.join(_SECONDS)})"
_TIME = re.compile(
    rf"\d{{1,4}}[-./]\d{{1,2}}[-./]\d{{1,4}}([T ]\s*\d.*)?|{_NAMED}([T ].*)?|\d{{8}}T\d+.*|"
    + re.sub(r"\?P<\w+>", "?:", f"{_CLOCK}|{_SPAN}")
)
_DAY = np.timedelta64(24 * 3600, "s")
_ISO = "Write dates such as 2024-03-01 10:00:00."
_SAME = 0.01  # of the usual step: months of 28 to 31 days are no equal steps


class Times(NamedTuple):
    """Times of a column (dates or durations), where it has none, and a remark."""

    values: np.ndarray
    bad: np.ndarray
    remark: str = ""


def looks_like_time(cell: Any) -> bool:
    """Whether it is a date, a clock time or a duration, in any spelling that is read."""
    if isinstance(cell, str):
        return _TIME.fullmatch(cell.strip()) is not None
    return hasattr(cell, "isoformat") or isinstance(cell, np.timedelta64 | datetime.timedelta)


def read_times(cells: np.ndarray, where: str) -> Times | None:
    """The spelling of the first cell holds for the column; None if it is that of no time."""
    text = pd.Series([_text(cell) for cell in cells])
    if not looks_like_time(text.iloc[0]):
        return None
    for pattern, read in ((_CLOCK, _clock), (_SPAN, _span), (_dated(_NAMED), _named)):
        if re.fullmatch(pattern, text.iloc[0]):
            return read(text.str.extract(f"^{pattern}$"), where)
    if re.fullmatch(_dated(_DATE), text.iloc[0]):
        return _numbered(text.str.extract(f"^{_dated(_DATE)}$"), where)
    return _iso(text)


def _text(cell: Any) -> str:
    """Excel gives clock times of 24 h and more as `datetime.timedelta`: 1 days 01:00:00."""
    spelled = pd.Timedelta(cell) if isinstance(cell, datetime.timedelta) else cell
    return str(spelled).strip()


def _dated(date: str) -> str:
    return rf"{date}(?:[T ]\s*{_CLOCK})?"


def _iso(text: pd.Series) -> Times:
    """Years first; with a time zone, in UTC."""
    plain = text.str.replace(r"(:\d\d),(\d)", r"\1.\2", regex=True)
    dates = pd.to_datetime(plain, format="ISO8601", errors="coerce", utc=True)
    return Times(dates.dt.tz_convert(None).to_numpy(), dates.isna().to_numpy())


def _seconds(parts: pd.DataFrame) -> pd.Series:
    """Seconds since midnight; NaN where it is no clock time, 0 for a date without one."""
    numbers = {
        name: parts[name].str.replace(",", ".").astype(float).fillna(0.0)
        for name in ("days", "hour", "minute", "second")
    }
    hour = numbers["hour"]
    half = parts["half"].str.lower().str[0]
    valid = (numbers["minute"] < 60) & (numbers["second"] < 60)
    valid &= half.isna() | ((hour >= 1) & (hour <= 12))
    hour = hour.where(half.isna(), hour % 12) + 12.0 * (half == "p")
    seconds = 24 * 3600 * numbers["days"] + 3600 * hour + 60 * numbers["minute"] + numbers["second"]
    return seconds.where(valid)


def _durations(seconds: pd.Series) -> np.ndarray:
    return np.asarray(np.round(seconds.to_numpy() * 1e9), "m8[ns]")


def _clock(parts: pd.DataFrame, where: str) -> Times:
    """Times of the day; where they fall by more than half a day, midnight has passed."""
    seconds = _seconds(parts).where(parts["hour"].notna())
    bad = seconds.isna().to_numpy()
    times = _durations(seconds)
    midnights = np.cumsum(np.diff(times, prepend=times[:1]) < -_DAY / 2)
    times = times + midnights * _DAY
    remark = ""
    if parts["second"].isna().all():
        if (pd.to_numeric(parts["hour"]) > 23).any():
            given = "two numbers with a colon, the first of them above 23"
            remedy = "Write 00:30:00 for 30 minutes, or seconds as a number."
            raise DataError(expected(where, given, "hours:minutes:seconds", remedy))
        remark = f"{where}: times of two numbers were read as hours:minutes"
    return Times(times, bad, remark)


def _span(parts: pd.DataFrame, _: str) -> Times:
    """Durations such as `0.1 sec`, as MATLAB exports a timetable."""
    size = parts["value"].str.replace(",", ".").astype(float)
    seconds = size * parts["unit"].map(_SECONDS)
    return Times(_durations(seconds), seconds.isna().to_numpy())


def _named(parts: pd.DataFrame, _: str) -> Times:
    """Dates with the name of the month: 01-Mar-2024 10:00:00."""
    months = {name: place for place, name in enumerate(_MONTHS, 1)}
    month = parts["month"].str.lower().map(months)
    return _as_times(_dates(parts["year"], month, parts["day"], parts))


def _numbered(parts: pd.DataFrame, where: str) -> Times:
    """Dates of three numbers, the year last: day first with dots, else as the column shows."""
    first, second = parts["first"], parts["second_"]
    day_first = _dates(parts["year"], second, first, parts)
    if (parts["mark"] == ".").any():
        return _as_times(day_first)
    month_first = _dates(parts["year"], first, second, parts)
    readings = {"day": day_first, "month": month_first}
    possible = [order for order, dates in readings.items() if dates.notna().all()]
    if len(possible) != 1:  # only one of them may have equal steps
        possible = [order for order, dates in readings.items() if _is_regular(dates)]
    if len(possible) != 1:
        date = parts.iloc[0]
        shown = date["mark"].join((date["first"], date["second_"], date["year"]))
        wanted = "a column that shows which number is the day"
        raise DataError(expected(where, f"dates such as {shown}", wanted, _ISO))
    (order,) = possible
    remark = f"{where}: dates were read with the {order} first, as the column shows"
    return _as_times(readings[order])._replace(remark=remark)


def _dates(year: Any, month: Any, day: Any, clock: pd.DataFrame) -> pd.Series:
    numbers = {"year": year, "month": month, "day": day}
    days = pd.to_datetime(pd.DataFrame(numbers), errors="coerce")
    seconds = _seconds(clock)
    return (days.astype("M8[ns]") + _durations(seconds)).where(seconds < 24 * 3600)


def _as_times(dates: pd.Series) -> Times:
    return Times(dates.to_numpy(), dates.isna().to_numpy())


def _is_regular(dates: pd.Series) -> bool:
    """Whether all of them are dates, and go forward in equal steps."""
    steps = np.diff(dates.to_numpy()) / np.timedelta64(1, "ns")
    usual = np.median(steps) if len(steps) > 1 else np.nan  # one step shows nothing
    return bool(np.all(abs(steps - usual) <= _SAME * usual))
