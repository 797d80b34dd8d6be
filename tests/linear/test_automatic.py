"""The linear model that forecasts, on plants whose poles and step responses are known."""

import numpy as np
import pytest
from experiments.horizon.plants import PLANTS, pole_error, step_response

from gpssm.base.errors import DataError
from gpssm.data import Dataset
from gpssm.linear import forecasting_linear

POLE = {
    "second order": 0.01, "integrator": 0.003, "lightly damped": 0.001,
    "feedthrough": 0.03, "dead time": 0.02, "unstable": 0.005,
}  # fmt: skip
SHARE = 0.06  # of the largest value of a step response


@pytest.fixture(scope="module")
def fitted():
    """Each plant and the model of it; one run of 400 rows but for the first plant."""
    found = {}
    for name, plant in PLANTS.items():
        several = {"experiments": 2, "gaps": 0.1} if name == "second order" else {}
        data = plant.data(0, rows=400, **several)
        found[name] = plant, forecasting_linear(data, orders=(len(plant.A) + (plant.D != 0),))
    return found


@pytest.mark.parametrize("name", PLANTS)
def test_the_poles_of_a_known_plant_are_found(name, fitted):
    plant, model = fitted[name]
    assert pole_error(model, plant) < POLE[name]


@pytest.mark.parametrize("name", [name for name in PLANTS if name != "unstable"])
def test_the_step_response_of_a_known_plant_is_found(name, fitted):
    plant, model = fitted[name]
    error = np.abs(step_response(model) - plant.step_response()).max()
    assert error < SHARE * np.abs(plant.step_response()).max()


def test_feedthrough_and_dead_time_are_alignments(fitted):
    assert fitted["feedthrough"][1].alignment == (0,)
    assert fitted["dead time"][1].alignment == (6,)
    assert fitted["second order"][1].alignment == (1,)


def test_the_first_states_are_the_outputs(fitted):
    for _, model in fitted.values():
        np.testing.assert_array_equal(model.C, np.eye(1, len(model.A)))
        assert not np.any(model.D)


@pytest.mark.parametrize("name", ["second order", "lightly damped", "dead time"])
def test_intervals_are_right_at_all_horizons(name, fitted):
    """Near the warm-up and far from it, on new data."""
    plant, model = fitted[name]
    inside = []
    for run in plant.data(9, rows=145, experiments=30):
        forecast = model.predict(run.u, run.y[:25], particles=200)
        inside.append(np.abs(forecast.probability_below(run.y)[25:] - 0.5) < 0.45)
    near, far = np.mean(inside, axis=0)[:20].mean(), np.mean(inside, axis=0)[60:].mean()
    assert near == pytest.approx(0.9, abs=0.08)
    assert far == pytest.approx(0.9, abs=0.08)


def test_the_sensor_noise_is_told_from_that_of_the_process(fitted):
    plant, model = fitted["lightly damped"]
    assert np.sqrt(model.noise.R) * model.normalisation.y_std == pytest.approx(
        plant.sensor, rel=0.2
    )


def test_too_little_data_and_too_few_states_are_refused():
    plant = PLANTS["second order"]
    with pytest.raises(DataError, match=r"40 rows, expected at least 50.*arx"):
        forecasting_linear(plant.data(0, rows=40))
    y = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.raises(DataError, match=r"orders: got \[1\], expected numbers of states from 2"):
        forecasting_linear(Dataset.from_arrays(y), orders=(1,))
