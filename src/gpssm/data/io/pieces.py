"""From a table to its experiments: checked arrays, one row for each time step."""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from gpssm.base.errors import DataError, expected
from gpssm.data.experiment import MIN_ROWS
from gpssm.data.stamps import Stamps
from gpssm.data.transforms.resample import resample_rows

from .tables import Channels, Request, Table, complain, matrix, read_stamps, resolve, unit_of_time
from .timing import Fault, Regularity, Timing, find_disorder, find_regularity


class Piece(NamedTuple):
    """One experiment of a table, checked.

    `deviation` of its time stamps from equal steps, at most, in steps.
    """

    name: str
    u: Float64[np.ndarray, "time inputs"]
    y: Float64[np.ndarray, "time outputs"]
    sampling_time: float | None
    stamps: Stamps | None = None
    deviation: float = 0.0


class Checked(NamedTuple):
    """The requested columns of a file or frame, after all checks."""

    source: str
    name: str
    channels: Channels
    pieces: list[Piece]
    notes: tuple[str, ...] = ()


def check_table(table: Table, request: Request) -> Checked:
    """Check a table and cut it into its experiments."""
    channels = resolve(table, request)
    pieces = split_table(table, channels, request.timing)
    notes = unit_notes(table, pieces, request.timing)
    return Checked(table.source, table.name, channels, pieces, notes)


def unit_notes(table: Table, pieces: Sequence[Piece], timing: Timing) -> tuple[str, ...]:
    """A note on a unit of time that the user did not give."""
    stamps = pieces[0].stamps
    if stamps is None or stamps.unit == 1.0 or timing.unit is not None:
        return ()
    unit, reason = unit_of_time(table, stamps.name, None)
    change = "--time-unit or time_unit= changes it"
    return (f"{stamps.name!r} is read in {unit}, as {reason} ({change})",)


def split_table(
    table: Table, channels: Channels, timing: Timing, whole: bool = True
) -> list[Piece]:
    """Cut a table into its experiments; a block of its rows may hold a single row of one."""
    rows = len(table.columns[channels.outputs[0]])
    u, y = (matrix(table, columns, rows) for columns in channels[:2])
    stamps = None if channels.time is None else read_stamps(table, channels.time, timing.unit)
    new_step = None if stamps is None else timing.resample
    pieces = []
    for name, index in _groups(table, channels.experiment, rows):
        if whole and len(index) < MIN_ROWS + timing.input_lag:
            given = f"{len(index)} rows of data"
            wanted = f"at least {MIN_ROWS + timing.input_lag}"
            raise DataError(expected(table.source, given, wanted, "Record more."))
        _check_values(table, channels, u, y, index, may_pause=new_step is not None)
        if stamps is not None and new_step is not None:
            _check_rows(table, channels, u, y, index, stamps, timing.input_lag)
        piece = _without_lag(Piece(name, u[index], y[index], None), timing.input_lag)
        if stamps is not None:
            kept = index[: len(piece.y)]
            piece = piece._replace(stamps=stamps[kept])
            piece = _timed(table, piece, kept, new_step, strict=not whole)
        pieces.append(piece)
    return pieces


def _without_lag(piece: Piece, lag: int) -> Piece:
    """Each input in the row from which it leads to the next; the last rows have none."""
    return piece._replace(u=piece.u[lag:], y=piece.y[: len(piece.y) - lag])


def _timed(
    table: Table,
    piece: Piece,
    index: Int[np.ndarray, " time"],
    new_step: float | None,
    strict: bool,
) -> Piece:
    """With the step of its time stamps, or at equal steps of another one."""
    stamps = piece.stamps
    if stamps is None or len(stamps) < MIN_ROWS:
        return piece
    if fault := find_disorder(stamps, may_repeat=new_step is not None):
        _refuse_time(table, stamps, index, fault)
    if new_step is not None:
        times, u, y = resample_rows(stamps.seconds, piece.u, piece.y, new_step)
        return Piece(piece.name, u, y, new_step, stamps.after(times))
    found = find_regularity(stamps, strict)
    if isinstance(found, Regularity):
        return piece._replace(sampling_time=found.step, deviation=found.deviation)
    return _refuse_time(table, stamps, index, found)


def _refuse_time(
    table: Table, stamps: Stamps, index: Int[np.ndarray, " time"], fault: Fault
) -> NoReturn:
    complain(table, stamps.name, int(index[fault.row]), fault.given, fault.wanted, fault.remedy)


def _groups(
    table: Table, column: str | None, count: int
) -> list[tuple[str, Int[np.ndarray, " time"]]]:
    """The rows of each experiment, in the order in which the experiments first appear."""
    if column is None:
        return [(table.name, np.arange(count))]
    codes, ids = pd.factorize(pd.Series(table.columns[column]))
    if (codes < 0).any():
        remedy = "Give every row the name of its experiment."
        complain(table, column, int(np.argmin(codes)), "an empty cell", "a name", remedy)
    return [(_plain(value), np.flatnonzero(codes == code)) for code, value in enumerate(ids)]


def _plain(value: Any) -> str:
    """The name of an experiment: 3 and not 3.0 where a column of whole numbers was floats."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _check_values(
    table: Table,
    channels: Channels,
    u: np.ndarray,
    y: np.ndarray,
    index: np.ndarray,
    may_pause: bool,
) -> None:
    """Raise at an infinite value, and at a gap in an input; if it may pause, at nothing else."""
    gap = (
        "Fill the gap (inputs are known: you sent them), start a new experiment there, or resample "
        "(--resample, in Python resample=), which holds the last input."
    )
    finite = "Correct the value; a missing output is an empty cell or NaN."
    for names, values in ((channels.inputs, u[index]), (channels.outputs, y[index])):
        for column, series in zip(names, values.T, strict=True):
            if np.isinf(series).any():
                row = int(index[np.argmax(np.isinf(series))])
                complain(table, column, row, "an infinite value", "a finite one", finite)
            missing = np.isnan(series)
            if names is channels.inputs and (missing.all() if may_pause else missing.any()):
                row = int(index[np.argmax(missing)])
                complain(table, column, row, "a gap in an input", "a number", gap)


def _check_rows(
    table: Table,
    channels: Channels,
    u: np.ndarray,
    y: np.ndarray,
    index: np.ndarray,
    stamps: Stamps,
    lag: int,
) -> None:
    """Raise where rows to be resampled do not say when a value holds."""
    seconds = stamps[index].seconds
    for names, values in ((channels.inputs, u[index]), (channels.outputs, y[index])):
        for column, series in zip(names, values.T, strict=True):
            known = np.flatnonzero(~np.isnan(series))
            if lag and names is channels.inputs and len(known) < len(series):
                row = int(index[np.argmax(np.isnan(series))])
                remedy = "Fill the gap, or leave the lag out (--input-lag, in Python input_lag=)."
                wanted = "a number in every row, as a lag counts rows"
                complain(table, column, row, "a gap in an input", wanted, remedy)
            clash = (np.diff(seconds[known]) == 0) & (np.diff(series[known]) != 0)
            if clash.any():
                row = int(index[known[np.argmax(clash) + 1]])
                given = "a second value at the same time stamp"
                remedy = (
                    "Write time stamps with more digits, or leave the time column out and give "
                    "the step (--sampling-time, in Python sampling_time=)."
                )
                complain(table, column, row, given, "one value of a channel at a time", remedy)
