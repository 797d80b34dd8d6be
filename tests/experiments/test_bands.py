"""Bands with other folds: beside each other where there are both, and on the page as they are."""

from experiments.config import DATASETS
from experiments.files import ROOT

from experiments import bands, pages


def record(folds, *covered, likelihood=-1.0):
    paper = {"rmse": 0.5, "log_likelihood": likelihood}
    seeds = [{"paper": {**paper, "coverage": {"95%": each}}} for each in covered]
    return {"settings": {"calibration_folds": folds}, "seeds": seeds}


def test_both_stand_below_each_other():
    cells, others = ({name: {} for name in DATASETS} for _ in range(2))
    cells["furnace"] = {"pr-ssm": record(2, 0.9, 1.0), "cbf-ssm-50": record(2, 0.9)}
    cells["tank"] = {"pr-ssm": record(5, 0.9)}
    others["furnace"] = {"pr-ssm": record(5, 0.5, 0.7), "vcdt": record(5, 0.1)}
    _, _, *rows = bands.band_table(cells, others).splitlines()
    words = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [each[:3] for each in words] == [["furnace", "PR-SSM", n] for n in ("5", "2")]
    assert [each[3:] for each in words] == [
        ["0.500 (0.000)", "-1.000 (0.000)", share] for share in ("60%", "95%")
    ]


def test_a_seed_without_a_score_is_said_to_have_diverged():
    cells, others = ({name: {} for name in DATASETS} for _ in range(2))
    others["drive"] = {"cbf-ssm-1": record(5, 0.5, likelihood=None)}
    assert bands.band_table(cells, others).splitlines()[-1].count("diverged") == 3


def test_the_page_has_what_was_computed():
    page, results = (ROOT / "docs" / "table1.md").read_text(encoding="utf-8"), ROOT / "results"
    table = bands.band_table(*bands.read_bands(results))
    assert page == pages.between_markers(page, table, "bands"), "run: make table1 ARGS=--pages"
