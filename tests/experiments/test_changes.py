"""Cells before and after a change: below each other where there are both, and on the page."""

import pytest
from experiments.changes import CHANGES, change_table, read_both
from experiments.config import DATASETS
from experiments.files import ROOT

from experiments import pages

FOLDS, DRIFT = CHANGES["bands"], CHANGES["removed"]


def record(settings, *covered, likelihood=-1.0):
    paper = {"rmse": 0.5, "log_likelihood": likelihood}
    seeds = [{"paper": {**paper, "coverage": {"95%": each}}} for each in covered]
    return {"settings": settings, "seeds": seeds}


def folds(count, *covered, **options):
    return record({"calibration_folds": count}, *covered, **options)


def words(table):
    _, _, *rows = table.splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_both_stand_below_each_other():
    before, after = ({name: {} for name in DATASETS} for _ in range(2))
    before["furnace"] = {"pr-ssm": folds(5, 0.5, 0.7), "vcdt": folds(5, 0.1)}  # one of them alone
    after["furnace"] = {"pr-ssm": folds(2, 0.9, 1.0), "cbf-ssm-50": folds(2, 0.9)}
    after["tank"] = {"pr-ssm": folds(5, 0.9)}
    found = words(change_table(FOLDS, before, after))
    assert [each[:3] for each in found] == [["furnace", "PR-SSM", n] for n in ("5", "2")]
    assert [each[3:] for each in found] == [
        ["0.500 (0.000)", "-1.000 (0.000)", share] for share in ("60%", "95%")
    ]


def test_the_size_of_a_drift_tells_which_is_which():
    before, after = ({name: {} for name in DATASETS} for _ in range(2))
    before["dryer"] = {"pr-ssm": record({}, 0.9)}  # from before there was such a setting
    after["dryer"] = {"pr-ssm": record({"data": {"drift": 0.1}}, 0.9)}
    assert [row[2] for row in words(change_table(DRIFT, before, after))] == ["–", "0.1"]


def test_a_seed_without_a_score_is_said_to_have_diverged():
    before, after = ({name: {} for name in DATASETS} for _ in range(2))
    before["drive"] = {"cbf-ssm-1": folds(5, 0.5, likelihood=None)}
    after["drive"] = {"cbf-ssm-1": folds(2, 0.5)}
    told = words(change_table(FOLDS, before, after))
    assert [row.count("diverged") for row in told] == [3, 0]


@pytest.mark.parametrize(("name", "methods"), [("bands", 3), ("removed", 9)])
def test_the_page_has_what_was_computed(name, methods):
    page, results = (ROOT / "docs" / "table1.md").read_text(encoding="utf-8"), ROOT / "results"
    table = change_table(CHANGES[name], *read_both(CHANGES[name], results))
    assert page == pages.between_markers(page, table, name), "run: make table1 ARGS=--pages"
    assert len(words(table)) == 2 * methods  # before and after
