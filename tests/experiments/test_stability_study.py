"""The study of stability on plants that train for a moment."""

import json

import jax
import numpy as np
import pytest
from experiments.common.files import ROOT
from experiments.common.pages import between_markers
from experiments.stability.__main__ import UNSTABLE, page, plant_settings, read_plants, run_plant
from experiments.table1.config import cell_settings, read_config

import gpssm
from gpssm.data.benchmarks.simulators import dubins
from gpssm.training.progress import silent


@pytest.fixture(scope="module")
def record():
    car = dubins(jax.random.key(4), steps=1000, train=700)
    settings = plant_settings("dubins", car, short=True)
    model = settings.model.replace(inducing_points=6, particles=4)
    training = settings.training.replace(steps=2, batch_size=2, calibrate=False)
    settings = settings.replace(model=model, training=training)
    return run_plant(car, settings, silent)


def test_a_record_is_plain_json_and_has_every_state(record):
    json.dumps(record, allow_nan=False)
    assert len(record["states"]) == len(record["exponent"]) == len(record["growing"]) == 4
    assert record["stable"] == (not any(record["growing"]))


def test_the_page_names_the_state_that_grows_fastest(record):
    told = {**record, "exponent": [0.1, 2.5, 0.2, -0.1], "stable": False}
    text = page([told])
    assert f"t^2.50 ({record['states'][1]})" in text
    assert "not mean-square stable" in text


def test_benchmarks_train_as_in_table_1():
    data = gpssm.Dataset.from_arrays(np.zeros(60), np.zeros(60), name="furnace")
    settings = plant_settings("furnace", data, short=False)
    table1 = cell_settings(read_config(), data, "cbf-ssm-50")
    assert settings.to_json().items() <= table1.replace(seeds=1).to_json().items()


def test_the_documentation_is_what_the_records_say():
    body, text = page(read_plants(ROOT / "results")), UNSTABLE.read_text(encoding="utf-8")
    assert text == between_markers(text, body, "stability"), "run: make stability"
