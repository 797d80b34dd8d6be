"""From named columns to experiments: what is found, what is refused, and in which row."""

import datetime
import warnings

import numpy as np
import pytest

from gpssm import DataError
from gpssm.data.io.pieces import check_table, split_table
from gpssm.data.io.tables import (
    Channels,
    Request,
    Table,
    matrix,
    read_stamps,
    resolve,
    unit_of_time,
)
from gpssm.data.io.timing import Timing


def table(rows=None, **columns):
    """Lists become columns of cells, arrays stay as they are."""
    made = {
        name: values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
        for name, values in columns.items()
    }
    return Table("log", made, rows=None if rows is None else np.array(rows))


def complaint(call, *args, **kwargs):
    with pytest.raises(DataError) as error:
        call(*args, **kwargs)
    return str(error.value)


# ---------------------------------------------------------------------- columns


def test_columns_are_found_by_name_position_and_group():
    made = Table(
        "log",
        {name: np.zeros(3) for name in ("t", "u", "y[0]", "y[1]", "run")},
        groups={"y": ("y[0]", "y[1]")},
        units={"u": "V", "y[1]": "m", "t": "ms", "other": "s"},
    )
    request = Request.of("y", [1], "t", 4, Timing())
    units = {"u": "V", "y[1]": "m", "t": "ms"}
    assert resolve(made, request) == Channels(("u",), ("y[0]", "y[1]"), "t", "run", units)
    assert resolve(made, Request.of(0, (), None, None, Timing()))[1:4] == (("t",), None, None)
    assert "column 5, expected a position from 0 to 4" in complaint(resolve, made, Request((5,)))
    assert "column -1, expected a position from 0" in complaint(resolve, made, Request((-1,)))
    twice = complaint(resolve, made, Request(("y", "u"), ("u",)))
    assert twice.startswith("log: got column 'u' twice, expected it once.")
    assert "'t' twice" in complaint(resolve, made, Request(("y",), ("u", "t"), time="t"))


def test_a_request_needs_outputs_and_a_unit_a_time():
    assert Request.of(3, "u", None, None, Timing()) == Request((3,), ("u",))
    assert Request.of(["y"], (), "t", None, Timing("ms")).time == "t"
    message = complaint(Request.of, "y", (), None, None, Timing("ms"))
    assert message.startswith("time_unit: got no time column, expected one. Name the column")
    message = complaint(Request.of, [], "u", "t", None, Timing("ms"))
    assert message.startswith("outputs: got no column, expected at least one. Say which")


@pytest.mark.parametrize("name", ["cube", "cube[1]", "cube.x"])
def test_a_variable_that_is_no_column_says_why(name):
    made = Table("log", {"y": np.zeros(3)}, refused={"cube": "a text"})
    message = complaint(resolve, made, Request((name,)))
    assert message.startswith("log, column 'cube': got a text, expected numbers. Store it")


def test_an_unknown_name_is_answered_with_the_nearest_ones():
    made = Table("log", {"level": np.zeros(3), "flow, in": np.zeros(3)}, groups={"pumps": ()})
    message = complaint(resolve, made, Request(("flow",)))
    assert "quote a name with a comma twice: '\"flow, in\"'. It has ['level', 'flow" in message
    message = complaint(resolve, made, Request(("LEVL",)))
    listed = "It has ['level', 'flow, in', 'pumps']."
    assert message == (
        f"log: got column 'LEVL', expected one of its columns. Nearest: ['level']. {listed}"
    )
    assert complaint(resolve, made, Request(("xyz",))).endswith(f"one of its columns. {listed}")
    assert "Nearest: ['pumps']" in complaint(resolve, made, Request(("pumpe",)))
    assert "Nearest: ['level']" in complaint(resolve, made, Request(("lel",)))


def test_columns_have_the_length_of_the_first():
    made = table(u=[1.0] * 4, v=[1.0] * 4, y=[1.0] * 3)
    assert complaint(resolve, made, Request(("y",), ("u", "v"))) == (
        "log, column 'y': got 3 rows, expected 4, as in column 'u'. "
        "Choose columns of one recording."
    )


# ---------------------------------------------------------------------- numbers


