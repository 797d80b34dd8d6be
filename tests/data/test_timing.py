"""The unit and the step of time stamps: limits from both sides, and every part of a message."""

import numpy as np
import pytest

from gpssm import DataError
from gpssm.data.io.timing import (
    Fault,
    Regularity,
    Timing,
    common_step,
    find_disorder,
    find_regularity,
    guess_unit,
    known_unit,
    unit_since_1970,
)
from gpssm.data.stamps import Stamps

EQUAL = "equal steps forward in time"


def stamps(*seconds):
    return Stamps("t", np.array(seconds))


# ---------------------------------------------------------------------- units and options


@pytest.mark.parametrize(
    ("first", "unit"),
    [
        (5e11, None), (5.1e11, "ms"), (6e11, "ms"), (4.9e12, "ms"), (5e12, None), (5.1e12, None),
        (5.1e14, "us"), (4.9e15, "us"), (5.1e17, "ns"), (4.9e18, "ns"), (1.7e9, None), (0.0, None),
    ],
)  # fmt: skip
def test_the_size_of_a_stamp_tells_its_unit(first, unit):
    assert unit_since_1970(np.array([first, 1.7e12])) == unit


def test_texts_of_numbers_tell_their_unit_and_others_none():
    assert unit_since_1970(np.array(["1700000000000", "1"], dtype=object)) == "ms"
    for first in ([], [None], ["off"]):
        assert unit_since_1970(np.array(first, dtype=object)) is None


def test_a_word_or_the_end_of_a_name_is_a_unit():
    assert [known_unit(word) for word in (" MS ", "Hours", "V", "")] == ["ms", "h", None, None]
    names = ("t_us", "time [ns]", "timeMs", "t", "level [V]")
    assert [guess_unit(name) for name in names] == ["us", "ns", "ms", None, None]


def test_options_are_checked_where_they_are_given():
    timing = Timing("ms", 2, 0)
    assert (timing.unit, timing.resample, timing.input_lag) == ("ms", 2.0, 0)
    assert type(timing.resample) is float
    assert Timing(input_lag=1) == Timing(None, None, 1)
    for options, words in (
        ({"unit": "days"}, r"time_unit: got 'days', expected one of ns, us, ms, s, min, h\."),
        ({"resample": 0.0}, "resample: got 0.0, expected a positive number"),
        ({"input_lag": True}, "input_lag: got True, expected a whole number"),
        ({"input_lag": -1}, "input_lag: got -1, expected 0 rows or more"),
    ):
        with pytest.raises(DataError, match=words):
            Timing(**options)


# ---------------------------------------------------------------------- order


def test_stamps_in_order_have_no_fault():
    assert find_disorder(stamps(0.0, 0.5, 1.0), may_repeat=False) is None
    assert find_disorder(stamps(0.0, 0.0, 1.0), may_repeat=True) is None


def test_a_row_without_a_stamp_comes_first():
    fault = find_disorder(stamps(0.0, 0.0, np.nan, np.nan), may_repeat=False)
    assert (fault.row, fault.given, fault.wanted) == (2, "no time stamp", "a number")
    assert "leave the time column out" in fault.remedy
    assert type(fault.row) is int


def test_stamps_that_repeat_are_counted():
    found = find_disorder(stamps(0.5, 1.25, 1.25, 3.0), may_repeat=False)
    given = "a duplicate time stamp: 1.25 is followed by 1.25"
    assert found == Fault(2, given, EQUAL, "Remove one.")
    found = find_disorder(stamps(0.0, 1.0, 2.5, 2.5, 2.5, 4.0), may_repeat=False)
    given = "2 of 5 time stamps equal to the one before: 2.5 is followed by 2.5"
    assert (found.row, found.given, found.wanted) == (3, given, EQUAL)
    assert "Remove the repeated rows. If the clock is too coarse" in found.remedy


@pytest.mark.parametrize("may_repeat", [True, False])
def test_a_step_back_is_told_with_both_stamps(may_repeat):
    found = find_disorder(stamps(0.1, 0.3 + 1e-12, 0.2, 0.1), may_repeat)
    assert (found.row, found.wanted) == (2, EQUAL)
    assert found.given == "an unsorted time stamp: 0.3 is followed by 0.2"
    assert found.remedy.startswith("Sort the rows by time")
    long = Stamps("t", np.array([0, 1700000000123, 17]), 1e-3)
    given = find_disorder(long, may_repeat).given
    assert given == "an unsorted time stamp: 1700000000123 is followed by 17"


