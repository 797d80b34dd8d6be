"""Find the table in rows of cells: remarks above, names, units, rows of values, remarks below.

A row of values has a number or a time wherever most rows have one. The names stand in the last row
of texts above the first row of values.
"""

from collections.abc import Sequence
from statistics import mode
from typing import Any, NamedTuple

import numpy as np

from gpssm.base.errors import DataError, expected

from .cells import is_missing, is_number, is_value
from .unit_names import as_unit, unit_row

Cells = list[Any]
Row = tuple[int, Cells]  # with its number, as an editor shows it
_COMMENTS = ("#", "%", "//")
_SAMPLE_ROWS, _SAMPLE_CELLS = 200, 400_000
_FOOTERS = 6  # rows of sums, means and the like below a table, at most
_NAMES = "the names of the columns"
_NAME_ALL = "Write a first row with a name for every column."


class Shape(NamedTuple):
    """Width of a table, the columns that hold values, and how its cells are to be taken.

    `open_end`: its last column is empty. `ragged`: empty cells at the end of a row are left out.
    """

    width: int
    valued: list[int]
    open_end: bool
    commas: bool
    ragged: bool

    def fit(self, cells: Cells) -> Cells:
        """A row with the separators at its end that most rows have."""
        lacking = self.width - len(cells)
        if lacking == -1 and (_is_empty(cells[-1]) or cells[-1] == "Comment"):
            return cells[:-1]  # LabVIEW has a last column "Comment" that its rows leave out
        if self.ragged or (lacking == 1 and self.open_end):
            return [*cells, *[""] * lacking]
        return cells

    def kind(self, cells: Cells) -> str:
        """What stands where the columns of values are: values, texts, both or nothing."""
        cells = self.fit(cells)
        if len(cells) != self.width:
            return "other"
        held = [cells[i] for i in self.valued if not is_missing(cells[i])]
        values = sum(is_value(cell, self.commas) for cell in held)
        if not held:
            return "nothing"
        return "values" if values == len(held) else "both" if values else "texts"

    def is_comment(self, cells: Cells) -> bool:
        """Whether a row is marked as a comment, and its first cell is no unit or label."""
        first_is_cell = cells[0] == "%" or 0 not in self.valued
        return _is_marked(cells) and not (len(cells) == self.width and first_is_cell)


class Layout(NamedTuple):
    """The parts of a table; `names` is None where it has none, else they stand in row `top`."""

    top: int
    names: list[str] | None
    units: list[str] | None
    body: list[Row]
    remarks: list[str]


def find_table(source: str, rows: Sequence[Row], commas: bool, ragged: bool = False) -> Layout:
    """The parts of a table; in a `ragged` one, empty cells at the end of a row are left out."""
    filled = [row for row in rows if not all(_is_empty(cell) for cell in row[1])]
    if not filled:
        raise DataError(expected(source, "an empty first row", _NAMES))
    plain = [row for row in filled if not _is_marked(row[1])]
    shape = _shape(plain or filled, commas, ragged)
    if plain:
        plain = [row for row in filled if not shape.is_comment(row[1])]
    return _Finder(source, rows, filled, plain or filled, shape).layout()


