"""The plan of the searches: what is tried, and by what it is judged."""

import argparse

import pytest
from experiments.config import CONFIGS, DATASETS, merge
from experiments.searches import (
    Folds,
    add_search_options,
    asked_for,
    make_folds,
    read_searches,
)

from experiments import tune
from gpssm import ConfigError
from gpssm.inference.presets import METHODS

PLAN = """
[grid.training]
inducing_kl = [0.3, 1.0]

[[search]]
datasets = ["drive", "tank"]
methods = ["pr-ssm", "vcdt"]
folds = 6
seeds = 2
grid.training = { steps = [800] }

[[search]]
datasets = ["tank"]
methods = ["cbf-ssm-1"]
folds = 5
held = 2
ahead = true
seeds = 1
grid.training = { inducing_kl = [3.0] }
grid.model = { lookahead = [16] }
"""


@pytest.fixture
def options(tmp_path, monkeypatch):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    monkeypatch.setattr("experiments.searches.PLAN", plan)
    parser = argparse.ArgumentParser()
    add_search_options(parser)
    return lambda *arguments: parser.parse_args(arguments)


def test_each_search_of_the_file_has_the_common_grid_under_its_own(options):
    first, second = asked_for(options())
    assert (first.datasets, first.methods) == (("drive", "tank"), ("pr-ssm", "vcdt"))
    assert (first.folds, first.seeds) == (Folds(6, 6), 2)
    assert first.grid == {"training": {"inducing_kl": [0.3, 1.0], "steps": [800]}}
    assert second.folds == Folds(5, 2, ahead=True)
    assert second.grid == {"training": {"inducing_kl": [3.0]}, "model": {"lookahead": [16]}}


def test_a_part_of_the_file(options):
    (found,) = asked_for(options("--datasets", "tank", "--methods", "vcdt"))
    assert (found.datasets, found.methods) == (("tank",), ("vcdt",))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ahead"], "--ahead: got no --set"),
        (["--seeds", "2"], "--seeds: got no --set"),
        (["--datasets", "actuator"], "expected some that the plan has"),
        (["--plan", "my.toml", "--set", "model.lag=4"], "--plan: got also --set"),
    ],
)
def test_what_would_have_no_effect_is_refused(options, capsys, arguments, words):
    with pytest.raises(ConfigError, match=words):
        asked_for(options(*arguments))
    with pytest.raises(SystemExit):
        tune.main(arguments)
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_search_of_ones_own(options):
    given = "--set", "training.steps=5,9", "--set", "model.lag=4", "--folds", "4", "--held", "1"
    (search,) = asked_for(options(*given))
    assert (search.datasets, search.methods) == (DATASETS[:-1], ("cbf-ssm-50",))
    assert search.folds == make_folds(4, 1, ahead=False) == Folds(4, 1)
    assert search.grid == {"training": {"steps": [5, 9]}, "model": {"lag": [4]}}


def test_a_program_stays_the_same_when_its_winner_is_in_use(data, tiny):
    """Otherwise a second `make tune` would compute everything again."""
    beside = {"training": {"inducing_kl": [0.5, 2.0]}}
    chosen = merge(tiny, {"training": {"inducing_kl": 2.0}})
    before, after = (
        tune.make_job(config, data, "pr-ssm", {}, beside, Folds(2, 2), CONFIGS)
        for config in (tiny, chosen)
    )
    assert (before.path, before.settings) == (after.path, after.settings)


def test_the_plan_of_the_study_can_be_read():
    searches = read_searches(CONFIGS / "tune.toml")
    for search in searches:
        assert set(search.datasets) <= set(DATASETS)
        assert set(search.methods) <= set(METHODS)
        # fits of a candidate; ahead, three seeds of one future or of three
        assert search.folds.held * search.seeds in ((3, 9) if search.folds.ahead else (8, 12))
