"""Columns of dates, clock times and durations; the values are those of Python's datetime."""

import datetime

import numpy as np
import pandas as pd
import pytest

from gpssm import DataError
from gpssm.data.io.dates import looks_like_time, read_times


def times(*cells):
    return read_times(np.array(cells, dtype=object), "log")


def seconds(*cells):
    """Of a column of clock times or durations, None where there is none."""
    found = times(*cells)
    rows = zip(found.values / np.timedelta64(1, "s"), found.bad, strict=True)
    return [None if bad else value for value, bad in rows]


def dates(*cells):
    found = times(*cells)
    rows = zip(found.values, found.bad, strict=True)
    return [None if bad else str(value.astype("M8[ms]")) for value, bad in rows]


@pytest.mark.parametrize(
    "cell",
    [
        "2024-03-01", "2024/03/01 10:00", "20240301T100000", "01.03.2024", "1-Mar-2024 10:00",
        "08:00", "26:00:00.5", "1 day 02:00:00", "2 days 00:00:10", "1:00 p.m.", "0.1 sec",
        " 5e-3 s ", datetime.date(2024, 3, 1), datetime.time(8), pd.Timestamp("2024-03-01"),
        datetime.timedelta(hours=3), np.timedelta64(3, "s"),
    ],
)  # fmt: skip
def test_a_time_is_seen(cell):
    assert looks_like_time(cell) is True


@pytest.mark.parametrize("cell", ["", "12", "1.5", "off", "3 V", "8", 3.5, None, 7, True])
def test_what_is_no_time(cell):
    assert looks_like_time(cell) is False
    assert times(cell, "2024-03-01") is None


# ---------------------------------------------------------------------- clock times


def test_clock_times_are_seconds_since_midnight():
    assert seconds("08:00:00", "08:01:02.5", "9:00:59,25") == [28800, 28862.5, 32459.25]
    assert seconds("00:00:01.001", "00:00:01.003") == [1.001, 1.003]  # rounded, not cut off
    assert seconds("1 day 02:00:03", "2 days 00:00:10") == [93603, 172810]
    assert seconds("30:00:00", "101:00:01") == [108000, 363601]
    assert seconds(datetime.time(23), datetime.timedelta(hours=25)) == [82800, 90000]
    assert times("08:00:00").remark == ""


def test_a_clock_has_sixty_minutes_and_seconds():
    assert seconds("08:59:59.9", "09:60:00", "09:00:60", "later", "10:00:00") == [
        32399.9, None, None, None, 36000,
    ]  # fmt: skip


def test_half_days_count_from_one_to_twelve():
    morning = seconds("12:00:01 AM", "1:00:00 am", "11:00:00 a.m.", "12:00:00 PM", "1:00:00 pm")
    assert morning == [1, 3600, 39600, 43200, 46800]
    assert seconds("1:00:00 AM", "0:30:00 AM", "13:00:00 AM", "2:00:00 PM") == [
        3600, None, None, 50400,
    ]  # fmt: skip


def test_a_fall_by_more_than_half_a_day_is_midnight():
    assert seconds("23:59:59", "00:00:00", "12:00:00", "11:00:00", "23:00:00", "01:00:00") == [
        86399, 86400, 129600, 126000, 169200, 176400,
    ]  # fmt: skip
    assert seconds("18:00:00", "06:00:00") == [64800, 21600]
    assert seconds("18:00:01", "06:00:00") == [64801, 108000]


def test_two_numbers_are_hours_and_minutes_with_a_remark():
    found = times("23:59", "00:01")
    assert found.remark == "log: times of two numbers were read as hours:minutes"
    assert seconds("23:59", "00:01") == [86340, 86460]
    assert times("08:00", "08:01:30").remark == ""
    with pytest.raises(DataError, match=r"log: got two numbers with a colon, .* above 23"):
        times("08:00", "24:00")


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["100 ms", "-250ms"], [0.1, -0.25]),
        (["0.1 sec", "1,5 sec", "0.3"], [0.1, 1.5, None]),
        (["2e1 s", "3 min", "2 h", "0.5 hr"], [20, 180, 7200, 1800]),
    ],
)
def test_durations_have_a_unit_each(cells, wanted):
    assert seconds(*cells) == wanted