# ---------------------------------------------------------------------- steps


def test_steps_may_be_off_by_a_twentieth_of_the_usual_one():
    for last in (19.0, 20.0, 21.0):
        found = find_regularity(stamps(0.0, 20.0, 40.0, 40.0 + last), strict=True)
        assert found == Regularity(pytest.approx((40.0 + last) / 3, rel=1e-12), 0.0)
    for last in (18.9, 21.1):
        assert type(find_regularity(stamps(0.0, 20.0, 40.0, 40.0 + last), strict=True)) is Fault


def test_a_step_has_as_few_digits_as_tell_it():
    assert find_regularity(Stamps("t", 0.1 * np.arange(7)), strict=True).step == 0.1
    step = 1.0000000000014
    assert find_regularity(stamps(0.0, step, 2 * step), strict=True).step == 1.000000000001


def around(step, rows, off):
    """Equal steps, but two stamps as far from the ends are off by as much of a step."""
    t = np.arange(float(rows))
    t[[rows // 3, -1 - rows // 3]] += off
    return Stamps("t", step * t)


@pytest.mark.parametrize(
    ("rows", "off", "strict", "accepted"),
    [
        (21, 0.3, False, True), (21, 0.3, True, False), (20, 0.3, False, False),
        (1001, 0.399, False, True), (1001, 0.402, False, False), (1001, 0.6, False, False),
    ],
)  # fmt: skip
def test_a_clock_may_round_by_two_fifths_of_a_step(rows, off, strict, accepted):
    found = find_regularity(around(2.0, rows, off), strict)
    assert isinstance(found, Regularity) is accepted
    if accepted:
        assert found.step == 2.0
        # the line lies at the mean of the stamps
        assert found.deviation == pytest.approx(off - 2 * off / rows, rel=1e-9)


@pytest.mark.parametrize(("step", "rows", "shown"), [(1.0008, 1001, 1.001), (1.0016, 101, 1.002)])
def test_the_digits_of_a_rounded_step_are_those_that_the_record_tells(step, rows, shown):
    """Twice the rounding over the record, and no more than one in a thousand."""
    assert find_regularity(around(step, rows, 0.3), strict=False).step == shown


def test_the_straight_line_is_that_of_least_squares():
    t = np.arange(40.0) + 0.35 * np.sin(np.arange(40.0) ** 2)
    slope, offset = np.polyfit(np.arange(40), t, 1)
    found = find_regularity(Stamps("t", t), strict=False)
    worst = np.max(abs(t - offset - slope * np.arange(40))) / slope
    assert found.deviation == pytest.approx(worst, rel=1e-9)
    assert found.step == pytest.approx(slope, rel=1e-3)


def test_irregular_steps_are_counted_and_a_new_one_is_proposed():
    assert find_regularity(stamps(0.0, 1.03, 2.06, 3.09, 9.09), strict=False) == Fault(
        4,
        "irregular sampling: 1 of 4 steps are off the usual 1.03 s by more than 5 %, by 4.97 s at "
        "most: 3.09 is followed by 9.09",
        EQUAL,
        "Resample it (--resample 1.03, in Python resample=1.03), or start a new experiment at the "
        "jump.",
    )
    remedy = find_regularity(stamps(0.0, 0.99, 1.98, 2.97, 9.0), strict=False).remedy
    assert "(--resample 1, in Python resample=1)" in remedy


# ---------------------------------------------------------------------- one step for all


def test_the_first_known_step_is_that_of_all():
    assert common_step([("a", None), ("b", 2.0), ("c", 2.05)], None) == 2.0
    assert common_step([("a", 20.0), ("b", 19.0), ("c", 21.0)], None) == 20.0
    assert common_step([("a", 1.02)], 1.0) == 1.0
    assert common_step([], 3.0) == 3.0
    assert common_step([("a", None)], None) is None


@pytest.mark.parametrize(
    ("steps", "given", "message"),
    [
        ([19.0, 20.0], None, "b: got a step of 20 s, expected 19 s as in a."),
        ([20.0, 21.1], None, "b: got a step of 21.1 s, expected 20 s as in a."),
        ([None, 18.9], 20.0, "b: got a step of 18.9 s, expected 20 s as in sampling_time."),
    ],
)
def test_another_step_is_refused(steps, given, message):
    with pytest.raises(DataError) as error:
        common_step(list(zip("ab", steps, strict=True)), given)
    assert str(error.value).startswith(message)