def test_columns_become_a_matrix_of_numbers():
    made = table(
        a=np.array([1, 2], np.int8), b=["1.5", None], c=np.array([True, False]), d=["TRUE", "n/a"]
    )
    found = matrix(made, ["b", "a", "c", "d"], 2)
    np.testing.assert_array_equal(found, [[1.5, 1, 1, 1], [np.nan, 2, 0, np.nan]])
    assert found.dtype == np.float64
    assert matrix(made, [], 7).shape == (7, 0)


@pytest.mark.parametrize(
    ("cell", "given", "remedy"),
    [
        ("off", "'off'", "Correct the cell; an output may"),
        (" -1,5e3", "' -1,5e3'", "Write decimal points, not commas."),
        ("x1,5", "'x1,5'", "Correct the cell"),
        (datetime.date(2024, 3, 1), "'2024-03-01'", "Correct the cell"),
        ("x" * 50, repr("x" * 40), "Correct the cell"),
    ],
)
def test_a_cell_that_is_no_number_is_named_with_its_row(cell, given, remedy):
    for rows, row in ((None, 2), ([7, 9, 11], 9)):
        message = complaint(matrix, table(rows, y=["1", cell, "2"]), ["y"], 3)
        assert message.startswith(f"log, column 'y', row {row}: got {given}, expected a number.")
        assert remedy in message


def test_decimal_commas_are_numbers_where_the_file_may_have_them():
    made = table(y=["1,5", "2"], u=["0,25", "1"])
    commas = Table("log", made.columns, decimal_commas=True)
    np.testing.assert_array_equal(matrix(commas, ["y", "u"], 2), [[1.5, 0.25], [2, 1]])
    assert "Write decimal points" in complaint(matrix, made, ["y"], 2)
    both = Table("log", {"y": np.array(["1,5", "2.5"], object)}, decimal_commas=True)
    assert complaint(matrix, both, ["y"], 2).startswith(
        "log, column 'y': got numbers such as '1,5'"
    )


# ---------------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("name", "stated", "given", "unit", "reason"),
    [
        ("t_ms", "s", "us", "us", "given"),
        ("t_ms", "ms", None, "ms", "the row of units says"),
        ("t", "min", None, "min", "the row of units says"),
        ("t_ms", "V", None, "ms", "its name says"),
        ("t", "", None, "us", "numbers of this size count from 1970 on"),
    ],
)
def test_what_says_the_unit_of_time(name, stated, given, unit, reason):
    made = Table("log", {name: np.array([1.7e15, 1.0])}, units={name: stated})
    assert unit_of_time(made, name, given) == (unit, reason)


def test_two_units_of_time_are_refused_and_none_is_seconds():
    assert unit_of_time(table(t=np.array([1.0, 2.0])), "t", None) == ("s", "")
    made = Table("log", {"t_ms": np.zeros(2)}, units={"t_ms": "s"})
    assert complaint(unit_of_time, made, "t_ms", None) == (
        "log, column 't_ms': got the unit 's', expected 'ms' as in its name. "
        "Give the unit (--time-unit, in Python time_unit=)."
    )


def stamps(*cells, unit=None, name="t"):
    return read_stamps(table(**{name: list(cells)}), name, unit)


def test_dates_know_whether_they_had_an_offset():
    found = stamps("2024-03-01T08:00:00Z")
    assert found.utc is True
    assert (found.name, str(found.values[0])[:19]) == ("t", "2024-03-01T08:00:00")
    assert stamps("2024-03-01 08:00:00", "2024-03-01 08:00:01").utc is False
    days = np.array(["2024-03-01", "2024-03-02"], "M8[ns]")
    assert read_stamps(table(t=days), "t", None).seconds.tolist() == [0, 86400]
    message = complaint(read_stamps, table(t=days), "t", "ms")
    assert (
        message == "time_unit: got 'ms' for a column of dates, expected none. Leave the unit out."
    )
    assert "for a column of dates" in complaint(stamps, "08:00:00", "08:00:01", unit="ms")
    assert len(stamps()) == 0


