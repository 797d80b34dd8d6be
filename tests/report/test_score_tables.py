"""Tables of scores, for the terminal and for the page: every row, every number, the best ones."""

import io

import numpy as np
import pytest
from rich.console import Console

from gpssm.evaluation.scoring import Evaluation
from gpssm.metrics import Scores, metrics
from gpssm.report import html
from gpssm.report.tables import Row, score_blocks, score_table, verdict_text
from gpssm.report.verdict import Reason, Verdict

NAMES = ("level", "flow")


def scores(values, pooled, names=NAMES):
    """Scores of which all metrics have the same values."""
    return Scores(names, {m: np.array(values) for m in metrics()}, dict.fromkeys(metrics(), pooled))


def rows(unit, values, training, low, high):
    """The rows of two models; `low` and `high`: which one is best, of errors and of gains."""
    whole, one, three = ([f"{v:{digits}}" for v in values] for digits in ("g", ".1f", ".3f"))
    shares = [f"{v:.1%}" for v in values]
    found = [
        ("RMSE" + unit, whole, low), ("… on training rows", training, None),
        ("normalised RMSE", whole, low), ("fit [%]", one, high), ("CRPS" + unit, whole, low),
        ("interval score" + unit, whole, low), ("log-likelihood", three, high),
        ("95 % covers", shares, None),
    ]  # fmt: skip
    dash = [
        (label, ["–" if c.startswith("nan") else c for c in cells], b) for label, cells, b in found
    ]
    return [Row(label, tuple(cells), best) for label, cells, best in dash]


FIRST = Evaluation((), scores([1.0, 3.0], 5.0), 0, scores([7.0, 8.0], 9.0))
SECOND = Evaluation((), scores([2.0, np.nan], 4.0), 0)
BLOCKS = [
    ("level", rows(" [cm]", [1.0, 2.0], ("7", "–"), 0, 1)),
    ("flow", rows("", [3.0, np.nan], ("8", "–"), 0, 0)),
    ("all outputs, in units of their standard deviation", rows("", [5.0, 4.0], ("9", "–"), 1, 0)),
]


def test_every_output_has_its_block_and_all_of_them_have_one():
    assert list(score_blocks([FIRST, SECOND], ["cm", ""])) == BLOCKS
    plain = list(score_blocks([FIRST, SECOND]))
    assert [name for name, _ in plain] == [name for name, _ in BLOCKS]
    assert plain[0][1][0].label == "RMSE"


def test_a_single_output_needs_no_name_and_a_single_model_no_comparison():
    alone = Evaluation((), scores([1.0], 5.0, ("level",)), 0)
    ((name, found),) = score_blocks([alone], ["cm"])
    assert name == ""
    assert [each.best for each in found] == [None] * 8
    ((_, both),) = score_blocks([alone, alone], ["cm"])
    assert [each.best for each in both] == [0, None, 0, 0, 0, 0, 0, None]


def test_without_a_value_nothing_is_best():
    empty = Evaluation((), scores([np.nan], np.nan, ("level",)), 0)
    ((_, found),) = score_blocks([empty, empty])
    assert [each.best for each in found] == [None] * 8


def test_rows_of_a_training_are_told_beside_those_of_a_test():
    own = Evaluation((), scores([1.0], 1.0, ("level",)), 0, tested=False)
    tested = Evaluation((), scores([1.0], 1.0, ("level",)), 0)
    for models, told in (([own, own], False), ([own, tested], True)):
        ((_, found),) = score_blocks(models)
        assert ("… on training rows" in [row.label for row in found]) is told


def test_the_terminal_shows_a_column_for_each_model():
    table = score_table("the [b] title", {"one [a]": FIRST, "two": SECOND}, ["cm", ""])
    assert str(table.title) == "the [b] title"
    assert [str(each.header) for each in table.columns] == ["", "one [a]", "two"]
    assert [each.justify for each in table.columns] == ["left", "right", "right"]
    assert [each.no_wrap for each in table.columns] == [False, True, True]
    wanted = []
    for name, block in BLOCKS:
        wanted += [(name, "", ""), *((row.label, *row.cells) for row in block)]
    cells = zip(*([str(cell) for cell in each.cells] for each in table.columns), strict=True)
    assert list(cells) == wanted
    ends = [i for i, row in enumerate(table.rows) if row.end_section]
    assert ends == [8, 17]
    bold = [str(cell) for cell in table.columns[0].cells if getattr(cell, "style", "") == "bold"]
    assert bold == [name for name, _ in BLOCKS]
    alone = Evaluation((), scores([1.0], 5.0, ("level",)), 0)
    assert score_table("", {"one": alone}).row_count == 8


def test_brackets_are_no_markup_to_the_terminal():
    names = ("a [b]", "flow [b]")
    model = Evaluation((), scores([1.0, 2.0], 5.0, names), 0)
    console = Console(file=io.StringIO(), width=100)
    console.print(score_table("the [b] title", {"one [b]": model}, ["/s", "m"]))
    shown = console.file.getvalue()
    for words in ("the [b] title", "one [b]", "a [b]", "flow [b]", "RMSE [/s]", "RMSE [m]"):
        assert words in shown


def test_the_page_shows_the_best_in_bold_where_they_can_be_compared():
    models = {"one": FIRST, "two": SECOND}
    tables = []
    for name, block in BLOCKS:
        bold = {(i, 1 + row.best) for i, row in enumerate(block) if row.best is not None}
        cells = [(row.label, *row.cells) for row in block]
        tables.append(html.table((name, *models), cells, bold))
    assert html.score_tables(models, ["cm", ""]) == "".join(tables)
    assert "class=best" in tables[0]
    assert "class=best" not in html.score_tables(models, ["cm", ""], comparable=False)
    assert html.score_tables(models, ["cm", ""], False).count("<td") == tables[0].count("<td") * 3


@pytest.mark.parametrize(
    ("level", "color"),
    [("do not use", "red"), ("use with care", "yellow"), ("use", "green"),
     ("not tested", "default")],
)  # fmt: skip
def test_the_verdict_has_its_colour_in_the_terminal(level, color):
    found = verdict_text(Verdict(level, (Reason("a", "b: c"), Reason("d", "e"))))
    assert found.plain == f"verdict {level}: b: c; e."
    (span,) = found.spans
    assert (found.plain[span.start : span.end], span.style) == (level, f"bold {color}")


def test_the_next_command_stands_below_the_verdict():
    console = Console(file=io.StringIO(), width=80)
    console.print(verdict_text(Verdict("use", (Reason("a", "b"),), "gpssm [x]")))
    assert console.file.getvalue() == "verdict use: b.\nnext    gpssm [x]\n"
