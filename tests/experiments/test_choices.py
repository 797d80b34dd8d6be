"""What the page says of the searches: which settings had the lowest error, and which are in use."""

import pytest
from experiments.choices import better_by_both, choices_table, compared, judged
from experiments.config import gpssm_settings, plain, read_config
from experiments.files import ROOT, write_json
from experiments.overrides import with_candidate

from experiments import pages

CONFIG = {"training": {"steps": 100, "state_kl": 5.0}, "model": {"lookahead": 4}}
SEARCHES = ROOT / "results" / "tune"


def search(folder, name, errors, settings=CONFIG, method="cbf-ssm-1", unlikely=()):
    """A record of drive, with an error for each fold and number of steps.

    `unlikely`: those whose forecasts are less likely than a constant.
    """
    points = [
        {
            "candidate": {"training.steps": steps},
            "rmse": rmse,
            "log_likelihood": [-1.5 if steps in unlikely else -1.4] * len(rmse),
        }
        for steps, rmse in errors.items()
    ]
    told = plain(gpssm_settings(settings, "drive", method))
    write_json(folder / "drive" / method / name, {"settings": told, "points": points})


def cells(table):
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]]


def test_the_lowest_error_stands_beside_that_of_the_settings_in_use(tmp_path):
    search(tmp_path, "folds=3,a.json", {50: [0.2, 0.4, 0.9], 100: [0.5, 0.1, 0.7]})
    (row,) = cells(choices_table(CONFIG, tmp_path))
    assert row == ["drive", "CBF-SSM-1", "3 folds", "2", "2", "0.400", "0.500 (+25.0 %)"]


def test_futures_are_judged_by_the_root_mean_square(tmp_path):
    search(tmp_path, "ahead=2of5,a.json", {50: [3.0, 5.0], 100: [3.0, 4.0]})
    (row,) = cells(choices_table(CONFIG, tmp_path))
    assert row[2:] == ["2 futures of 5", "2", "2", "3.536", "3.536"]


def test_candidates_with_other_settings_count_but_are_not_in_use(tmp_path):
    search(tmp_path, "folds=1of10,a.json", {100: [0.5]})
    search(tmp_path, "folds=1of10,b.json", {100: [0.4]}, CONFIG | {"model": {"lookahead": 0}})
    dear = CONFIG | {"training": {"steps": 100, "state_kl": 9.0}}
    search(tmp_path, "folds=1of10,c.json", {100: [0.3]}, dear)
    (row,) = cells(choices_table(CONFIG, tmp_path))
    assert row[2:] == ["1 fold of 10", "3", "3", "0.300", "0.500 (+66.7 %)"]


def test_what_is_less_likely_than_a_constant_is_no_candidate_unless_all_are(tmp_path):
    errors = {50: [0.2, 0.3, 0.4], 100: [0.5, 0.6, 0.7]}
    search(tmp_path, "folds=3,a.json", errors, unlikely=(50,))
    (row,) = cells(choices_table(CONFIG, tmp_path))
    assert row[3:] == ["2", "1", "0.600", "0.600"]
    search(tmp_path, "folds=3,a.json", errors, unlikely=(50, 100))
    (row,) = cells(choices_table(CONFIG, tmp_path))
    assert row[3:] == ["2", "0", "0.300", "0.600 (+100.0 %)"]


def test_what_diverged_is_no_candidate(tmp_path):
    search(tmp_path, "folds=2,a.json", {50: [0.1, None], 100: [0.4, 0.6]})
    (found,) = judged(CONFIG, tmp_path, "drive", "cbf-ssm-1").values()
    assert [(each.rmse, each.in_use) for each in found] == [(pytest.approx(0.5), True)]


def test_two_judges_must_agree(tmp_path):
    judges = "folds=2", "ahead=1of2"
    errors = (
        {50: 0.3, 100: 0.5, 150: 0.4, 200: 0.2, 250: 0.4},
        {50: 0.8, 100: 0.6, 150: 0.3, 250: 0.5},
    )
    for judge, each in zip(judges, errors, strict=True):
        points = {steps: [rmse, rmse] for steps, rmse in each.items()}
        search(tmp_path, f"{judge},a.json", points, unlikely=(250,))
    search(tmp_path, "folds=2,b.json", {150: [0.45, 0.45]})  # once more, with a higher error
    found = better_by_both(CONFIG, tmp_path, "drive", "cbf-ssm-1", judges)
    assert [each[0] for each in found] == [150]  # of 50 and 200 only one judge says so


def test_the_page_is_what_the_searches_say():
    page = pages.DOCS.read_text(encoding="utf-8")
    table = choices_table(read_config(), SEARCHES)
    assert page == pages.between_markers(page, table, "choices"), "run: make table1 ARGS=--pages"


def test_the_settings_of_every_method_with_a_target_were_searched():
    rows = cells(choices_table(read_config(), SEARCHES))
    wanted = [(name, pages.TITLES[m]) for name in pages.DATASETS for m in pages._TARGETS]
    assert {tuple(row[:2]) for row in rows} == set(wanted)


def test_the_settings_in_use_are_the_lowest_but_where_the_page_says_why():
    rows = cells(choices_table(read_config(), SEARCHES))
    others = [tuple(row[:3]) for row in rows if "(+" in row[-1]]
    assert others == [
        ("drive", "CBF-SSM-1", "6 folds"),  # the lowest by halves
        ("dryer", "PR-SSM", "3 futures of 5"),  # the product of both judges decides
        ("dryer", "CBF-SSM-1", "1 future of 2"),
        ("dryer", "CBF-SSM-1", "3 futures of 5"),
        ("dryer", "CBF-SSM-50", "1 future of 2"),
        ("dryer", "CBF-SSM-50", "3 futures of 5"),
        ("furnace", "CBF-SSM-50", "3 folds"),  # as drive's
        ("sarcos", "CBF-SSM-1", "1 fold of 10"),  # as published
        ("sarcos", "CBF-SSM-50", "1 fold of 10"),
    ]


@pytest.mark.parametrize("method", pages._TARGETS)
def test_no_settings_for_dryer_are_better_by_both_of_its_judges(method):
    judges = "ahead=3of5", "ahead=1of2"
    assert not better_by_both(read_config(), SEARCHES, "dryer", method, judges)


@pytest.mark.parametrize(
    ("method", "half_life", "steps"),
    [("pr-ssm", 70.0, 1450), ("cbf-ssm-1", 100.0, 3000), ("cbf-ssm-50", 100.0, 3850)],
)
def test_dryer_has_what_the_rule_of_its_judges_says(method, half_life, steps):
    """Of what both preferred to the settings that it had before, the lowest product."""
    before = {"data.drift": None, "training.half_life": half_life, "training.steps": steps}
    config = with_candidate(read_config(), "dryer", method, before)
    preferred = better_by_both(config, SEARCHES, "dryer", method, ("ahead=3of5", "ahead=1of2"))
    used = gpssm_settings(read_config(), "dryer", method)
    assert preferred[0] == compared(used.training, used.data.drift)
