"""What a study may say, and what each configuration of it is."""

import pytest

from gpssm import ConfigError
from gpssm.study import Search
from gpssm.study.space import check_values, draw, grid, resolve
from support_study import MODEL, make_study

WHOLE = {"low": 1, "high": 100, "log": True}
RATE = {"low": 1e-3, "high": 1.0, "log": True}


def test_a_grid_is_every_combination_in_the_order_of_the_study():
    search = Search(method=["vcdt", "pr-ssm"], training={"steps": [1, 2]}, model={"lag": [None]})
    chosen = [each.chosen for each in grid(search)]
    assert [(each["method"], each["training.steps"]) for each in chosen] == [
        ("vcdt", 1), ("vcdt", 2), ("pr-ssm", 1), ("pr-ssm", 2)
    ]  # fmt: skip
    assert {each["model.lag"] for each in chosen} == {None}
    assert [each.number for each in grid(search)] == [0, 1, 2, 3]


def random(**changes):
    space = {"training": {"learning_rate": RATE}, "model": {"dim_x": WHOLE, "whitened": [True]}}
    return Search(**{"kind": "random", **space, **changes})


def test_a_random_configuration_depends_on_the_seed_and_its_number_only():
    drawn = [draw(random(), number) for number in range(20)]
    assert drawn == [draw(random(configurations=500), number) for number in range(20)]
    assert drawn != [draw(random(seed=1), number) for number in range(20)]
    assert len({each.chosen["training.learning_rate"] for each in drawn}) == 20


def test_random_values_stay_in_their_range_and_are_whole_where_its_ends_are():
    drawn = [draw(random(), number).chosen for number in range(300)]
    rates = [each["training.learning_rate"] for each in drawn]
    sizes = [each["model.dim_x"] for each in drawn]
    assert all(1e-3 <= rate <= 1.0 for rate in rates)
    assert all(isinstance(size, int) and 1 <= size <= 100 for size in sizes)
    assert 0.4 < sum(rate < 10**-1.5 for rate in rates) / 300 < 0.6  # evenly in the logarithm
    assert {each["model.whitened"] for each in drawn} == {True}


def test_what_is_chosen_joins_what_is_fixed():
    found = resolve(make_study(), {"method": "vcdt", "training.steps": 9, "model.k": 2.0})
    assert found.method == "vcdt"
    assert found.training["steps"] == 9
    assert found.model == {**MODEL, "k": 2.0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search": {"training": {}}}, "nothing to search"),
        ({"search": {"training": {"stepz": [1]}}}, "training.stepz: unknown setting"),
        ({"search": {"training": {"steps": 5}}}, "a list of values"),
        ({"search": {"training": {"steps": {"low": 9, "high": 2}}}}, "low < high"),
        ({"search": {"training": {"steps": {"lo": 9}}}}, "lo: unknown setting"),
        ({"search": {"training": {"learning_rate": RATE}}}, "a list in a grid"),
        ({"search": {"knd": "grid"}}, "knd: unknown setting"),
        ({"search": {"kind": "bayes"}}, "'grid', 'random' or 'optuna'"),
        ({"search": {"training": {"steps": [3]}}}, "fixed and searched"),
        ({"search": {"training": {"validation_metric": ["rmse"]}}}, "`objective`"),
        ({"method": "vdct"}, "one of pr-ssm"),
        ({"model": {"dimx": 3}}, "model.dimx: unknown setting"),
        ({"seeds": 0}, "seeds: got 0"),
    ],
)
def test_a_wrong_study_is_refused_in_one_line(changes, words):
    with pytest.raises(ConfigError, match=words) as caught:
        make_study(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "search", [{"training": {"clip_norm": [1.0, -1.0]}}, {"model": {"kernel": ["rbf", "rfb"]}}]
)
def test_a_value_that_makes_no_sense_is_found_before_anything_is_fitted(search):
    with pytest.raises(ConfigError, match=r"clip_norm|rfb"):
        check_values(make_study(search=search), dim_y=1)
