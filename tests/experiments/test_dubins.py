"""The car's test stretches, their scores, and the two reference lines."""

import jax
import numpy as np
import pytest
from experiments.car.dubins import (
    HORIZON,
    WARMUP,
    Scored,
    cut_stretches,
    errors,
    floor,
    gaussian_log_likelihood,
    references,
)

from gpssm.data.benchmarks.simulators import CAR_OBSERVATION_VARIANCE, dubins, dubins_trajectory
from gpssm.metrics import Forecast


@pytest.fixture(scope="module")
def car():
    return dubins(jax.random.key(4), steps=1400, train=400)


def test_stretches_lie_in_the_test_part_and_cover_it(car):
    stretches = cut_stretches(car, 4)
    test = car.test[0]
    assert [len(each) for each in stretches] == [WARMUP + HORIZON] * 4
    np.testing.assert_array_equal(stretches[0].y, test.y[: WARMUP + HORIZON])
    np.testing.assert_array_equal(stretches[-1].y, test.y[-WARMUP - HORIZON :])


def test_the_floor_knows_the_way(car):
    """Far below the size of the arena, and not below what the sensor allows."""
    found = references(cut_stretches(car, 4))
    rmse = found["true equations"]["rmse"]
    assert np.sqrt(CAR_OBSERVATION_VARIANCE) < rmse < 0.1
    assert found["hold the last position"]["rmse"] > 2.0


def test_the_floor_finds_the_heading_that_only_the_path_tells():
    """Without noise it is the true path, but for the width of the grid of headings."""
    path = dubins_trajectory(jax.random.key(2), 200)
    u, y = path.u, path.states[:, :2]
    found = floor(u, y[:WARMUP])
    np.testing.assert_allclose(found[WARMUP:], y[WARMUP:], atol=0.15)
    wrong = floor(u, y[:WARMUP] * [[1.0, -1.0]])  # a mirrored path has no heading that fits
    assert np.abs(wrong[WARMUP:] - y[WARMUP:]).max() > 1.0


def test_errors_are_over_all_steps_and_at_some():
    truth = [np.zeros((HORIZON, 3))]
    means = [np.zeros((HORIZON, 3))]
    means[0][24], means[0][:, 2] = (3.0, 4.0, 0.0), 9.0  # the third output is no position
    found = errors(means, truth)
    assert found["rmse_at"]["25"] == pytest.approx(np.sqrt(12.5))
    assert found["rmse_at"]["50"] == 0.0
    assert found["rmse"] == pytest.approx(np.sqrt(25.0 / 600.0))


def test_scores_leave_out_the_warmup(car):
    """A forecast that is wrong in the warm-up and right afterwards has no error."""
    stretches = cut_stretches(car, 2)
    paths = iter(stretches)

    def predict(u, seen):
        path = next(paths).y.copy()
        assert len(seen) == WARMUP
        path[:WARMUP] = 77.0
        return Forecast(path[None], np.array([0.1, 0.1]))

    found = Scored.of(predict, stretches).to_json()
    assert found["rmse"] == 0.0
    assert found["coverage"]["95%"] == 1.0
    oracle = -2 * np.log(0.1 * np.sqrt(2 * np.pi))
    assert found["log_likelihood"] == pytest.approx(oracle)
    assert found["gaussian_log_likelihood"] == pytest.approx(oracle)


def test_gaussian_log_likelihood_is_that_of_the_moments_of_the_cloud():
    """Where the mixture of two narrow particles has a hole, the Gaussian has none."""
    cloud = Forecast(np.array([[[-1.0]], [[1.0]]]), np.array([0.1]))
    found = gaussian_log_likelihood(cloud, np.array([[0.5]]))
    variance = 1.0 + 0.01
    assert found == pytest.approx(-0.5 * np.log(2 * np.pi * variance) - 0.125 / variance)
    assert cloud.score(np.array([[0.5]])).pooled["log_likelihood"] < found - 5.0