class _Finder:
    """The rows of one file, while its table is looked for."""

    def __init__(
        self, source: str, rows: Sequence[Row], filled: list[Row], plain: list[Row], shape: Shape
    ) -> None:
        self._source, self._rows, self._plain, self._shape = source, rows, plain, shape
        numbers = {number for number, _ in plain}
        self._comments = [row for row in filled if row[0] not in numbers]

    def layout(self) -> Layout:
        """Names, units, rows of values, and what was skipped."""
        kinds = ((i, self._shape.kind(cells)) for i, (_, cells) in enumerate(self._plain))
        first = next((i for i, kind in kinds if kind == "values"), None)
        header = self._header(first)
        if not header:
            body, remarks = self._body(self._plain[0][0])
            return Layout(self._plain[0][0], None, None, body, remarks)
        units = unit_row(header[-1][1]) if len(header) > 1 else None
        top, names = header[-2] if units else header[-1]
        above = [number for number, _ in self._plain if number < top]
        body, remarks = self._body(header[-1][0] + 1)
        if units and None in map(as_unit, header[-1][1]):
            remarks.append(f"row {header[-1][0]} was taken for units")
        if above:
            remarks.append(f"skipped {_which(above)} above the names of the columns in row {top}")
        return Layout(top, names, units, body, remarks)

    def _header(self, first: int | None) -> list[tuple[int, list[str]]]:
        """The row of names and perhaps one of units below it; none where values come first."""
        if first is None:  # no row without a fault: the first one has the names
            return self._texts(self._plain[:1])
        above = [row for row in self._plain[:first] if self._shape.kind(row[1]) != "nothing"]
        if named := self._named(above):
            return named
        top = self._plain[first][0]
        comments = [(n, _unmarked(cells)) for n, cells in self._comments if n < top]
        if commented := self._named([row for row in comments if row[1]]):
            return commented
        if above and len(self._shape.fit(above[0][1])) != self._shape.width:
            self._refuse_header(above[-1])
        return self._texts(above[:1])

    def _named(self, rows: list[Row]) -> list[tuple[int, list[str]]]:
        return self._texts([row for row in rows if self._shape.kind(row[1]) == "texts"])

    def _texts(self, rows: list[Row]) -> list[tuple[int, list[str]]]:
        fitted = [(number, self._shape.fit(cells)) for number, cells in rows]
        return [(n, ["" if c is None else str(c).strip() for c in cells]) for n, cells in fitted]

    def _refuse_header(self, row: Row) -> None:
        given = f"{len(row[1])} cells above rows of {self._shape.width} values"
        wanted = f"{self._shape.width} names"
        remedy = "Correct the row of names, or the separators and decimal marks below it."
        raise DataError(expected(f"{self._source}, row {row[0]}", given, wanted, remedy))

    def _body(self, start: int) -> tuple[list[Row], list[str]]:
        """The rows from `start` on, as wide as the table, and remarks about the others."""
        width, comments = self._shape.width, {number for number, _ in self._comments}
        end, remarks = self._end(start)
        rows: list[Row] = []
        skipped: list[int] = []
        for number, cells in (row for row in self._rows if start <= row[0] <= end):
            if number in comments or self._is_blank(cells, begun=bool(rows)):
                skipped += [number] if rows else []
                continue
            cells = self._shape.fit(cells or [""]) if self._shape.ragged else cells or [""]
            if len(cells) != width:
                remedy = "The row is cut off or has a stray separator: correct it."
                where = f"{self._source}, row {number}"
                raise DataError(expected(where, f"{len(cells)} cells", f"{width}", remedy))
            rows.append((number, cells))
        if skipped:
            rest = f" and {len(skipped) - 1} more" if len(skipped) > 1 else ""
            remarks.append(f"skipped row {skipped[0]}{rest} inside the table")
        return rows, remarks

    def _is_blank(self, cells: Cells, begun: bool) -> bool:
        """Whether a row is an empty line, and no gap: of a lone column, or within a sheet."""
        if len(cells) > 1 or not all(_is_empty(cell) for cell in cells):
            return False
        return not begun if self._shape.ragged else self._shape.width > 1

    def _end(self, start: int) -> tuple[int, list[str]]:
        """The number of the last row; below it may stand remarks, which are no rows of values."""
        rows = [row for row in self._plain if row[0] >= start]
        last = self._last(rows, wide=True)
        if len(rows) - last > _FOOTERS:  # an experiment may have a text among numbers as its name
            last = self._last(rows, wide=False)
        below = [number for number, _ in rows[last:]]
        end = rows[last - 1][0] if rows else start
        return end, [f"skipped {_which(below)} below the table"] if below else []

    def _last(self, rows: list[Row], wide: bool) -> int:
        """The number of rows above the remarks; `wide` ones are such as `Average,99,999`."""
        last = len(rows)
        while last > 1 and 0 in self._shape.valued and self._is_remark(rows[last - 1][1], wide):
            last -= 1
        return last

    def _is_remark(self, cells: Cells, wide: bool) -> bool:
        """Whether a text stands where other rows have values."""
        text = not is_missing(cells[0]) and not is_value(cells[0], self._shape.commas)
        return text and (wide or len(cells) != self._shape.width)


