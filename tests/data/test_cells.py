"""What one cell says: a number, a mark in a number, a unit; and the marks of a column."""

import datetime
import warnings

import numpy as np
import pytest

from gpssm import DataError, DataWarning
from gpssm.data.io.cells import decimal_mark, is_missing, is_number, is_value, number
from gpssm.data.io.decimals import with_points
from gpssm.data.io.unit_names import as_unit, unit_row


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (None, np.nan), (" NaN ", np.nan), ("", np.nan), ("#N/A", np.nan), ("TRUE", 1.0),
        (" false", 0.0), ("1e3", 1000.0), (" -2.5 ", -2.5), (7, 7.0), (True, 1.0),
    ],
)  # fmt: skip
def test_a_cell_is_a_number(cell, value):
    np.testing.assert_equal(number(cell), value)
    assert is_missing(cell) is bool(np.isnan(value))
    assert is_number(cell) is True
    assert is_value(cell) is not bool(np.isnan(value))


@pytest.mark.parametrize(
    "cell", ["1_000", "off", "1,5", "12:00", [1, 2], datetime.date(2024, 3, 1)]
)
def test_a_cell_is_no_number(cell):
    with pytest.raises((TypeError, ValueError)):
        number(cell)
    assert is_number(cell) is False
    assert is_missing(cell) is False
    assert is_number(cell, commas=True) is (cell == "1,5")
    assert is_value(cell) is (cell not in ("1_000", "off", "1,5", [1, 2]))
    assert is_value(cell, commas=True) is (cell not in ("1_000", "off", [1, 2]))


MARKS = {
    "": ("12", "off", "a, b", "1,2,3", "n.a.", "1.2.3"),
    ",": ("1,5", "-0,234", ",5", "1,5e-3", "1.234,5", "1.234.567", "1234,567", "1,2345"),
    ".": ("1.5", "+0.234", ".5", "1.", "1.5e3", "1,234.5", "1,234,567", "1234.567", "1.2345"),
    "?,": ("1,234", " -12,345 ", "999,000"),
    "?.": ("1.234", "+12.345", "999.000"),
}


@pytest.mark.parametrize(
    ("mark", "cell"), [(m, cell) for m, cells in MARKS.items() for cell in cells]
)
def test_a_mark_groups_thousands_or_begins_decimals(mark, cell):
    assert decimal_mark(cell) == mark


# ---------------------------------------------------------------------- marks of a column


def column(*cells):
    return np.array(cells, dtype=object)


@pytest.mark.parametrize(
    ("cells", "others", "wanted"),
    [
        (["1.234,5", " 2", None, "off", 3.5, ""], [], ["1234.5", " 2", None, "off", 3.5, ""]),
        (["1,234.5", "2,000", 4, "n.a."], [], ["1234.5", "2000", 4, "n.a."]),
        (["1,500", "2"], ["0,5"], ["1.500", "2"]),
        (["1,500", 3.5], ["0,5"], ["1.500", 3.5]),
        (["1.500", "2"], ["0.5"], ["1.500", "2"]),
        (["1.500", "NaN", ""], ["7"], ["1.500", "NaN", ""]),
        (["1", "2"], ["0,5", "0.5"], ["1", "2"]),
    ],
)
def test_a_column_is_rewritten_with_points(cells, others, wanted):
    values = column(*cells)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = with_points("log", values, [values, *(column(each) for each in others)])
    assert found.tolist() == wanted
    assert found.dtype == object


def test_a_comma_that_could_group_is_read_as_decimal_with_a_remark():
    values = column(None, " 1,500 ", "NaN", "2,250")
    with pytest.warns(DataWarning, match=r"^log: '1,500' was read with a decimal comma\.$"):
        found = with_points("log", values, [values])
    assert found.tolist() == [None, " 1.500 ", "NaN", "2.250"]


@pytest.mark.parametrize(
    ("cells", "others", "given"),
    [
        (["1,5", "7", "2.5"], [], "numbers such as '1,5' and '2.5', expected one decimal mark"),
        (
            ["1,234"],
            ["0.5"],
            "'1,234', which may be 1234 or 1.234, expected numbers of one meaning",
        ),
        (["1,234", "999"], [], "'1,234', which may be 1234 or 1.234"),
        (["1.234"], ["0,5"], "'1.234', which may be 1234 or 1.234"),
        (["999", "1.234", "2.345"], [], "'1.234', which may be 1234 or 1.234"),
    ],
)
def test_a_mark_of_two_meanings_is_refused(cells, others, given):
    values = column(*cells)
    with pytest.raises(DataError) as error:
        with_points("log", values, [values, *(column(each) for each in others)])
    assert str(error.value).startswith(f"log: got {given}")


# ---------------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("cell", "unit"),
    [
        ("V", "V"), (" m/s ", "m/s"), ("[ foo ]", "foo"), ("(V)", "V"), ("<bar>", "bar"),
        ("", ""), ("[]", ""), ("-", ""), ("None", ""), ("Celsius", "Celsius"), ("VOLT", "VOLT"),
        ("RAD", None), ("pump", None), ("position", None), ("kg m^2", "kg m^2"),
    ],
)  # fmt: skip
def test_a_cell_names_a_unit(cell, unit):
    assert as_unit(cell) == unit


@pytest.mark.parametrize(
    ("cells", "units"),
    [
        (["V", "[m]", " pump "], ["V", "m", "pump"]),
        (["V", "-", "(cm)"], ["V", "", "cm"]),
        (["V", "pump"], None),
        (["V", "pump", "flow"], None),
        (["V", "pump", "", ""], None),
        (["V", "", ""], ["V", "", ""]),
        (["-", "-"], None),
        (["pump", "flow"], None),
    ],
)
def test_most_cells_of_a_row_of_units_name_one(cells, units):
    assert unit_row(cells) == units
