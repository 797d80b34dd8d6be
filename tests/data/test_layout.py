"""The parts of a table in rows of cells: names, units, values, and what is skipped."""

import itertools
import warnings

import pytest

from gpssm import DataError
from gpssm.data.io import layout
from gpssm.data.io.layout import Layout, Shape, counted_names, find_table


def rows(text):
    """One row for each line, its cells between commas; an empty line has none."""
    lines = text.removesuffix("\n").split("\n")
    return [(i, line.split(",") if line else []) for i, line in enumerate(lines, 1)]


def found(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return find_table("log", rows(text), commas=False, **options)


def refusal(text, **options):
    with pytest.raises(DataError) as error:
        found(text, **options)
    return str(error.value)


def numbers(table):
    return [number for number, _ in table.body]


# ---------------------------------------------------------------------- one row

PLAIN = Shape(3, [0, 1, 2], False, False, False)


@pytest.mark.parametrize(
    ("cells", "plain", "open_end", "ragged"),
    [
        ("1,2,3", "1,2,3", "1,2,3", "1,2,3"),
        ("1,2,3,", "1,2,3", "1,2,3", "1,2,3"),
        ("1,2,3,Comment", "1,2,3", "1,2,3", "1,2,3"),
        ("1,2,3,4", "1,2,3,4", "1,2,3,4", "1,2,3,4"),
        ("1,2,3,,", "1,2,3,,", "1,2,3,,", "1,2,3,,"),
        ("1,2", "1,2", "1,2,", "1,2,"),
        ("1", "1", "1", "1,,"),
    ],
)
def test_a_row_gets_the_separators_at_its_end_that_most_rows_have(cells, plain, open_end, ragged):
    for shape, fitted in (
        (PLAIN, plain),
        (PLAIN._replace(open_end=True), open_end),
        (PLAIN._replace(ragged=True), ragged),
    ):
        assert shape.fit(cells.split(",")) == fitted.split(",")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "", "12:00"], "values"), (["t", "nan", "y"], "texts"), (["t", "1", "y"], "both"),
        (["NaN", "", None], "nothing"), (["1", "2"], "other"), (["1,5", "2", "3"], "both"),
    ],
)  # fmt: skip
def test_a_row_is_of_a_kind(cells, kind):
    assert PLAIN.kind(cells) == kind
    with_commas = "values" if cells[0] == "1,5" else kind
    assert PLAIN._replace(commas=True).kind(cells) == with_commas


def test_only_columns_of_values_tell_the_kind():
    shape = PLAIN._replace(valued=[1])
    assert shape.kind(["a", "1", "b"]) == "values"
    assert shape.kind(["1", "a", "2"]) == "texts"


@pytest.mark.parametrize(
    ("cells", "valued", "comment"),
    [
        (["# a", "1", "2"], [0, 1], True), ([" // a"], [0, 1], True), (["%", "V", "m"], [0], False),
        (["%", "V"], [0], True), (["# a", "1", "2"], [1, 2], False), (["# a"], [1, 2], True),
        (["a", "1", "2"], [0], False), ([5, "#", "2"], [0], False),
    ],
)  # fmt: skip
def test_a_mark_makes_a_comment_where_it_is_no_label(cells, valued, comment):
    assert PLAIN._replace(valued=valued).is_comment(cells) is comment


# ---------------------------------------------------------------------- names and units


def test_a_plain_table():
    body = [(2, ["0", "1"]), (3, ["1", ""])]
    assert found(" t ,y\n0,1\n1,") == Layout(1, ["t", "y"], None, body, [])


def test_names_that_could_be_units_are_names():
    table = found("V,A\n0,1\n1,2")
    assert (table.names, table.units, numbers(table)) == (["V", "A"], None, [2, 3])


