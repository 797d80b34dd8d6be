"""From the named columns of files and frames to checked arrays.

Every message names file, column and row.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int

from gpssm.base.errors import DataError, expected
from gpssm.data.experiment import MIN_ROWS

Name = str | int
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none"})
_CELL = "Correct the cell; an output may also be left empty, which marks it as missing."
_SORT = "Sort the rows by time, or give the column that names the experiment."
_RESAMPLE = "Resample to a regular grid, or start a new experiment at the jump."
JITTER = 0.05  # by how much of the usual step a time stamp may be off: clocks round


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one file or frame, not yet checked.

    `rows` are the row numbers that the user sees, for messages; `groups` gives the columns of a
    variable that has several; `refused` says why a variable cannot be a column.
    """

    source: str
    columns: Mapping[str, np.ndarray]
    rows: Int[np.ndarray, " rows"] | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    name: str = "data"

    def row(self, index: int) -> int:
        """The number of a row as the user sees it."""
        return index + 1 if self.rows is None else int(self.rows[index])


@dataclass(frozen=True)
class Request:
    """Columns for inputs, outputs, time and experiment."""

    outputs: tuple[Name, ...]
    inputs: tuple[Name, ...] = ()
    time: Name | None = None
    experiment: Name | None = None

    @classmethod
    def of(
        cls,
        outputs: Name | Sequence[Name],
        inputs: Name | Sequence[Name],
        time: Name | None,
        experiment: Name | None,
    ) -> "Request":
        """From what a user writes: one name, or a sequence of them."""
        made = cls(_several(outputs), _several(inputs), time, experiment)
        if not made.outputs:
            remedy = "Say which columns were measured: outputs=['...']."
            raise DataError(expected("outputs", "no column", "at least one", remedy))
        return made


def _several(names: Name | Sequence[Name]) -> tuple[Name, ...]:
    return (names,) if isinstance(names, str | int) else tuple(names)


class Piece(NamedTuple):
    """One experiment of a table, checked."""

    name: str
    u: Float64[np.ndarray, "time inputs"]
    y: Float64[np.ndarray, "time outputs"]
    sampling_time: float | None


