"""The experiments are no part of the package: found from the root of the repository."""

import sys
from pathlib import Path

import numpy as np
import pytest

from gpssm import Dataset

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

TINY = {
    "seeds": 2,
    "seeds_at_once": 2,
    "model": {"dim_x": 2, "inducing_points": 4, "particles": 3},
    "training": {"steps": 2, "batch_size": 2, "sequence_length": 20, "calibrate": False},
    "gru": {"steps": 3},
}


@pytest.fixture(autouse=True)
def unprepared(monkeypatch):
    """`prepare` sets up the whole process, and this one also runs all the other tests."""
    monkeypatch.setattr("gpssm.prepare", lambda cores: None)


@pytest.fixture(scope="session")
def tiny():
    """A configuration that trains for a moment."""
    return TINY


@pytest.fixture(scope="session")
def data():
    """A stable second-order system with a training and a test part."""
    return make_data()


def make_data(rows=240, train=160):
    rng = np.random.default_rng(3)
    u = np.repeat(rng.standard_normal(rows // 4), 4)
    y = np.zeros(rows)
    for t in range(2, rows):
        y[t] = 1.4 * y[t - 1] - 0.5 * y[t - 2] + 0.3 * u[t - 1] + 0.05 * rng.standard_normal()
    return Dataset.from_arrays(2.0 + y, u, name="furnace").split_at(train)
