"""Workbooks: values instead of formulas, the first sheet with a table, and no end of columns."""

import zipfile

import numpy as np
import openpyxl
import pytest

from gpssm.base.errors import DataError
from gpssm.data import DataWarning
from gpssm.data.io.excel import _rows
from gpssm.data.io.files import read_table


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rewritten(path, old, new):
    """The file with a part of its first sheet replaced."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = members["xl/worksheets/sheet1.xml"]
    assert old in sheet
    members["xl/worksheets/sheet1.xml"] = sheet.replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_formula_counts_as_the_value_that_excel_found_last(tmp_path):
    path = workbook(tmp_path / "log.xlsx", log=[["y"], [1], ["=1+1"], [4]])
    rewritten(path, b"<f>1+1</f><v />", b"<f>1+1</f><v>2</v>")
    assert read_table(path).columns["y"].tolist() == [1, 2, 4]


def test_the_first_sheet_with_values_is_read_and_the_others_are_told(tmp_path):
    table, other = [["y"], [1], [2]], [["z"], [5], [6]]
    path = workbook(tmp_path / "log.xlsx", title=[], log=table, more=other, rest=other)
    with pytest.warns(DataWarning, match=r"read the sheet 'log' and skipped more, rest\."):
        found = read_table(path)
    assert {name: each.tolist() for name, each in found.columns.items()} == {"y": [1, 2]}


@pytest.mark.filterwarnings("error")
def test_one_sheet_with_values_is_no_matter(tmp_path):
    path = workbook(tmp_path / "log.xlsx", empty=[[None, ""]], log=[["y"], [1], [2]])
    assert list(read_table(path).columns) == ["y"]


def test_a_workbook_without_values_is_refused(tmp_path):
    path = workbook(tmp_path / "log.xlsx", one=[], two=[[None], [""]])
    with pytest.raises(DataError, match="got no sheet with values, expected the names of the col"):
        read_table(path)


def test_a_sheet_that_claims_a_million_columns_is_read_quickly(tmp_path):
    path = workbook(tmp_path / "log.xlsx", log=[["u", "y"], [1, 2], [3, 4]])
    rewritten(path, b'ref="A1:B3"', b'ref="A1:XFD1048576"')
    table = read_table(path)
    assert [len(each) for each in table.columns.values()] == [2, 2]


def test_a_title_above_the_table_and_empty_cells_in_it(tmp_path):
    rows = [
        ["pump test"],
        [],
        ["u", "y", None],
        [1, 2, None, None],
        [3, None],
        [None, "", 0],
        [5, 6],
    ]
    path = workbook(tmp_path / "log.xlsx", log=[row[:2] for row in rows])
    table = read_table(path)
    assert list(table.columns) == ["u", "y"]
    assert len(table.columns["y"]) == 4


def test_rows_end_with_their_last_value_and_the_sheet_with_its_last_row():
    class Sheet:
        def reset_dimensions(self):
            self.known = True

        def iter_rows(self, values_only):
            assert self.known
            assert values_only
            return iter([(None, 0, None), (None, ""), ("a", "", False, ""), (None,), ()])

    assert _rows(Sheet()) == [(1, [None, 0]), (2, []), (3, ["a", "", False])]


def test_sheets_that_unpack_without_end_are_refused(tmp_path, monkeypatch):
    path = workbook(tmp_path / "log.xlsx", log=[["y"], *([[0]] * 3000)])
    with zipfile.ZipFile(path) as archive:
        size = sum(each.file_size for each in archive.infolist())
    monkeypatch.setattr("gpssm.data.io.opening._RATIO", 0)
    monkeypatch.setattr("gpssm.data.io.opening._ALWAYS", size)
    assert np.count_nonzero(read_table(path).columns["y"]) == 0
    monkeypatch.setattr("gpssm.data.io.opening._ALWAYS", size - 1)
    with pytest.raises(DataError, match="unpacked sheets of 0 MiB or more"):
        read_table(path)
