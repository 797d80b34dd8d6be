"""The offset of an error: found where it was put, and shown on the page as it was computed."""

import numpy as np
import pytest
from experiments.files import ROOT, read_json

from experiments import drift
from gpssm import Dataset
from gpssm.data import Experiment


def drifting(jump):
    """A first-order lag whose sensor is off by `jump` in the test part."""
    rng = np.random.default_rng(0)
    u, x = rng.standard_normal((600, 1)), np.zeros((600, 1))
    for t in range(599):
        x[t + 1] = 0.8 * x[t] + u[t]
    y = x + 0.1 * rng.standard_normal(x.shape)
    y[400:] += jump
    parts = (Experiment.of(y, u).cut(*rows) for rows in ((0, 400, "train"), (400, 600, "test")))
    return Dataset(tuple(parts))


@pytest.mark.parametrize("jump", [0.0, 0.7])
def test_an_offset_is_found_and_what_is_left_is_noise(jump):
    missed, split = drift.misses(drifting(jump))
    found = drift.offsets(missed, split)
    assert split == 400
    np.testing.assert_allclose([*found["training"], found["test"]], [0, 0, 0, jump], atol=0.06)
    np.testing.assert_allclose([found["early"], found["seen"]], jump, atol=0.2)
    assert found["rmse"] == pytest.approx(np.hypot(jump, found["without_offset"]), rel=0.1)
    assert found["without_offset"] == pytest.approx(0.1, rel=0.3)


def test_offsets_of_several_outputs_do_not_cancel():
    missed = np.tile([0.3, -0.3], (100, 1))
    found = drift.offsets(missed, 50)
    assert [*found["training"], found["test"]] == pytest.approx([0.3] * 4)


def test_the_page_has_what_was_computed():
    page = (ROOT / "docs" / "table1.md").read_text(encoding="utf-8")
    record = read_json(ROOT / "results" / "drift.json")
    assert drift.table(record) in page, "run: python -m experiments.drift"
