"""Time stamps of users: their seconds, the same stamps later on, and how they are written."""

import numpy as np
import pytest

from gpssm.data.stamps import Stamps

LARGEST = 2**53  # from here on, floating point skips whole numbers


def dates(*texts, unit="ns", **options):
    return Stamps("when", np.array(texts, dtype=f"datetime64[{unit}]"), **options)


def test_numbers_are_in_seconds_unless_a_unit_is_given():
    assert Stamps("t", np.array([3.0, 3.5, np.nan])).seconds.tolist()[:2] == [0.0, 0.5]
    assert Stamps("t", np.array([3.0, 3.5, 5.0]), unit=60.0).seconds.tolist() == [0.0, 30.0, 120.0]
    when = dates("2024-03-01T10:00:00", "2024-03-01T10:01:00.250")
    assert when.seconds.tolist() == [0.0, 60.25]


def test_some_rows_keep_all_else():
    stamps = Stamps("t", np.arange(5.0), unit=60.0, utc=True, clock=True, elapsed=True)
    some = stamps[1:3]
    assert some.values.tolist() == [1.0, 2.0]
    assert (some.name, some.unit, some.utc, some.clock, some.elapsed) == ("t", 60.0, *[True] * 3)
    assert len(some) == 2


def test_numbers_go_on_in_their_unit():
    minutes = Stamps("t", np.array([7.0, 8.0]), unit=60.0)
    assert minutes.after(np.array([0.0, 90.0])).values.tolist() == [7.0, 8.5]
    assert minutes.after(np.array([90.0])).unit == 60.0


def test_dates_go_on_to_the_nanosecond():
    when = dates("2024-03-01T23:59:59", unit="s").after(np.array([0.0, 1.001, 3600.000000001]))
    assert when.values.dtype == "datetime64[ns]"
    assert when.values.astype(str).tolist() == [
        "2024-03-01T23:59:59.000000000",
        "2024-03-02T00:00:00.001000000",
        "2024-03-02T00:59:59.000000001",
    ]


def test_computed_numbers_have_nine_decimals():
    """Not 0.30000000000000004."""
    after = Stamps("t", np.array([0.1])).after(np.array([0.2, 0.12345678949]))
    assert after.values.tolist() == [0.3, 0.223456789]


@pytest.mark.parametrize("first", [LARGEST, -LARGEST])
def test_whole_numbers_that_floating_point_would_skip_stay_exact(first):
    stamps = Stamps("t", np.array([first]), unit=0.1)
    found = stamps.after(np.array([0.0, 0.1, 0.3])).values  # 0.3 / 0.1 is 2.9999999999999996
    assert found.dtype == np.int64
    assert found.tolist() == [first, first + 1, first + 3]


def test_smaller_whole_numbers_may_get_decimals():
    found = Stamps("t", np.array([LARGEST - 1])).after(np.array([0.0]))
    assert found.values.dtype == np.float64
    assert Stamps("t", np.array([4])).after(np.array([0.5])).values.tolist() == [4.5]
    large = Stamps("t", np.array([float(LARGEST)])).after(np.array([2.0]))
    assert large.values.dtype == np.float64


@pytest.mark.parametrize(
    ("fraction", "written"),
    [
        ("", ""),
        (".5", ".500"),
        (".012", ".012"),
        (".000012", ".000012"),
        (".0005", ".000500"),
        (".000000012", ".000000012"),
        (".00000005", ".000000050"),
    ],
)
def test_dates_have_as_many_digits_as_all_of_them_need(fraction, written):
    texts = dates("2024-03-01T10:00:07", f"2024-03-01T10:00:08{fraction}").written()
    assert texts[1] == f"2024-03-01T10:00:08{written}"
    assert texts[0] == "2024-03-01T10:00:07" + ("." + "0" * (len(written) - 1) if written else "")


def test_dates_that_had_offsets_say_that_they_are_in_utc():
    assert dates("2024-03-01T10:00:00", utc=True).written().tolist() == ["2024-03-01T10:00:00Z"]
    assert dates("2024-03-01T10:00:00", utc=False).written().tolist() == ["2024-03-01T10:00:00"]


def test_numbers_are_written_without_a_point_where_all_are_whole():
    whole = Stamps("t", np.array([1.0, -2.0])).written()
    assert (whole.dtype, whole.tolist()) == (np.int64, [1, -2])
    assert Stamps("t", np.array([1.0, 2.5])).written().tolist() == [1.0, 2.5]
    integers = Stamps("t", np.array([3, 4], dtype=np.int16)).written()
    assert integers.dtype == np.int16


@pytest.mark.parametrize(("size", "kind"), [(LARGEST - 1, "i"), (LARGEST, "f")])
@pytest.mark.parametrize("sign", [1, -1])
def test_only_numbers_that_are_exact_are_called_whole(size, kind, sign):
    assert Stamps("t", np.array([1.0, sign * float(size)])).written().dtype.kind == kind


def test_clocks_begin_again_at_midnight_unless_they_count_on():
    seconds = 3600.0 * np.array([8.0, 23.5, 24.0, 49.25])
    clock = Stamps("t", seconds, clock=True).written()
    assert clock.tolist() == ["08:00:00", "23:30:00", "00:00:00", "01:15:00"]
    elapsed = Stamps("t", seconds, clock=True, elapsed=True).written()
    assert elapsed.tolist() == ["08:00:00", "23:30:00", "24:00:00", "49:15:00"]


def test_clocks_have_the_digits_of_a_second_that_they_need():
    """1.001 times 10⁹ is not quite whole."""
    stamps = Stamps("t", np.array([1.001, 60.0]), clock=True)
    assert stamps.written().tolist() == ["00:00:01.001", "00:01:00.000"]
