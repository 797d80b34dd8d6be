"""Tables in Excel workbooks: the first sheet that holds one."""

import warnings
import zipfile
from pathlib import Path
from typing import Any

from gpssm.base.errors import DataError, DataWarning, expected
from gpssm.base.extras import load_extra

from .layout import Row, find_table
from .opening import check_size
from .tables import Table
from .text import table_of


def read_excel(path: Path) -> Table:
    """Values as Excel last computed them; formulas, macros and links are not run."""
    with zipfile.ZipFile(path) as archive:
        check_size(path, "unpacked sheets", sum(each.file_size for each in archive.infolist()))
    openpyxl = load_extra("openpyxl", "files", f"{path}: an Excel workbook")
    book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
    try:
        found = {sheet.title: _rows(sheet) for sheet in book.worksheets}
    finally:
        book.close()
    sheets = [title for title, rows in found.items() if rows]
    if not sheets:
        raise DataError(expected(str(path), "no sheet with values", "the names of the columns"))
    if len(sheets) > 1:
        text = f"{path}: read the sheet {sheets[0]!r} and skipped {', '.join(sheets[1:])}."
        warnings.warn(text, DataWarning, stacklevel=2)
    layout = find_table(str(path), found[sheets[0]], commas=False, ragged=True)
    return table_of(path, layout, commas=False)


def _rows(sheet: Any) -> list[Row]:
    """All rows to the last that holds something, without the empty cells at their ends."""
    sheet.reset_dimensions()  # a file may claim a million columns
    rows = []
    for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
        last = max((i for i, value in enumerate(values, 1) if value not in (None, "")), default=0)
        rows.append((number, list(values[:last])))
    while rows and not rows[-1][1]:
        rows.pop()
    return rows