def test_clock_digits_of_other_scripts_are_numbers():
    assert seconds("٠٨:٠٠:٠١", "08:00:02") == [28801, 28802]


# ---------------------------------------------------------------------- dates


def test_dates_with_the_year_first():
    assert dates("2024-03-01 10:00:00", "2024-03-01 10:00:00,25", "2024-03-01T10:00:01.5", "x") == [
        "2024-03-01T10:00:00.000", "2024-03-01T10:00:00.250", "2024-03-01T10:00:01.500", None,
    ]  # fmt: skip
    assert dates("2024/03/01", "2024/3/2 01:00") == [
        "2024-03-01T00:00:00.000", "2024-03-02T01:00:00.000",
    ]  # fmt: skip
    assert dates("2024-03-01T10:00:00+02:00", "2024-03-01T10:00:00-01:00") == [
        "2024-03-01T08:00:00.000", "2024-03-01T11:00:00.000",
    ]  # fmt: skip


def test_months_have_english_names():
    names = ("Jan", "feb", "MAR", "April", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec")
    found = dates(*(f"02-{name}-2024 10:00:00.5" for name in names))
    assert found == [f"2024-{month:02d}-02T10:00:00.500" for month in range(1, 13)]
    assert dates("1 Mar 2024", "30-Feb-2024", "2-Foo-2024") == [
        "2024-03-01T00:00:00.000",
        None,
        None,
    ]


def test_with_dots_the_day_comes_first():
    found = times("01.02.2024 08:00", "30.02.2024 08:00", "02.02.2024 24:00:00", "02.02.2024 23:59")
    assert found.bad.tolist() == [False, True, True, False]
    assert found.values[[0, 3]].tolist() == [
        int(datetime.datetime(2024, 2, day, hour, minute, tzinfo=datetime.UTC).timestamp()) * 10**9
        for day, hour, minute in ((1, 8, 0), (2, 23, 59))
    ]
    assert found.remark == ""
    assert dates("01.02.2024", "01.02.2024 12:00:60") == ["2024-02-01T00:00:00.000", None]


REMARK = "log: dates were read with the {} first, as the column shows"


@pytest.mark.parametrize(
    ("cells", "order", "last"),
    [
        (["12/03/2024", "13/03/2024"], "day", "2024-03-13"),
        (["03/12/2024", "03/13/2024"], "month", "2024-03-13"),
        (["12-03-2024 10:00", "13-03-2024 1:00 PM"], "day", "2024-03-13T13"),
        (["01/02/2024", "02/02/2024", "03/02/2024"], "day", "2024-02-03"),
        (["02/01/2024", "02/02/2024", "02/03/2024"], "month", "2024-02-03"),
    ],
)
def test_a_column_shows_which_number_is_the_day(cells, order, last):
    found = times(*cells)
    assert found.remark == REMARK.format(order)
    assert str(found.values[-1]).startswith(last)
    assert not found.bad.any()


@pytest.mark.parametrize(
    "cells",
    [
        ["01/03/2024"],
        ["02/01/2024", "01/03/2024"],  # forward as days, but two rows show no equal steps
        ["01/02/2024", "04/02/2024", "03/02/2024", "02/02/2024"],
        ["01/02/2024", "02/02/2024", "04/02/2024"],
        ["13/13/2024", "14/13/2024", "15/13/2024"],
        ["01/02/2024 10:00", "01/02/2024 10:01", "01/02/2024 10:02"],  # at once day and month
    ],
)
def test_a_column_that_does_not_show_it_is_refused(cells):
    with pytest.raises(DataError) as error:
        times(*cells)
    assert str(error.value) == (
        f"log: got dates such as {cells[0].split()[0]}, expected a column that shows which number "
        "is the day. Write dates such as 2024-03-01 10:00:00."
    )


@pytest.mark.parametrize(("off", "regular"), [("00:14:24", True), ("00:14:25", False)])
def test_steps_are_equal_to_one_in_a_hundred(off, regular):
    """Of a day, 14 min 24 s."""
    cells = [
        "01/02/2024 00:00:00",
        "02/02/2024 00:00:00",
        "03/02/2024 00:00:00",
        f"04/02/2024 {off}",
    ]
    if regular:
        assert times(*cells).remark == REMARK.format("day")
    else:
        with pytest.raises(DataError, match="which number is the day"):
            times(*cells)
