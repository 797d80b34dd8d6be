"""What a cell of a table holds: a number, a time, a gap or a text."""

import re
from typing import Any

from .dates import looks_like_time

MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none"}
_LOGICAL = {"true": 1.0, "false": 0.0}
_SIGN, _POWER = r"[-+]?", r"([eE][-+]?\d+)?"
# What a mark in a number says: the decimal mark, or "?" and the mark where it may also group.
_MARKS = (
    ("?,", rf"{_SIGN}[1-9]\d{{0,2}},\d{{3}}"),
    ("?.", rf"{_SIGN}[1-9]\d{{0,2}}\.\d{{3}}"),
    (",", rf"{_SIGN}(\d*|\d{{1,3}}(\.\d{{3}})+),\d+{_POWER}|{_SIGN}\d{{1,3}}(\.\d{{3}}){{2,}}"),
    (".", rf"{_SIGN}(\d*|\d{{1,3}}(,\d{{3}})+)\.\d*{_POWER}|{_SIGN}\d{{1,3}}(,\d{{3}}){{2,}}"),
)
_PATTERNS = tuple((mark, re.compile(pattern)) for mark, pattern in _MARKS)


def number(cell: Any) -> float:
    """One cell as a number; 1_000 is refused, although Python accepts it."""
    if cell is None:
        return float("nan")
    if isinstance(cell, str):
        word = cell.strip().casefold()
        if word in MISSING:
            return float("nan")
        if word in _LOGICAL:
            return _LOGICAL[word]
        if "_" in cell:
            raise ValueError(cell)
    return float(cell)


def is_missing(cell: Any) -> bool:
    """Whether it marks a missing value."""
    return cell is None or (isinstance(cell, str) and cell.strip().casefold() in MISSING)


def is_number(cell: Any, commas: bool = False) -> bool:
    """Whether it is a number or a missing value, with `commas` also one with a decimal comma."""
    try:
        number(cell)
    except (TypeError, ValueError):
        return commas and isinstance(cell, str) and bool(decimal_mark(cell))
    return True


def is_value(cell: Any, commas: bool = False) -> bool:
    """Whether it is a number or a time; no gap, and no text."""
    if is_missing(cell):
        return False
    return is_number(cell, commas) or looks_like_time(cell)


def decimal_mark(cell: str) -> str:
    """The decimal mark of a number: "," or "."; "?," or "?." if it may also group thousands."""
    text = cell.strip()
    if "," not in text and "." not in text:
        return ""
    return next((mark for mark, pattern in _PATTERNS if pattern.fullmatch(text)), "")