@pytest.mark.parametrize(
    ("units", "wanted", "remarks"),
    [
        ("s,V,cm", ["s", "V", "cm"], []),
        ("[s],-, cm", ["s", "", "cm"], []),
        ("%,V,cm", ["%", "V", "cm"], []),
        ("s,V,level", ["s", "V", "level"], ["row 2 was taken for units"]),
    ],
)
def test_a_row_of_units_below_the_names(units, wanted, remarks):
    table = found(f"t,u,y\n{units}\n0,1,2\n1,2,3")
    assert table[:3] == (1, ["t", "u", "y"], wanted)
    assert (numbers(table), table.remarks) == ([3, 4], remarks)


@pytest.mark.parametrize(
    ("above", "said"),
    [
        ("Pump test", "skipped row 1"),
        ("Pump test\n\nof Monday,in,the,lab", "skipped rows 1 to 3"),
        ("a,b\nc,d\ne,f", "skipped rows 1 to 3"),
        ("a,b", "skipped row 1"),
    ],
)
def test_what_stands_above_the_names_is_told(above, said):
    top = above.count("\n") + 2
    table = found(f"{above}\nt,y\n0,1\n1,2\n2,3\n3,4")
    assert (table.top, table.names) == (top, ["t", "y"])
    assert table.remarks == [f"{said} above the names of the columns in row {top}"]
    assert numbers(table) == [top + 1, top + 2, top + 3, top + 4]


@pytest.mark.parametrize("mark", ["# ", "#,", "%", "// ", " % "])
def test_names_may_stand_in_a_comment(mark):
    table = found(f"# Logger X\n{mark}t,y\n0,1\n1,2\n# a,b\n2,3")
    assert (table.top, table.names, numbers(table)) == (2, ["t", "y"], [3, 4, 6])
    assert table.remarks == ["skipped row 5 inside the table"]


def test_names_below_a_comment_are_taken_before_it():
    table = found("# a,b\nt,y\n0,1\n1,2")
    assert (table.names, table.remarks) == (["t", "y"], [])


def test_comments_may_outnumber_the_rows():
    table = found("# a,1,2,3\n# b,1,2,3\n# c,1,2,3\nt,y\n0,1\n1,2")
    assert (table.names, numbers(table)) == (["t", "y"], [5, 6])


def test_rows_with_labels_that_look_like_comments_are_rows():
    table = found("name,u,y\n#1,2,3\n#2,3,4\n#3,4,5")
    assert (table.names, numbers(table)) == (["name", "u", "y"], [2, 3, 4])


def test_the_first_row_has_the_names_where_no_row_is_without_a_fault():
    table = found("t,y\noff,low\non,high")
    assert (table.names, numbers(table)) == (["t", "y"], [2, 3])


def test_names_may_be_numbers_among_texts_below_an_empty_row():
    table = found("n/a,n/a\nt,1\n0,1\n1,2")
    assert (table.names, numbers(table)) == (["t", "1"], [3, 4])
    assert table.remarks == ["skipped row 1 above the names of the columns in row 2"]
    said = refusal("t,1,2\nx,y\n0,1,2\n1,2,3")
    assert "row 2: got 2 cells, expected 3. The row is cut off" in said


def test_names_of_another_number_are_refused():
    said = "row 2: got 2 cells above rows of 3 values, expected 3 names. Correct the row of names"
    assert said in refusal("x\nt,y\n0,1,2\n1,2,3")


def test_a_table_without_names_begins_at_its_first_row():
    table = found("\n0.5,1\n0.7,2")
    assert table == Layout(2, None, None, [(2, ["0.5", "1"]), (3, ["0.7", "2"])], [])


def test_one_row_of_values_below_remarks():
    table = found("Pump test\nt,y\n0,1")
    assert (table.names, table.body) == (["t", "y"], [(3, ["0", "1"])])


@pytest.mark.parametrize("text", ["", "\n\n", ",\n , "])
def test_no_rows_at_all(text):
    assert refusal(text) == "log: got an empty first row, expected the names of the columns."


# ---------------------------------------------------------------------- shape


