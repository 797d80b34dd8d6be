"""Decimal commas and points of a column, where both are possible."""

import warnings
from collections.abc import Collection, Iterable
from typing import Any, NoReturn

import numpy as np

from gpssm.base.errors import DataError, DataWarning, expected

from .cells import decimal_mark, is_missing


def with_points(where: str, values: np.ndarray, columns: Collection[np.ndarray]) -> np.ndarray:
    """The cells with decimal points and no other marks.

    Raise where a mark can be read in two ways. `columns` are all of the file: another column may
    show which is the decimal mark.
    """
    marks = _marks(values)
    if {",", "."} <= marks.keys():
        given = f"numbers such as {marks[',']!r} and {marks['.']!r}"
        raise DataError(expected(where, given, "one decimal mark", "Correct the cells."))
    if "." in marks or "," in marks:
        return _rewritten(values, "," if "," in marks else ".")
    if "?," in marks:
        _check(where, marks, ",", columns)
        if not _shows(columns, ","):
            text = f"{where}: {marks['?,']!r} was read with a decimal comma."
            warnings.warn(text, DataWarning, stacklevel=2)
        return _rewritten(values, ",")
    if "?." in marks:
        _check(where, marks, ".", columns)
    return values


def _marks(cells: Iterable[Any]) -> dict[str, str]:
    """Every kind of mark in the cells, with the first cell that has it; "" is a whole number."""
    found: dict[str, str] = {}
    for cell in cells:
        if isinstance(cell, str) and not is_missing(cell):
            found.setdefault(decimal_mark(cell), cell.strip())
    return found


def _rewritten(values: np.ndarray, decimal: str) -> np.ndarray:
    """Numbers with a decimal point and no other marks; anything else is unchanged."""
    other = "." if decimal == "," else ","
    changed = [
        cell.replace(other, "").replace(decimal, ".")
        if isinstance(cell, str) and decimal_mark(cell)
        else cell
        for cell in values
    ]
    return np.array(changed, dtype=object)


def _check(where: str, marks: dict[str, str], mark: str, columns: Collection[np.ndarray]) -> None:
    """Raise if 1,234 may be 1234: another column has the other mark, or this one whole numbers."""
    other = "." if mark == "," else ","
    if _shows(columns, other) or (len(marks) > 1 and not _shows(columns, mark)):
        _refuse(where, marks[f"?{mark}"])


def _shows(columns: Collection[np.ndarray], mark: str) -> bool:
    """Whether some column shows that this is the decimal mark."""
    return any(mark in _marks(values) for values in columns)


def _refuse(where: str, cell: str) -> NoReturn:
    plain = cell.replace(",", "").replace(".", "")
    given = f"{cell!r}, which may be {plain} or {cell.replace(',', '.')}"
    remedy = "Write the column without marks between thousands."
    raise DataError(expected(where, given, "numbers of one meaning", remedy))