def _which(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return f"row {first}" if first == last else f"rows {first} to {last}"


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _is_marked(cells: Cells) -> bool:
    return isinstance(cells[0], str) and cells[0].lstrip().startswith(_COMMENTS)


def _unmarked(cells: Cells) -> Cells:
    """A comment without its mark; a mark of its own is no cell."""
    first = cells[0].lstrip().lstrip("#%/!").strip()
    return [first, *cells[1:]] if first or cells[0].strip() not in _COMMENTS else cells[1:]


def _share(cells: Cells, commas: bool) -> float:
    """The share of the cells with something in them that hold a value."""
    held = [cell for cell in cells if not is_missing(cell)]
    return sum(is_value(cell, commas) for cell in held) / max(len(held), 1)


def _sample(rows: list[Row]) -> list[Row]:
    """Rows from all over the file; fewer of them if they are wide."""
    widest = max(len(cells) for _, cells in rows[-3:])
    count = max(5, min(_SAMPLE_ROWS, _SAMPLE_CELLS // widest))
    if len(rows) <= count:
        return rows
    return [rows[int(i)] for i in np.linspace(0, len(rows) - 1, count)]


def _shape(rows: list[Row], commas: bool, ragged: bool) -> Shape:
    """Width of most rows of values, and the columns in which most of them have one."""
    sample = [cells for _, cells in _sample(rows)]
    shares = [_share(cells, commas) for cells in sample]
    valued = [cells for cells, share in zip(sample, shares, strict=True) if share > 0.5]
    whole = [cells for cells, share in zip(sample, shares, strict=True) if share == 1.0]
    valued = valued or sample[len(sample) // 2 :]
    # remarks such as `Samples 3 3` may outnumber the rows of a short record
    widths = [len(cells) for cells in (whole if 5 * len(whole) > len(valued) else valued)]
    width = max(widths) if ragged else mode(widths)
    held, found = np.zeros(width), np.zeros(width)
    for cells in (cells for cells in valued if ragged or len(cells) == width):
        for i, cell in enumerate(cells):
            held[i] += not is_missing(cell)
            found[i] += is_value(cell, commas)
    columns = np.flatnonzero((held > 0) & (2 * found >= held))
    return Shape(width, columns.tolist(), not held[-1], commas, ragged)


# ---------------------------------------------------------------------- a first row of numbers


def counted_names(source: str, layout: Layout) -> tuple[list[str], list[Row]]:
    """Names and rows of a table whose first row is numbers: a header of pandas, or columns 0, 1, …

    Raise where both readings are possible.
    """
    header = ["" if cell is None else str(cell).strip() for cell in layout.body[0][1]]
    body = layout.body[1:]
    if _is_index_header(header, body) or _is_integer_header(header, body):
        return header, body
    for column in (i for i, cell in enumerate(header) if not cell):
        if any(not _is_empty(cells[column]) for _, cells in body):
            number = layout.body[0][0]
            given = (
                f"numbers in row {number}, but none in column {column + 1}, which has some below"
            )
            raise DataError(expected(source, given, _NAMES, _NAME_ALL))
    if body and (_counts(header, 0) or _could_be_names(header, body)):
        given = (
            f"the numbers {', '.join(header[:3])}, … in the first row, which may be names or values"
        )
        raise DataError(expected(source, given, _NAMES, _NAME_ALL))
    return [str(i) if cell else "" for i, cell in enumerate(header)], layout.body


def _counts(header: list[str], first: int) -> bool:
    """Whether the first row counts the columns."""
    return len(header) > 1 and header == [str(first + i) for i in range(len(header))]


def _is_index_header(header: list[str], body: list[Row]) -> bool:
    """Whether pandas wrote a frame without names: ,0,1,… over an index that counts the rows."""
    counted = header == ["", *(str(i) for i in range(len(header) - 1))]
    index = (str(cells[0]).strip() for _, cells in body)
    return counted and all(cell == str(i) for i, cell in enumerate(index))


def _is_integer_header(header: list[str], body: list[Row]) -> bool:
    """Whether the columns are counted, over values that are no whole numbers."""
    counts = _counts(header, 0) or _counts(header, 1)
    return counts and _could_be_names(header, body)


def _could_be_names(header: list[str], body: list[Row]) -> bool:
    """Whether the first row has different whole numbers, and no other row has any."""
    if not body or len(set(header)) < max(len(header), 2) or not all(map(_is_whole, header)):
        return False
    cells = (cell for _, cells in body for cell in cells if not is_missing(cell))
    return all(is_number(cell) and not _is_whole(cell) for cell in cells)


def _is_whole(cell: object) -> bool:
    return str(cell).strip().lstrip("-+").isdigit()
