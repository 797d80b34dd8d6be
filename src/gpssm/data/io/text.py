"""Tables in text files, as loggers, spreadsheets and MATLAB write them."""

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mode

import numpy as np

from gpssm.base.errors import DataError, DataWarning, expected

from .cells import is_missing, is_value
from .layout import Layout, Row, counted_names, find_table
from .opening import plain_name, read_bytes
from .tables import Table

BLANKS = " "
_DELIMITERS = ("\t", ";", ",", "|")
_MARKS = {  # the longer ones first
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}
_SAMPLE_LINES, _SAMPLE_CHARACTERS, _SAMPLE_CELLS = 100, 1_000_000, 300
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)


def read_text(path: Path) -> Table:
    """Delimiter, decimal mark and encoding are those of the file."""
    text = _decoded(path, read_bytes(path))
    lines = list(io.StringIO(text, newline=""))
    skip, delimiter = 0, None
    if lines and (told := _SEPARATOR_LINE.fullmatch(lines[0])):  # Excel's first line
        skip, delimiter = 1, told[1]
    suffix = Path(plain_name(path)).suffix.casefold()
    delimiter = delimiter or find_delimiter(lines, suffix)
    rows = _rows(lines, delimiter, skip)
    commas = delimiter != ","
    return table_of(path, find_table(str(path), rows, commas), commas)


def table_of(path: Path, layout: Layout, commas: bool) -> Table:
    """Columns from the parts of a table; what was skipped is said in a warning."""
    names, body = layout.names, layout.body
    if names is None:
        names, body = counted_names(str(path), layout)
    for remark in [*layout.remarks, *_about_names(layout, names, body)]:
        warnings.warn(f"{path}: {remark}.", DataWarning, stacklevel=2)
    _refuse_twice(path, names, layout.top)
    rows = np.array([number for number, _ in body], dtype=np.int64)
    series = zip(*(cells for _, cells in body), strict=True) if body else [()] * len(names)
    # a column without a name (a separator at the end of each row) is left out
    pairs = zip(names, series, strict=True)
    columns = {name: np.array(cells, dtype=object) for name, cells in pairs if name}
    named = zip(names, layout.units or (), strict=False)
    units = {name: unit for name, unit in named if name and unit}
    title = Path(plain_name(path)).stem
    return Table(str(path), columns, rows=rows, name=title, units=units, decimal_commas=commas)


def _about_names(layout: Layout, names: Sequence[str], body: Sequence[Row]) -> Iterator[str]:
    """Remarks on columns whose names the file does not give."""
    if layout.names is None and body is layout.body:
        yield f"row {layout.top} was taken for values, and the columns are called 0, 1, …"
    for i, name in enumerate(names):
        if not name and any(not is_missing(cells[i]) for _, cells in body):
            yield f"column {i + 1} has no name and was skipped; give it one to use it"


def _refuse_twice(path: Path, names: Sequence[str], row: int) -> None:
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        given = f"column {twice[0]!r} twice in row {row}"
        raise DataError(expected(str(path), given, "different names", "Rename one."))


# ---------------------------------------------------------------------- characters


def _decoded(path: Path, content: bytes) -> str:
    """The text of a file: UTF-8, UTF-16, UTF-32, else Windows-1252 with a warning."""
    marked = (name for mark, name in _MARKS.items() if content.startswith(mark))
    encoding = next(marked, "") or _wide(content) or "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8" or any(c < 32 and c not in b"\t\n\r\f\v\x1a" for c in set(content)):
            raise
        text = content.decode("cp1252", errors="replace")
        remark = "it is not UTF-8 and was read as Windows-1252 (Latin-1)"
        remedy = "If names look wrong, save it as UTF-8."
        warnings.warn(f"{path}: {remark}. {remedy}", DataWarning, stacklevel=3)
    if "\0" in text:
        raise ValueError("it holds bytes of value 0, which no text has")
    return text.replace("\ufeff", "").rstrip("\x1a")


def _wide(content: bytes) -> str:
    """UTF-16 without its mark: every other byte is zero."""
    head = content[:2000]
    for encoding, offset in (("utf-16-le", 1), ("utf-16-be", 0)):
        zeros = head[offset::2].count(0)
        if len(head) > 3 and zeros > 0.8 * (len(head) // 2) and not head[1 - offset :: 2].count(0):
            return encoding
    return ""


# ---------------------------------------------------------------------- cells


def find_delimiter(lines: Sequence[str], suffix: str) -> str:
    """The delimiter that leaves the most numbers and times in rows of one width."""
    candidates = [*_DELIMITERS, *([BLANKS] if suffix not in (".csv", ".tsv") else [])]
    sample = _sample(lines)
    scores = {each: _score(sample, each) for each in candidates}
    best = max(scores, key=lambda each: scores[each])  # the first of equals
    default = {".csv": ",", ".tsv": "\t"}.get(suffix, BLANKS)
    return best if scores[best] > 0 else default


def _sample(lines: Sequence[str]) -> list[str]:
    """Lines from all over the file, comments left out; fewer of them if they are long."""
    filled = [line for line in lines if line.strip() and not line.startswith(("#", "%", "//"))]
    longest = max((len(line) for line in filled[-3:]), default=1)
    count = max(3, min(_SAMPLE_LINES, _SAMPLE_CHARACTERS // longest))
    if len(filled) <= count:
        return filled
    return [filled[int(i)] for i in np.linspace(0, len(filled) - 1, count)]


def _score(sample: Sequence[str], delimiter: str) -> float:
    """Sum over the rows of the usual width, of the share of their cells that hold a value."""
    rows = [row for row in (_split(line, delimiter) for line in sample) if len(row) > 1]
    shares: dict[int, float] = {}
    for cells in rows:
        held = [cell for cell in cells[:_SAMPLE_CELLS] if not is_missing(cell)]
        values = sum(is_value(cell, commas=delimiter != ",") for cell in held)
        share = values / max(len(held), 1) + 0.01  # of equals, the one more often met
        shares[len(cells)] = shares.get(len(cells), 0.0) + share
    return max(shares.values(), default=0.0)


def _split(line: str, delimiter: str) -> list[str]:
    """The cells of one line; none if it cannot be split."""
    if delimiter not in line.strip("\r\n"):
        return []
    try:
        line = _unblanked([line], delimiter)[0]
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        return []


def _unblanked(lines: Sequence[str], delimiter: str) -> Sequence[str]:
    """With a single blank between cells, where blanks are the delimiter."""
    if delimiter != BLANKS:
        return lines
    return [re.sub(r"[ \t\f\v]+", " ", line.strip()) for line in lines]


def _rows(lines: Sequence[str], delimiter: str, skip: int) -> list[Row]:
    """All rows with the numbers of their last lines; a quoted cell may have several lines."""
    try:
        return _numbered(lines, delimiter, skip)
    except csv.Error:  # an open quote, perhaps only in the remarks above the table
        widths = [len(_split(line, delimiter)) for line in lines[skip:]]
        start = skip + widths.index(mode([width for width in widths if width] or widths))
        remarks = [(i + 1, [lines[i].strip()]) for i in range(skip, start)]
        return [*remarks, *_numbered(lines, delimiter, start)]


def _numbered(lines: Sequence[str], delimiter: str, skip: int) -> list[Row]:
    reader = csv.reader(
        _unblanked(lines[skip:], delimiter), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    return [(reader.line_num + skip, cells) for cells in reader]