def test_separators_that_rows_have_at_their_end_and_names_do_not():
    table = found("t,y\n0,1,\n1,2,")
    assert (table.names, table.body[0]) == (["t", "y", ""], (2, ["0", "1", ""]))
    said = "row 1: got 2 cells above rows of 3 values"
    assert said in refusal("t,y\n0,1,2\n1,2,3")


@pytest.mark.parametrize(
    ("text", "width"),
    [
        # remarks of one width, none of them all values, above a short record
        ("Samples,3,3\n" * 4 + "t,u,v,y\n0,1,2,3\n1,2,3,4", 4),
        ("Samples,3,3\n" * 3 + "t,u,v,y\n0,1,2,3", 4),
        # a lone number is no record
        ("name,u,y\ncalm,1,2\ncalm,2,3\nwild,3,4\nwild,4,5\n7", 3),
        ("Rate,100\n" * 4 + "name,u,y\n" + "calm,1,2\n" * 3, 3),
        ("u,name,y\n" + "1,calm,2\n" * 3 + "the end\n" * 6, 3),
        # one value in each row, and a text below
        ("t,u,y\n1,,\n2,,\nend\nof\nlog", 3),
        # no row with more values than texts
        ("Pump test\nMonday\nname,y\na,1", 2),
    ],
)
def test_the_width_is_that_of_the_rows_of_values(text, width):
    if text.endswith("\n7"):
        assert "row 6: got 1 cells, expected 3" in refusal(text)
    else:
        table = found(text)
        assert len(table.names) == width
        assert {len(cells) for _, cells in table.body} == {width}


def test_a_column_holds_values_if_half_of_its_cells_do():
    """A text in the first column is a row below the table where that column holds values."""
    half = "label,u,y\n1,1,2\n2,2,3\na,3,4\nb,4,5"
    assert numbers(found(half)) == [2, 3]
    less = "label,u,y\n1,1,2\nc,2,3\na,3,4"
    assert numbers(found(less)) == [2, 3, 4]
    empty = "label,u,y\n,1,2\n,2,3\nSum,3,5"
    assert numbers(found(empty)) == [2, 3, 4]


def test_long_tables_are_sampled_from_end_to_end():
    narrow = [(i, ["1"]) for i in range(1000)]
    sample = [number for number, _ in layout._sample(narrow)]
    assert (len(sample), sample[0], sample[-1]) == (200, 0, 999)
    assert {b - a for a, b in itertools.pairwise(sample)} <= {5, 6}
    narrow[-4] = (996, ["1"] * 10_000)  # the last three tell how wide they are
    assert len(layout._sample(narrow)) == 200
    narrow[-3] = (997, ["1"] * 10_000)
    assert len(layout._sample(narrow)) == 40
    narrow[-1] = (999, ["1"] * 150_000)
    assert len(layout._sample(narrow)) == 5
    assert layout._sample(narrow[:5]) == narrow[:5]
    table = find_table("log", [(1, ["t"]), *((i, [str(i)]) for i in range(2, 300))], commas=False)
    assert (table.names, len(table.body)) == (["t"], 298)


# ---------------------------------------------------------------------- values


def test_a_row_of_another_width_is_refused():
    assert "row 3: got 1 cells, expected 3" in refusal("t,u,y\n0,1,2\n1\n2,3,4\n3,4,5")
    assert "row 4: got 4 cells, expected 3" in refusal("t,u,y\n0,1,2\n1,2,3\n2,3,4,5\n3,4,5")


def test_empty_cells_at_the_end_of_a_row_are_left_out_where_that_is_said():
    text = "t,u,y\n\n0,1,2\n1\n\n2,3\n3,4,5"
    table = found(text, ragged=True)
    assert table.body == [
        (3, ["0", "1", "2"]), (4, ["1", "", ""]), (5, ["", "", ""]), (6, ["2", "3", ""]),
        (7, ["3", "4", "5"]),
    ]  # fmt: skip
    assert table.remarks == []
    assert "row 4: got 1 cells" in refusal(text)