@pytest.mark.parametrize(
    ("cells", "seconds", "clock", "elapsed"),
    [
        (["08:00:00", "08:00:01.5"], [28800, 28801.5], True, False),
        (["23:00:00", "24:00:00"], [82800, 86400], True, True),
        (["23:00:00", "1 day 00:00:00"], [82800, 86400], True, True),
        (["0.5 sec", "1 min"], [0.5, 60], False, False),
    ],
)
def test_clock_times_and_durations_are_seconds(cells, seconds, clock, elapsed):
    found = stamps(*cells)
    assert found.values.tolist() == seconds
    assert (found.clock, found.elapsed, found.utc, found.unit) == (clock, elapsed, False, 1.0)


def test_numbers_of_time_are_in_a_unit():
    found = stamps("0", "0.5", unit="min")
    assert (found.values.tolist(), found.unit) == ([0, 0.5], 60.0)
    assert stamps("0", "1", name="t_us").unit == 1e-6
    assert stamps(0, 1).values.dtype == np.float64
    long = 1_700_000_000_123_456_789
    found = stamps(str(long), f" {long + 1}", unit="ns")
    assert (found.values.tolist(), found.values.dtype) == ([long, long + 1], np.int64)
    found = read_stamps(table(t=np.array([1, 2], np.int16)), "t", None)
    assert found.values.dtype == np.int64


def test_a_column_is_of_dates_if_its_first_cell_is_one():
    message = complaint(stamps, "2024-03-01 08:00:00", "later", "2024-03-01 08:00:02")
    assert message == (
        "log, column 't', row 2: got 'later', expected a date as in the first row. "
        "Correct the cell; every row needs a time stamp."
    )
    message = complaint(stamps, "30.02.2024", "01.03.2024")
    assert message == (
        "log, column 't', row 1: got '30.02.2024', expected a number. "
        "Write seconds, or dates such as 2024-03-01 10:00:00."
    )
    with pytest.warns(UserWarning, match=r"column 't': times of two numbers .* hours:minutes\.$"):
        stamps("08:00", "08:01")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stamps("08:00:00", "08:00:01")


# ---------------------------------------------------------------------- experiments


def checked(made, **request):
    timing = Timing(**request.pop("timing", {}))
    columns = {"inputs": (), "time": None, "experiment": None, **request}
    return check_table(made, Request.of(**columns, timing=timing))


def two_runs(**columns):
    """Two experiments whose rows alternate, four of each."""
    t = np.repeat([0.0, 1.0, 2.0, 3.0], 2)
    u, y = np.arange(8.0), 10.0 + np.arange(8.0)
    return table(
        range(101, 109), **{"run": np.tile([7.0, 3.0], 4), "t": t, "u": u, "y": y, **columns}
    )


RUNS = {"outputs": "y", "inputs": "u", "time": "t", "experiment": "run"}


def test_experiments_are_in_the_order_in_which_they_appear():
    found = checked(two_runs(), **RUNS)
    assert [(p.name, p.sampling_time) for p in found.pieces] == [("7", 1.0), ("3", 1.0)]
    first, second = found.pieces
    assert (first.u[:, 0].tolist(), second.y[:, 0].tolist()) == ([0, 2, 4, 6], [11, 13, 15, 17])
    assert (found.source, found.name, found.notes) == ("log", "data", ())
    names = checked(two_runs(run=[1.5, "a"] * 4), **RUNS).pieces
    assert [piece.name for piece in names] == ["1.5", "a"]


def test_a_row_without_an_experiment_is_named_by_its_number():
    run = np.array([7, 3, 7, np.nan, 7, 3, np.nan, 3])
    message = complaint(checked, two_runs(run=run), **RUNS)
    assert message.startswith("log, column 'run', row 104: got an empty cell, expected a name.")


def test_a_lag_takes_the_inputs_of_later_rows():
    (one, _) = checked(two_runs(), **RUNS, timing={"input_lag": 1}).pieces
    assert (one.u[:, 0].tolist(), one.y[:, 0].tolist()) == ([2, 4, 6], [10, 12, 14])
    assert one.stamps.values.tolist() == [0, 1, 2]
    assert len(checked(two_runs(), **RUNS, timing={"input_lag": 2}).pieces[0].y) == 2
    message = complaint(checked, two_runs(), **RUNS, timing={"input_lag": 3})
    assert message == "log: got 4 rows of data, expected at least 5. Record more."


