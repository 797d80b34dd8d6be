"""Characters, delimiters and quotes of text files, and the columns that come of them."""

import gzip
import warnings

import numpy as np
import pytest

from gpssm import DataError, DataWarning
from gpssm.data.io import text
from gpssm.data.io.text import find_delimiter, read_text


def read(path, content):
    """The table of a file, without any remark."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_text(path)


def cells(table):
    return {name: column.tolist() for name, column in table.columns.items()}


# ---------------------------------------------------------------------- tables


def test_a_table_keeps_texts_and_says_where_they_stand(tmp_path):
    table = read(tmp_path / "log.csv", 'sep=;\nt;u;y;\ns;-;cm;\n0;1,5;"a\nb";\n1;2,5;;\n')
    assert cells(table) == {"t": ["0", "1"], "u": ["1,5", "2,5"], "y": ["a\nb", ""]}
    assert {column.dtype for column in table.columns.values()} == {np.dtype(object)}
    assert table.rows.tolist() == [5, 6]
    assert (table.source, table.name) == (str(tmp_path / "log.csv"), "log")
    assert (table.units, table.decimal_commas) == ({"t": "s", "y": "cm"}, True)


def test_a_header_alone_has_empty_columns(tmp_path):
    table = read(tmp_path / "log.csv", "t,y\n")
    assert cells(table) == {"t": [], "y": []}
    assert table.rows.dtype == np.int64
    assert not table.decimal_commas


def test_a_packed_text_is_called_and_split_as_the_file_in_it(tmp_path):
    table = read(tmp_path / "log.CSV.gz", gzip.compress(b"my flow\n1\n2\n"))
    assert (table.name, cells(table)) == ("log", {"my flow": ["1", "2"]})


@pytest.mark.parametrize(
    ("content", "remark", "names"),
    [
        ("0.5,1.5\n0.7,2.5\n", "row 1 was taken for values, and the columns are called 0", "01"),
        ("t,,y\n0,1,2\n", "column 2 has no name and was skipped; give it one to use it", "ty"),
        (",0,1\n0,5,6\n1,7,8\n", "column 1 has no name and was skipped", "01"),
    ],
)
def test_columns_without_names_are_told(tmp_path, content, remark, names):
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.warns(DataWarning) as said:
        table = read_text(path)
    assert list(table.columns) == list(names)
    assert [str(each.message)[: len(f"{path}: {remark}")] for each in said] == [f"{path}: {remark}"]


def test_only_names_may_not_come_twice(tmp_path):
    assert list(read(tmp_path / "log.csv", "y,,\n1,,\n2,,\n").columns) == ["y"]
    with pytest.raises(DataError, match="got column 'u' twice in row 2, expected different names"):
        read(tmp_path / "log.csv", "\nt,u,u\n1,2,3\n")


# ---------------------------------------------------------------------- quotes and blanks


def test_blanks_after_a_separator_are_no_part_of_a_cell(tmp_path):
    table = read(tmp_path / "log.csv", 't, "flow, in", y\n0, 1, 2\n1, 2, 3\n')
    assert cells(table) == {"t": ["0", "1"], "flow, in": ["1", "2"], "y": ["2", "3"]}
    table = read(tmp_path / "log.dat", "  t   u\ty\n 0  1,5 \t 2\n 1  2 3 \n")
    assert cells(table) == {"t": ["0", "1"], "u": ["1,5", "2"], "y": ["2", "3"]}


@pytest.mark.parametrize("above", ["", "sep=;\n"])
def test_an_open_quote_above_the_table_is_a_remark(tmp_path, above):
    path = tmp_path / "log.csv"
    path.write_text(f'{above}"pump\nof 5" pipe\nt;u;y\n0;1;2\n1;2;3\n')
    first = 2 if above else 1
    with pytest.warns(DataWarning, match=f"skipped rows {first} to {first + 1} above"):
        table = read_text(path)
    assert cells(table) == {"t": ["0", "1"], "u": ["1", "2"], "y": ["2", "3"]}
    assert table.rows.tolist() == [first + 3, first + 4]
    path.write_text('"pump\nof 5\n')
    with pytest.raises(text.csv.Error):
        read_text(path)


# ---------------------------------------------------------------------- delimiters


@pytest.mark.parametrize(
    ("content", "suffix", "delimiter"),
    [
        ("t,y\n0,1", ".csv", ","),
        ("t;y\n0,5;1,5", ".csv", ";"),
        ("t|y\n0|1", ".txt", "|"),
        ("t\ty\n0\t1", ".csv", "\t"),
        ("t y\n0 1", ".dat", " "),
        ("t y\n0 1", ".csv", ","),
        ("t y\n0 1", ".tsv", "\t"),
        ("y\n1", ".csv", ","),
        ("y\n1", ".tsv", "\t"),
        ("y\n1", ".dat", " "),
        ("", ".csv", ","),
        ("name,y\na,1", ".dat", ","),
        ("# a;b;c\n% a;b;c\n// a;b;c\nx,1", ".csv", ","),
    ],
)
def test_the_delimiter_is_that_of_the_values(content, suffix, delimiter):
    assert find_delimiter(content.splitlines(keepends=True), suffix) == delimiter


@pytest.mark.parametrize(
    ("sample", "delimiter", "score"),
    [
        (["1;2\n", "3;x\n"], ";", 1.52),
        (["1;2", "3;4", "1;2;3", "x"], ";", 2.02),
        (["1;2", "1;2;3", "4;5;6"], ";", 2.02),
        (["1,5;2"], ";", 1.01),
        (['"1,5",2'], ",", 0.51),
        (['0, "1,5", 2'], ",", 2 / 3 + 0.01),
        (["1;", ";"], ";", 1.02),
        (["1;" * 300 + "x"], ";", 1.01),
        (["x;" + "1;" * 300 + "x"], ";", 299 / 300 + 0.01),
        (["1  2"], " ", 1.01),
        (["12"], ";", 0.0),
        ([], ";", 0.0),
        (["1;" + "x" * 200_000], ";", 0.0),  # more than a cell may hold
    ],
)
def test_a_delimiter_scores_by_rows_of_one_width(sample, delimiter, score):
    assert text._score(sample, delimiter) == pytest.approx(score, rel=1e-12)


def test_lines_are_sampled_from_end_to_end():
    lines = [f"{i}\n" for i in range(1000)]
    sample = text._sample(lines)
    assert (len(sample), sample[0], sample[-1]) == (100, "0\n", "999\n")
    assert text._sample(["# a", " \n", *lines[:100]]) == lines[:100]
    long = "1" * 100_000
    assert len(text._sample([*lines, long, "1", "2", "3"])) == 100  # the last three tell
    assert len(text._sample([*lines, long, "2", "3"])) == 10
    assert len(text._sample([*lines, 5 * long])) == 3


# ---------------------------------------------------------------------- characters

LOG = "höhe,y\n1,2\n3,4\n"
MARKED = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", *MARKED])
def test_the_encoding_is_that_of_the_file(tmp_path, encoding):
    content = MARKED.get(encoding, b"") + LOG.encode(encoding)
    wanted = {"höhe": ["1", "3"], "y": ["2", "4"]}
    assert cells(read(tmp_path / "log.csv", content)) == wanted
    if "16-" in encoding:  # without its mark
        assert cells(read(tmp_path / "log.csv", LOG.encode(encoding))) == wanted
        assert list(read(tmp_path / "log.csv", "y\n".encode(encoding)).columns) == ["y"]


def test_marks_within_a_text_and_at_its_end_are_left_out(tmp_path):
    content = b"\xef\xbb\xbf" + "\ufefft,y\n0,1\n\x1a".encode()
    assert cells(read(tmp_path / "log.csv", content)) == {"t": ["0"], "y": ["1"]}


def test_other_bytes_are_read_as_windows_1252(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"h\xf6he in m,\x81\n1,2\n")
    with pytest.warns(DataWarning, match="not UTF-8 and was read as Windows-1252") as said:
        table = read_text(path)
    assert list(table.columns) == ["höhe in m", "\ufffd"]
    assert len(said) == 1


@pytest.mark.parametrize("content", [b"h\xf6he\x01,y\n1,2\n", b"h\xf6he\x1f,y\n1,2\n"])
def test_control_characters_are_no_text(tmp_path, content):
    with pytest.raises(UnicodeDecodeError):
        read(tmp_path / "log.csv", content)


@pytest.mark.parametrize("content", [b"y\n1\0\n", b"y\0\n"])
def test_bytes_of_value_zero_are_no_text(tmp_path, content):
    with pytest.raises(ValueError, match="bytes of value 0"):
        read(tmp_path / "log.csv", content)
