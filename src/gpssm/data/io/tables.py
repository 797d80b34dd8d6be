"""The named columns of files and frames, and what they hold.

Every message names file, column and row.
"""

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from jaxtyping import Float64, Int

from gpssm.base.errors import DataError, DataWarning, expected
from gpssm.base.settings import nearest
from gpssm.data.stamps import Stamps

from .cells import number
from .dates import read_times
from .decimals import with_points
from .timing import UNITS, Timing, guess_unit, known_unit, unit_since_1970

Name = str | int
_CELL = "Correct the cell; an output may also be left empty, which marks it as missing."
# an offset from UTC, after a clock time
_OFFSET = re.compile(r"[T ]\s*\d[\d:.,]*\s*(Z|[+-]\d\d(:?\d\d)?)$")
_ELAPSED = re.compile(r"\s*(\d+ day|(2[4-9]|[3-9]\d|\d{3,}):)")  # more than a time of the day
_LONG = re.compile(r"\s*[-+]?(\d{16,18}|[1-8]\d{18})\s*")  # more digits than floats keep


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one file or frame, not yet checked.

    `rows` are the row numbers that the user sees, for messages; `groups` gives the columns of a
    variable that has several; `refused` says why a variable cannot be a column. With
    `decimal_commas` a comma in a number may be its decimal mark.
    """

    source: str
    columns: Mapping[str, Any]  # arrays; to check the type of a large one would be to read it
    rows: Int[np.ndarray, " rows"] | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    name: str = "data"
    units: Mapping[str, str] = field(default_factory=dict)
    decimal_commas: bool = False

    def row(self, index: int) -> int:
        """The number of a row as the user sees it."""
        return index + 1 if self.rows is None else int(self.rows[index])

    def length(self, column: str) -> int:
        """The length of a column, which need not be read for it."""
        known = getattr(self.columns, "rows", None)
        return known(column) if known else len(self.columns[column])


@dataclass(frozen=True)
class Request:
    """Columns for inputs, outputs, time and experiment."""

    outputs: tuple[Name, ...]
    inputs: tuple[Name, ...] = ()
    time: Name | None = None
    experiment: Name | None = None
    timing: Timing = field(default_factory=Timing)

    @classmethod
    def of(
        cls,
        outputs: Name | Sequence[Name],
        inputs: Name | Sequence[Name],
        time: Name | None,
        experiment: Name | None,
        timing: Timing,
    ) -> "Request":
        """From what a user writes: one name, or a sequence of them."""
        made = cls(_several(outputs), _several(inputs), time, experiment, timing)
        if timing.unit is not None and time is None:
            remedy = "Name the column of the time, or leave the unit out."
            raise DataError(expected("time_unit", "no time column", "one", remedy))
        if not made.outputs:
            remedy = "Say which columns were measured."
            raise DataError(expected("outputs", "no column", "at least one", remedy))
        return made


def _several(names: Name | Sequence[Name]) -> tuple[Name, ...]:
    return (names,) if isinstance(names, str | int) else tuple(names)


class Channels(NamedTuple):
    """A request by names of columns, none of them a position or a variable of several."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    time: str | None = None
    experiment: str | None = None
    units: Mapping[str, str] = MappingProxyType({})


def resolve(table: Table, request: Request) -> Channels:
    """The columns that a request means, or a message with the nearest names."""
    inputs = tuple(c for name in request.inputs for c in _find(table, name))
    outputs = tuple(c for name in request.outputs for c in _find(table, name))
    time, experiment = (
        () if name is None else _find(table, name) for name in (request.time, request.experiment)
    )
    every = [*inputs, *outputs, *time, *experiment]
    twice = sorted(column for column, count in Counter(every).items() if count > 1)
    if twice:
        remedy = "A column can be an input, an output, the time or the experiment, once."
        raise DataError(expected(table.source, f"column {twice[0]!r} twice", "it once", remedy))
    _check_lengths(table, every)
    units = {column: unit for column, unit in table.units.items() if column in every}
    return Channels(inputs, outputs, next(iter(time), None), next(iter(experiment), None), units)


def _find(table: Table, name: Name) -> tuple[str, ...]:
    """The columns behind a name or a position."""
    if not isinstance(name, str):
        names = list(table.columns)
        if 0 <= name < len(names):
            return (names[name],)
        wanted = f"a position from 0 to {len(names) - 1}"
        raise DataError(expected(table.source, f"column {name}", wanted, f"It has {names[:20]}."))
    if name in table.columns:
        return (name,)
    if name in table.groups:
        return table.groups[name]
    variable = name if name in table.refused else re.split(r"[.\[]", name)[0]
    if variable in table.refused:
        remedy = "Store it as a plain array of numbers, time along its longest side."
        where = f"{table.source}, column {variable!r}"
        raise DataError(expected(where, table.refused[variable], "numbers", remedy))
    raise _unknown(table, name, [*table.columns, *table.groups])