def test_empty_lines_are_gaps_of_a_lone_column_only():
    assert found("y\n1\n\n3").body == [(2, ["1"]), (3, [""]), (4, ["3"])]
    table = found("t,y\n\n1,2\n\n , \n  \n3,4")
    assert table.body == [(3, ["1", "2"]), (5, [" ", " "]), (7, ["3", "4"])]
    assert table.remarks == ["skipped row 4 and 1 more inside the table"]


@pytest.mark.parametrize(
    ("below", "kept", "remarks"),
    [
        ("Sum,3", [2, 3], ["skipped row 4 below the table"]),
        ("Sum,3\nMean,4\n\nend", [2, 3], ["skipped rows 4 to 7 below the table"]),
        ("a,1\n" * 6, [2, 3], ["skipped rows 4 to 9 below the table"]),
        ("a,1\n" * 7, list(range(2, 11)), []),
        ("a\n" * 7, [2, 3], ["skipped rows 4 to 10 below the table"]),
        (",3", [2, 3, 4], []),
        ("3,low", [2, 3, 4], []),
        ("# end", [2, 3], []),
    ],
)
def test_texts_below_a_table_are_no_rows(below, kept, remarks):
    table = found(f"t,y\n0,1\n1,2\n{below}")
    assert (numbers(table), table.remarks) == (kept, remarks)


def test_one_row_is_left_above_what_stands_below():
    table = found("t,y\n0,1\nSum,3")
    assert (numbers(table), table.remarks) == ([2], ["skipped row 3 below the table"])
    assert numbers(found("t,y\noff,low")) == [2]


# ---------------------------------------------------------------------- a first row of numbers


def counted(text):
    body = [(number + 3, cells) for number, cells in rows(text)]
    return counted_names("log", Layout(4, None, None, body, []))


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        (",0,1\n0,5,7\n1,6,8", ["", "0", "1"], 5),  # pandas, with an index that counts the rows
        ("0,1\n0.5,1.5\n0.7,", ["0", "1"], 5),  # and without one
        (" 1,2\n0.5,1.5", ["1", "2"], 5),
        ("0\n0.5", ["0"], 4),
        ("0,1", ["0", "1"], 4),
        ("5,5\n0.5,1.5", ["0", "1"], 4),
        ("5,7\n0.5,2", ["0", "1"], 4),
        ("5,7\n0.5,off", ["0", "1"], 4),
        ("5,7.5\n0.5,1.5", ["0", "1"], 4),
        ("7,,3\n1,,2\n2,,5", ["0", "", "2"], 4),
        ("1,3\n0,0", ["0", "1"], 4),
    ],
)
def test_a_first_row_of_numbers_is_a_header_or_values(text, names, first):
    header, body = counted(text)
    assert header == names
    assert body == [(number + 3, cells) for number, cells in rows(text)][first - 4 :]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("0,1,2,3\n1,2,3,4", "the numbers 0, 1, 2, … in the first row, which may be names or"),
        ("5,-7\n0.5,1.5", "the numbers 5, -7, … in the first row"),
        (",0,1\n5,1,2\n7,1,2", "numbers in row 4, but none in column 1, which has some below"),
        ("5,,1\n7,,2\n7,3,2", "numbers in row 4, but none in column 2, which has some below"),
    ],
)
def test_a_first_row_that_can_be_both_is_refused(text, given):
    with pytest.raises(DataError) as error:
        counted(text)
    assert str(error.value).startswith(f"log: got {given}")


def test_cells_of_a_sheet_may_be_numbers_and_empty():
    body = [(1, [None, 0, 1]), (2, [0, 2.5, 3.5]), (3, [1, 4.5, 5.5])]
    assert counted_names("log", Layout(1, None, None, body, [])) == (["", "0", "1"], body[1:])
