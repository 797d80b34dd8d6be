"""The pages of the studies of the linear model, from records whose scores are known."""

import numpy as np
import pytest
from experiments.horizon import beyond, linear, oracles
from experiments.horizon.plants import PLANTS


def records(**errors):
    def folds(error):
        one = {"mean_square": error**2, "coverage": 0.9, "seconds": 2.0}
        return {str(fold): one for fold in range(linear.FOLDS)}

    return {model: folds(error) for model, error in errors.items()}


def test_a_row_has_the_ratio_to_the_better_baseline_and_unfinished_sets_have_none():
    there = records(arx=0.5, n4sid=0.4, forecasting=0.3)
    text = linear.page({"tank": there, "drive": {"arx": there["arx"]}})
    assert "| tank | 0.500 | 0.400 | 0.300 | 0.75 | 0.90 |" in text
    assert "drive" not in text


def test_test_parts_stay_closed():
    part = linear.training_part("kink")
    assert part.parts == ("train",)
    assert part.num_rows == 500


def test_the_bias_of_simulations_is_counted_in_standard_errors():
    true = oracles.truth(PLANTS["dead time"])
    spread = np.array([-1.0, 1.0, -1.0, 1.0])
    found = {
        str(i): {name: (value + 0.1 * s + 0.2).tolist() for name, value in true.items()}
        for i, s in enumerate(spread)
    }
    errors = [float(row[-1]) for row in oracles.rows("dead time", found)]
    assert errors == [pytest.approx(0.2 / (0.1 * np.sqrt(4 / 3) / 2), abs=0.06)] * 3


def test_the_step_response_of_a_plant_is_that_of_its_run():
    """A run whose input is a step, without noise."""
    plant = PLANTS["dead time"]
    gain = plant.C @ np.linalg.solve(np.eye(1) - plant.A, plant.B)
    response = plant.step_response()
    assert np.all(response[: plant.dead_time + 1] == 0.0)
    assert response[-1] == pytest.approx(gain, rel=1e-4)


def test_the_page_of_intervals_has_means_over_the_seeds():
    def one(rmse, coverage, width):
        return {"rmse": rmse, "coverage": coverage, "width": width}

    records = {
        "0": {"inside": one(0.1, 0.9, 1.0), "beyond": one(0.4, 0.5, 2.0)},
        "1": {"inside": one(0.3, 1.0, 3.0), "beyond": one(0.8, 0.7, 6.0)},
    }
    assert "| inside | 0.200 | 0.600 | 0.95 | 0.60 | 2.00 |" in beyond.page({"inside": records})


def test_the_spring_hardens_and_twice_the_force_leaves_its_range():
    (_, inside), (_, outside) = (beyond.simulate(0, 2000, size) for size in (1.0, 2.0))
    assert 1.3 * np.ptp(inside) < np.ptp(outside) < 2.0 * np.ptp(inside)