def test_a_new_step_keeps_the_place_in_time():
    (one, _) = checked(
        two_runs(t=100 + np.repeat([0.0, 1, 2, 3], 2)), **RUNS, timing={"resample": 0.5}
    ).pieces
    assert (one.sampling_time, one.stamps.values.tolist()) == (0.5, [100 + i / 2 for i in range(7)])
    np.testing.assert_array_equal(one.u[::2, 0], [0, 2, 4, 6])


@pytest.mark.parametrize(
    ("column", "row", "value", "words"),
    [
        (
            "u",
            3,
            np.inf,
            "row 104: got an infinite value, expected a finite one. Correct the value",
        ),
        ("y", 5, -np.inf, "row 106: got an infinite value, expected a finite one"),
        ("u", 5, np.nan, "row 106: got a gap in an input, expected a number. Fill the gap"),
        ("t", 5, 0.5, "row 106: got an unsorted time stamp: 1 is followed by 0.5"),
        ("t", 5, 1.0, "row 106: got a duplicate time stamp: 1 is followed by 1, expected equal"),
        ("t", 7, 9.0, "row 108: got irregular sampling: 1 of 3 steps are off"),
    ],
)
def test_a_fault_is_told_at_its_row_of_the_file(column, row, value, words):
    made = two_runs()
    made.columns[column][row] = value
    assert f"log, column {column!r}, {words}" in complaint(checked, made, **RUNS)


def test_an_input_may_pause_where_a_new_step_holds_it():
    made = two_runs()
    made.columns["u"][3] = made.columns["y"][5] = np.nan
    timing = {"resample": 1.0}
    assert checked(made, **RUNS, timing=timing).pieces[1].u[:, 0].tolist() == [1, 1, 5, 7]
    message = complaint(checked, made, **RUNS, timing={**timing, "input_lag": 1})
    assert message.startswith(
        "log, column 'u', row 104: got a gap in an input, expected a number in every row, as a lag"
    )
    made.columns["u"][3] = 3.0
    assert len(checked(made, **RUNS, timing={**timing, "input_lag": 1}).pieces[1].y) == 3
    made.columns["u"][1::2] = np.nan
    message = complaint(checked, made, **RUNS, timing=timing)
    assert message.startswith("log, column 'u', row 102: got a gap in an input, expected a number.")


def test_two_values_of_a_channel_at_one_time_are_refused_before_resampling():
    made = two_runs(t=np.array([0.0, 0, 1, 1, 1, 1, 3, 3]))
    made.columns["u"][[2, 4]] = made.columns["y"][2], 5.0
    made.columns["y"][4] = np.nan
    message = complaint(checked, made, **RUNS, timing={"resample": 1.0})
    assert message.startswith(
        "log, column 'u', row 105: got a second value at the same time stamp, expected one value"
    )
    made.columns["u"][4] = made.columns["u"][2]
    made.columns["u"][5], made.columns["y"][3] = made.columns["u"][3], np.nan
    found = checked(made, **RUNS, timing={"resample": 1.0}).pieces
    np.testing.assert_array_equal(found[1].y[:, 0], [11, 15, np.nan, 17])


def test_a_block_of_a_file_may_end_with_one_row_of_an_experiment():
    made = table(run=["a", "b", "b"], t=np.array([0.0, 5, 6]), u=np.zeros(3), y=np.ones(3))
    channels = Channels(("u",), ("y",), "t", "run")
    found = split_table(made, channels, Timing(), whole=False)
    assert [(piece.name, piece.sampling_time) for piece in found] == [("a", None), ("b", 1.0)]
    assert "got 1 rows of data, expected at least 2" in complaint(
        split_table, made, channels, Timing()
    )


def rounded(rows=60):
    t = np.round(0.015 * np.arange(rows), 2)
    return table(t=t, u=np.zeros(rows), y=np.ones(rows))


def test_a_clock_that_rounds_is_believed_in_a_whole_table_only():
    assert checked(rounded(), outputs="y", time="t").pieces[0].deviation > 0.3
    channels = Channels((), ("y",), "t")
    message = complaint(split_table, rounded(), channels, Timing(), whole=False)
    assert "irregular sampling" in message
