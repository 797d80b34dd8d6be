"""Settings from the command line, on top of a file."""

import pytest
from experiments.table1.config import cell_settings
from experiments.table1.overrides import parse_candidate, parse_set, with_candidate

from gpssm.base.errors import ConfigError


def test_settings_of_the_command_line():
    assert parse_set("training.steps=500,1000") == {"training": {"steps": [500, 1000]}}
    assert parse_set("training.inducing_kl=0.5") == {"training": {"inducing_kl": [0.5]}}
    words = parse_set("model.noise_draw=shared, independent")
    assert words == {"model": {"noise_draw": ["shared", "independent"]}}
    assert parse_set("training.half_life=null,50") == {"training": {"half_life": [None, 50]}}
    assert parse_set("model.target=none") == {"model": {"target": ["none"]}}
    assert parse_set("model.whitened=true") == {"model": {"whitened": [True]}}


def test_a_candidate_wins_over_every_layer(data, tiny):
    config = {**tiny, "datasets": {"furnace": {"methods": {"vcdt": {"training": {"steps": 9}}}}}}
    found = with_candidate(config, "furnace", "vcdt", {"training.steps": 4})
    assert cell_settings(found, data, "vcdt").training.steps == 4


def test_a_setting_of_the_cell_itself_has_no_table(data, tiny):
    found = with_candidate(tiny, data.name, "vcdt", parse_candidate(["calibration_folds=7"]))
    assert cell_settings(found, data, "vcdt").calibration_folds == 7


def test_settings_of_one_value_each():
    found = parse_candidate(["training.state_kl=1.0", "model.noise_draw=shared"])
    assert found == {"training.state_kl": 1.0, "model.noise_draw": "shared"}
    with pytest.raises(ConfigError, match="steps=1,2"):
        parse_candidate(["training.steps=1,2"])
