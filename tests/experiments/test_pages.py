"""The pages: from the JSON of any part of the grid, without a number by hand."""

import json

import pytest
from experiments.car.pages import UNSTABLE, read_study
from experiments.car.pages import tables as length_tables
from experiments.common.files import read_json, write_json
from experiments.common.pages import TITLES, between_markers
from experiments.drone.figures import HYBRID
from experiments.drone.figures import page as drone_page
from experiments.drone.figures import read_records as drone_records
from experiments.table1 import pages
from experiments.table1.config import DATASETS, FOLDER, METHODS
from experiments.tailsitter.__main__ import page as tailsitter_page

PAPER = json.loads((FOLDER / "paper.json").read_text())["table1"]


def scores(rmse):
    return {
        "rmse": rmse,
        "log_likelihood": -1.25,
        "coverage": {"50%": 0.5, "90%": 0.9, "95%": 0.94},
        "horizon": [{"from": 1, "to": 10, "rmse": rmse}, {"from": 11, "to": 24, "rmse": rmse}],
    }


def record(name, method, values):
    seeds = [
        {"seed": i, "paper": scores(v), "strict": scores(v and v + 1)} for i, v in enumerate(values)
    ]
    return {
        "dataset": name,
        "method": method,
        "settings": {"seeds": len(values)},
        "chosen": "an order",
        "seeds": seeds,
        "training_seconds_per_seed": 12.0,
        "seconds_per_step": 0.002,
        "data_notes": ["partly interpolated"],
        "versions": {"commit": "abc", "machine": "a machine"},
    }


@pytest.fixture
def results(tmp_path):
    """Three cells of furnace: ours, ARX, and a GRU of which a seed diverged."""
    cells = {"cbf-ssm-50": [1.20, 1.22], "arx": [1.25], "gru": [1.0, None]}
    records = {method: record("furnace", method, values) for method, values in cells.items()}
    write_json(tmp_path / "table1.json", {"furnace": records})
    return tmp_path


def line(page, *words):
    """The first line of the page that holds all the words, as its cells."""
    found = next(row for row in page.splitlines() if all(word in row for word in words))
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_an_incomplete_grid_has_pages(results):
    (written,) = pages.write_pages(results)
    assert written == results / "table1.md"
    page = written.read_text(encoding="utf-8")
    assert "3 of 72 cells are there" in page
    header = line(page, "data set", "CBF-SSM-50")
    ours = dict(zip(header, line(page, "furnace", "ours"), strict=True))
    assert ours["CBF-SSM-50"] == "**1.210 (0.014)**"
    assert ours["linear ARX"] == "1.250"
    assert ours["GRU"] == "diverged"
    assert ours["PR-SSM"] == "–"


def test_the_papers_numbers_stand_below_ours(results):
    pages.write_pages(results)
    rows = (results / "table1.md").read_text(encoding="utf-8").splitlines()
    below = rows[next(i for i, row in enumerate(rows) if "| furnace | ours" in row) + 1]
    assert "1.260 (0.013)" in below
    assert "**1.220 (0.010)**" in below


def test_an_empty_folder_has_pages_too(tmp_path):
    pages.write_pages(tmp_path)
    assert "0 of 72" in (tmp_path / "table1.md").read_text(encoding="utf-8")


def test_targets_compare_the_mean(results):
    page = pages.tables(pages.read_cells(results / "table1.json"), PAPER)
    rows = page[page.index("## Targets") :]
    cells = line(rows, "furnace")
    assert cells[1] == "yes: 1.210, 1.230"
    assert cells[4] == "yes: 1.210, 1.220"
    assert cells[5] == "yes: 1.210, 1.250"
    assert cells[6] == "yes: 94%"
    assert line(rows, "actuator")[1:] == ["–"] * 6


def test_the_notes_name_the_data_and_the_commit(results):
    page = pages.details(pages.read_cells(results / "table1.json"))
    assert "- furnace: partly interpolated" in page
    assert "- made by commit abc on a machine" in page


def test_a_page_keeps_what_is_outside_the_markers():
    other = "<!-- begin b -->\nkept\n<!-- end b -->"
    page = f"before\n<!-- begin a -->\nold\n<!-- end a -->\n{other}\nafter\n"
    once = between_markers(page, "new \\1", "a")
    assert once.startswith("before\n")
    assert once.endswith(f"{other}\nafter\n")
    assert "old" not in once
    assert between_markers(once, "new \\1", "a") == once
    with pytest.raises(SystemExit, match="expected a place"):
        between_markers("no markers", "new")


def test_the_documentation_is_what_the_results_say():
    """No number by hand: the page is the one that the committed JSON makes."""
    cells = pages.read_cells(pages.ROOT / "results" / "table1.json")
    untuned = pages.read_cells(pages.ROOT / "results" / "defaults" / "table1.json")
    written = {
        (pages.DOCS, "generated"): pages.tables(cells, PAPER),
        (pages.README, "generated"): pages.headline(cells, PAPER),
        (pages.CHOOSING, "defaults"): pages.defaults_table(cells, untuned),
    }
    for (path, name), text in written.items():
        page = path.read_text(encoding="utf-8")
        assert page == between_markers(page, text, name), "run: make table1 ARGS=--pages"
    page = UNSTABLE.read_text(encoding="utf-8")
    body = length_tables(*read_study(pages.ROOT / "results"))
    again = "run: make figure3a ARGS=--pages"
    assert page == between_markers(page, body, "lengths"), again


def test_every_method_has_a_title_and_every_data_set_a_row_of_the_paper():
    assert set(TITLES) == set(METHODS)
    assert set(PAPER) == set(DATASETS)


def test_the_page_of_hybrid_models_has_the_numbers_of_the_drone():
    results = pages.ROOT / "results"
    body = drone_page(read_json(results / "drone.json")["physics"], drone_records(results))
    assert body in HYBRID.read_text(encoding="utf-8"), "run: python -m experiments.drone --pages"
    assert body in (results / "drone.md").read_text(encoding="utf-8")


def test_the_page_of_hybrid_models_has_the_numbers_of_the_tail_sitter():
    results = pages.ROOT / "results"
    body = tailsitter_page(read_json(results / "tailsitter.json"))
    assert body in HYBRID.read_text(encoding="utf-8"), "run: make tailsitter"
    assert body in (results / "tailsitter.md").read_text(encoding="utf-8")