class Channels(NamedTuple):
    """A request by names of columns, none of them a position or a variable of several."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    time: str | None = None
    experiment: str | None = None


class Checked(NamedTuple):
    """The requested columns of a file or frame, after all checks."""

    source: str
    name: str
    channels: Channels
    pieces: list[Piece]


def resolve(table: Table, request: Request) -> Channels:
    """The columns that a request means, or a message with the nearest names."""
    inputs = tuple(c for name in request.inputs for c in _find(table, name))
    outputs = tuple(c for name in request.outputs for c in _find(table, name))
    time, experiment = (
        () if name is None else _find(table, name) for name in (request.time, request.experiment)
    )
    every = [*inputs, *outputs, *time, *experiment]
    twice = sorted({column for column in every if every.count(column) > 1})
    if twice:
        remedy = "A column can be an input, an output, the time or the experiment, once."
        raise DataError(expected(table.source, f"column {twice[0]!r} twice", "it once", remedy))
    _check_lengths(table, every)
    return Channels(inputs, outputs, next(iter(time), None), next(iter(experiment), None))


def check_table(table: Table, request: Request) -> Checked:
    """Check a table and cut it into its experiments."""
    channels = resolve(table, request)
    return Checked(table.source, table.name, channels, split_table(table, channels))


def split_table(table: Table, channels: Channels, whole: bool = True) -> list[Piece]:
    """Cut a table into its experiments; a block of its rows may hold a single row of one."""
    rows = len(table.columns[channels.outputs[0]])
    u, y = (_matrix(table, columns, rows) for columns in channels[:2])
    stamps = None if channels.time is None else _stamps(table, channels.time)
    pieces = []
    for name, index in _groups(table, channels.experiment, rows):
        if whole and len(index) < MIN_ROWS:
            given = f"{len(index)} rows of data"
            raise DataError(expected(table.source, given, f"at least {MIN_ROWS}", "Record more."))
        _check_values(table, channels, u, y, index)
        step = None
        if stamps is not None and len(index) >= MIN_ROWS:
            step = _step(table, channels.time, stamps, index)
        pieces.append(Piece(name, u[index], y[index], step))
    return pieces


def all_pieces(files: Sequence[Checked], request: Request) -> list[tuple[str, Piece]]:
    """(Source, experiment) of all; named by their file too where several hold several each."""
    if len(files) == 1 or request.experiment is None:
        return [(file.source, piece) for file in files for piece in file.pieces]
    return [
        (file.source, piece._replace(name=f"{file.name}/{piece.name}"))
        for file in files
        for piece in file.pieces
    ]


def common_step(found: Sequence[tuple[str, float | None]], given: float | None) -> float | None:
    """One sampling time for all experiments: that of their time stamps, else the one given."""
    steps = [("sampling_time", given), *found]
    known = [(where, step) for where, step in steps if step is not None]
    for where, step in known:
        origin, first = known[0]
        if abs(step - first) > JITTER * abs(first):
            remedy = "Resample one of them, or make data sets of their own."
            wanted = f"{first:.6g} s as in {origin}"
            raise DataError(expected(where, f"a step of {step:.6g} s", wanted, remedy))
    return known[0][1] if known else None


def _find(table: Table, name: Name) -> tuple[str, ...]:
    """The columns behind a name or a position."""
    names = list(table.columns)
    if not isinstance(name, str):
        if 0 <= name < len(names):
            return (names[name],)
        wanted = f"a position from 0 to {len(names) - 1}"
        raise DataError(expected(table.source, f"column {name}", wanted, f"It has {names[:20]}."))
    if name in table.columns:
        return (name,)
    if name in table.groups:
        return table.groups[name]
    if name in table.refused:
        remedy = "Store it as a plain array of numbers, time along its longest side."
        where = f"{table.source}, column {name!r}"
        raise DataError(expected(where, table.refused[name], "numbers", remedy))
    raise _unknown(table, name, [*names, *table.groups])


def _unknown(table: Table, name: str, names: Sequence[str]) -> DataError:
    folded = {known.casefold(): known for known in names}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)
    remedy = f"Nearest: {[folded[n] for n in near]}. " if near else ""
    remedy += f"It has {list(names)[:20]}."
    return DataError(expected(table.source, f"column {name!r}", "one of its columns", remedy))


def _check_lengths(table: Table, columns: Sequence[str]) -> None:
    """Raise unless all used columns have the same length."""
    first = columns[0]
    for column in columns:
        given, wanted = len(table.columns[column]), len(table.columns[first])
        if given != wanted:
            text = f"{wanted}, as in column {first!r}"
            remedy = "Choose columns of one recording."
            where = f"{table.source}, column {column!r}"
            raise DataError(expected(where, f"{given} rows", text, remedy))


def _complain(
    table: Table, column: object, index: int, given: str, wanted: str, remedy: str
) -> NoReturn:
    where = f"{table.source}, column {column!r}, row {table.row(index)}"
    raise DataError(expected(where, given, wanted, remedy))


def _matrix(
    table: Table, columns: Sequence[str], rows: int
) -> Float64[np.ndarray, "{rows} columns"]:
    numbers = [_numbers(table, column) for column in columns]
    return np.stack(numbers, axis=1) if numbers else np.zeros((rows, 0))


def _numbers(table: Table, column: str, remedy: str = _CELL) -> Float64[np.ndarray, " rows"]:
    """A column as numbers, NaN where it is empty."""
    values = table.columns[column]
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    numbers = np.empty(len(values))
    for index, cell in enumerate(values):
        try:
            numbers[index] = _number(cell)
        except (TypeError, ValueError):
            commas = re.fullmatch(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*", str(cell))
            remedy = "Write decimal points, not commas." if commas else remedy
            _complain(table, column, index, f"{str(cell)[:40]!r}", "a number", remedy)
    return numbers


def _number(cell: Any) -> float:
    """One cell as a number; 1_000 is refused, although Python accepts it."""
    if cell is None:
        return float("nan")
    if isinstance(cell, str):
        if cell.strip().casefold() in MISSING:
            return float("nan")
        if "_" in cell:
            raise ValueError(cell)
    return float(cell)


def _stamps(table: Table, column: str) -> Float64[np.ndarray, " rows"]:
    """The time column in seconds: numbers as they are, dates since the first one."""
    values = table.columns[column]
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "s")
    if values.dtype.kind == "O":
        values = _dates(table, column)
    if values.dtype.kind == "M":
        seconds = (values - values[0]) / np.timedelta64(1, "s") if len(values) else values
        return np.asarray(seconds, dtype=np.float64)
    return _numbers(table, column, "Write seconds, or dates such as 2024-03-01 10:00:00.")


def _dates(table: Table, column: str) -> np.ndarray:
    """Dates where the first cell is one, and then in every row; anything else unchanged."""
    values = table.columns[column]
    try:
        float(values[0])
    except (TypeError, ValueError, IndexError):
        dates = pd.to_datetime(pd.Series(values), format="ISO8601", errors="coerce", utc=True)
        bad = dates.isna().to_numpy()
        if len(values) == 0 or bad[0]:
            return values
        if bad.any():
            row = int(np.argmax(bad))
            remedy = "Correct the cell; every row needs a time stamp."
            _complain(table, column, row, f"{values[row]!r}", "a date as in the first row", remedy)
        return dates.dt.tz_convert(None).to_numpy()
    return values


def _groups(
    table: Table, column: str | None, count: int
) -> list[tuple[str, Int[np.ndarray, " time"]]]:
    """The rows of each experiment, in the order in which the experiments first appear."""
    if column is None:
        return [(table.name, np.arange(count))]
    codes, ids = pd.factorize(pd.Series(table.columns[column]))
    if (codes < 0).any():
        remedy = "Give every row the name of its experiment."
        _complain(table, column, int(np.argmin(codes)), "an empty cell", "a name", remedy)
    return [(_plain(value), np.flatnonzero(codes == code)) for code, value in enumerate(ids)]


def _plain(value: Any) -> str:
    """The name of an experiment: 3 and not 3.0 where a column of whole numbers was floats."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _check_values(
    table: Table, channels: Channels, u: np.ndarray, y: np.ndarray, index: np.ndarray
) -> None:
    """Raise at a gap in an input or at an infinite value."""
    gap = "Fill the gap (inputs are known: you sent them), or start a new experiment there."
    finite = "Correct the value; a missing output is an empty cell or NaN."
    for names, values in ((channels.inputs, u[index]), (channels.outputs, y[index])):
        for column, series in zip(names, values.T, strict=True):
            if np.isinf(series).any():
                row = int(index[np.argmax(np.isinf(series))])
                _complain(table, column, row, "an infinite value", "a finite one", finite)
            if names is channels.inputs and np.isnan(series).any():
                row = int(index[np.argmax(np.isnan(series))])
                _complain(table, column, row, "a gap in an input", "a number", gap)


def _step(
    table: Table,
    column: object,
    stamps: Float[np.ndarray, " rows"],
    index: Int[np.ndarray, " time"],
) -> float:
    """The sampling time; raise unless time stamps are complete, increasing and regular."""
    times = stamps[index]
    bad = ~np.isfinite(times)
    if bad.any():
        remedy = "Give every row a time stamp, or leave `time` out and give sampling_time."
        _complain(table, column, int(index[np.argmax(bad)]), "no time stamp", "a number", remedy)
    steps = np.diff(times)
    usual = float(np.median(steps))
    irregular = f"irregular sampling (the usual step is {usual:.6g})"
    for wrong, what, remedy in (
        (steps == 0, "a duplicate time stamp", "Remove one."),
        (steps < 0, "an unsorted time stamp", _SORT),
        (abs(steps - usual) > JITTER * usual, irregular, _RESAMPLE),
    ):
        if wrong.any():
            at = int(np.argmax(wrong))
            given = f"{what}: {times[at]:.10g} is followed by {times[at + 1]:.10g}"
            wanted = "equal steps forward in time"
            _complain(table, column, int(index[at + 1]), given, wanted, remedy)
    return float((times[-1] - times[0]) / (len(times) - 1))
