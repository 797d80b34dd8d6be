"""What the page says of the fits on their own training part."""

from experiments.config import DATASETS
from experiments.files import ROOT
from experiments.simulated import read_simulated, simulated_table

from experiments import pages


def record(*rmses, test=0.1):
    seeds = [
        {"seed": i, "training_rmse": rmse, "paper": {"rmse": test + 0.01 * i}}
        for i, rmse in enumerate(rmses)
    ]
    return {"seeds": seeds}


def rows(table):
    lines = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]]
    return {first: rest for first, *rest in lines}


def test_failed_fits_are_counted_beside_the_error_of_the_test_part():
    empty = {name: {} for name in DATASETS}
    cells = empty | {
        "dryer": {"pr-ssm": record(0.078, 0.084)},
        "tank": {"cbf-ssm-1": record(0.1, None)},
    }
    others = empty | {"dryer": {"cbf-ssm-50": record(0.08, 0.119, 0.117, test=0.11)}}
    found = rows(simulated_table(cells, others))
    assert found["dryer"] == ["0.078 to 0.084; 0.105 (0.007)", "–", "–"]
    assert found["dryer, not taken"] == ["–", "–", "0.080 to 0.119, 2 failed; 0.120 (0.010)"]
    assert found["tank"] == ["–", "diverged", "–"]
    assert "tank, not taken" not in found


def test_records_of_older_runs_have_no_such_number():
    old = {"seeds": [{"seed": 0, "paper": {"rmse": 0.3}}]}
    cells = {name: {} for name in DATASETS} | {"tank": {"pr-ssm": old}}
    assert rows(simulated_table(cells, {name: {} for name in DATASETS}))["tank"] == ["–"] * 3


def test_the_page_is_what_the_records_say():
    page = pages.DOCS.read_text(encoding="utf-8")
    table = simulated_table(*read_simulated(ROOT / "results"))
    assert page == pages.between_markers(page, table, "simulated"), "run: make table1 ARGS=--pages"