def _unknown(table: Table, name: str, names: Sequence[str]) -> DataError:
    near = nearest(name, names, 0.5)
    remedy = f"Nearest: {near}. " if near else ""
    if any("," in each and name in each for each in names):
        remedy += "On the command line quote a name with a comma twice: '\"flow, in\"'. "
    remedy += f"It has {list(names)[:20]}."
    return DataError(expected(table.source, f"column {name!r}", "one of its columns", remedy))


def _check_lengths(table: Table, columns: Sequence[str]) -> None:
    """Raise unless all used columns have the same length."""
    first = columns[0]
    for column in columns:
        given, wanted = table.length(column), table.length(first)
        if given != wanted:
            text = f"{wanted}, as in column {first!r}"
            remedy = "Choose columns of one recording."
            where = f"{table.source}, column {column!r}"
            raise DataError(expected(where, f"{given} rows", text, remedy))


def complain(
    table: Table, column: object, index: int, given: str, wanted: str, remedy: str
) -> NoReturn:
    """Raise an error about a cell."""
    where = f"{table.source}, column {column!r}, row {table.row(index)}"
    raise DataError(expected(where, given, wanted, remedy))


def matrix(
    table: Table, columns: Sequence[str], rows: int
) -> Float64[np.ndarray, "{rows} columns"]:
    """Columns as numbers, NaN where they are empty."""
    numbers = [_numbers(table, column) for column in columns]
    return np.stack(numbers, axis=1) if numbers else np.zeros((rows, 0))


def _numbers(table: Table, column: str, remedy: str = _CELL) -> Float64[np.ndarray, " rows"]:
    """A column as numbers, NaN where it is empty."""
    values = table.columns[column]
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if table.decimal_commas:
        where = f"{table.source}, column {column!r}"
        values = with_points(where, values, table.columns.values())
    numbers = np.empty(len(values))
    for index, cell in enumerate(values):
        try:
            numbers[index] = number(cell)
        except (TypeError, ValueError):
            commas = re.fullmatch(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*", str(cell))
            remedy = "Write decimal points, not commas." if commas else remedy
            complain(table, column, index, f"{str(cell)[:40]!r}", "a number", remedy)
    return numbers


def unit_of_time(table: Table, column: str, unit: str | None) -> tuple[str, str]:
    """The unit of a time column and what says so: the user, the file, its numbers, or nothing."""
    if unit is not None:
        return unit, "given"
    named, stated = guess_unit(column), known_unit(table.units.get(column, ""))
    if named and stated and named != stated:
        where, wanted = f"{table.source}, column {column!r}", f"{named!r} as in its name"
        remedy = "Give the unit (--time-unit, in Python time_unit=)."
        raise DataError(expected(where, f"the unit {stated!r}", wanted, remedy))
    if stated:
        return stated, "the row of units says"
    if named:
        return named, "its name says"
    counted = unit_since_1970(table.columns[column])
    return (counted, "numbers of this size count from 1970 on") if counted else ("s", "")


def read_stamps(table: Table, column: str, unit: str | None) -> Stamps:
    """The time column: dates, or numbers in a unit that is given or that the file says."""
    values = table.columns[column]
    has_offset = len(values) > 0 and bool(_OFFSET.search(str(values[0])))
    if values.dtype.kind == "O":
        values = _dates(table, column)
    if values.dtype.kind in "mM" and unit is not None:
        remedy = "Leave the unit out."
        raise DataError(expected("time_unit", f"{unit!r} for a column of dates", "none", remedy))
    if values.dtype.kind == "M":
        return Stamps(column, values, utc=has_offset)
    if values.dtype.kind == "m":
        cells = table.columns[column]
        clock = ":" in str(cells[0])  # 08:00:00, and not 0.1 sec
        elapsed = clock and any(_ELAPSED.match(str(cell)) for cell in cells)
        return Stamps(column, values / np.timedelta64(1, "s"), clock=clock, elapsed=elapsed)
    numbers = _whole(values)
    if numbers is None:
        numbers = _numbers(table, column, "Write seconds, or dates such as 2024-03-01 10:00:00.")
    return Stamps(column, numbers, UNITS[unit_of_time(table, column, unit)[0]])


def _whole(values: np.ndarray) -> np.ndarray | None:
    """Whole numbers as such, as floating point rounds nanoseconds since 1970; None for others."""
    if values.dtype.kind == "O" and all(_LONG.fullmatch(str(cell)) for cell in values):
        return np.array([int(cell) for cell in values])
    return values.astype(np.int64) if values.dtype.kind == "i" else None


def _dates(table: Table, column: str) -> np.ndarray:
    """Dates or clock times where the first cell is one, and then in every row; else unchanged."""
    values = table.columns[column]
    times = read_times(values, f"{table.source}, column {column!r}") if len(values) else None
    if times is None or times.bad[0]:
        return values
    if times.bad.any():
        row = int(np.argmax(times.bad))
        remedy = "Correct the cell; every row needs a time stamp."
        complain(table, column, row, f"{values[row]!r}", "a date as in the first row", remedy)
    if times.remark:
        warnings.warn(f"{times.remark}.", DataWarning, stacklevel=2)
    return times.values
