"""The offset of an error: found where it was put, and shown on the page as it was computed."""

import numpy as np
import pytest
from experiments.config import read_config
from experiments.files import ROOT, read_json

from experiments import drift
from gpssm import Dataset
from gpssm.data import Experiment
from gpssm.prediction import arx


def drifting(jump):
    """A first-order lag whose sensor is off by `jump` from the ninth row of the test part on."""
    rng = np.random.default_rng(0)
    u, x = rng.standard_normal((600, 1)), np.zeros((600, 1))
    for t in range(599):
        x[t + 1] = 0.8 * x[t] + u[t]
    y = x + 0.1 * rng.standard_normal(x.shape)
    y[408:] += jump
    parts = (Experiment.of(y, u).cut(*rows) for rows in ((0, 400, "train"), (400, 600, "test")))
    return Dataset(tuple(parts))


@pytest.mark.parametrize("jump", [0.0, -0.7])
def test_an_offset_is_found_where_it_is(jump):
    missed, split = drift.misses(drifting(jump))
    found = drift.offsets(missed, split)
    assert split == 400
    np.testing.assert_allclose(found["training"], 0.0, atol=0.06)
    np.testing.assert_allclose([found["early"], found["seen"]], [0.0, jump], atol=0.15)
    assert found["test"] == pytest.approx(0.96 * jump, abs=0.06)
    assert found["rmse"] == pytest.approx(np.hypot(found["test"], found["without_offset"]))
    assert found["without_offset"] < 0.25


def test_a_drift_shows_in_the_thirds_of_the_training_part():
    ramp = np.linspace(-1.0, 1.0, 416)[:, None]
    thirds = drift.offsets(np.concatenate([ramp, np.ones((100, 1))]), 416)["training"]
    np.testing.assert_allclose(thirds, [-0.60, 0.04, 0.68], atol=0.02)


def test_offsets_of_several_outputs_do_not_cancel():
    missed = np.tile([0.3, -0.3], (100, 1))
    found = drift.offsets(missed, 50)
    assert [*found["training"], found["test"]] == pytest.approx([0.3] * 4)


def test_the_page_has_what_was_computed():
    page = (ROOT / "docs" / "table1.md").read_text(encoding="utf-8")
    record = read_json(ROOT / "results" / "drift.json")
    assert drift.table(record) in page, "run: python -m experiments.drift"
    assert drift.size_table(record) in page, "run: python -m experiments.drift"


def test_the_size_of_the_drift_of_dryer_is_what_its_futures_ask_for():
    found = read_json(ROOT / "results" / "drift.json")["without_drift"]["dryer"]
    best = min(found, key=lambda size: found[size]["three futures"])
    assert float(best) == read_config()["datasets"]["dryer"]["data"]["drift"]


def test_errors_are_those_of_the_rows_that_follow():
    """Of futures that nothing of later rows has told of."""
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal((2, 300, 1))
    y += 0.8 * np.roll(u, 1, axis=0)
    found = drift.without_drift(Dataset.from_arrays(y, u))
    assert list(found) == ["none", "0.03", "0.1", "0.2", "0.3"]
    before, after = y[:150], y[150:]
    missed = (after - arx(Dataset.from_arrays(before, u[:150])).predict_mean(u[150:], after[:16]))[
        16:
    ]
    assert found["none"]["second half"] == pytest.approx(np.sqrt(np.mean(missed**2)))
    assert all(0.9 < each["three futures"] < 1.3 for each in found.values())
