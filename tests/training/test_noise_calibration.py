"""Calibration on linear systems, whose forecasts and best noise are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from gpssm import Dataset, Training
from gpssm.data import Normalisation
from gpssm.training.calibration import FACTORS, LEVELS, calibrate, long_stretches, with_noise
from support import linear_system

DECAY, WALK, SENSOR = 0.9, 0.1, 0.01  # x[t+1] = 0.9 x + 0.3 u + noise of these variances
UNIT = Normalisation(np.zeros(1), np.ones(1), np.zeros(1), np.ones(1))
TRAINING = Training(precision="float64", validation_warmup=2)


def record(rows=700, process=WALK, output=SENSOR, seed=1) -> Dataset:
    """A run of the linear system."""
    rng = np.random.default_rng(seed)
    u, x = rng.standard_normal(rows), np.zeros(rows)
    for t in range(rows - 1):
        x[t + 1] = DECAY * x[t] + 0.3 * u[t] + np.sqrt(process) * rng.standard_normal()
    return Dataset.from_arrays(x + np.sqrt(output) * rng.standard_normal(rows), u)


def system(process: float, output: float):
    """A model of the same dynamics that believes in these variances."""
    config = gpssm.vcdt(dim_x=1, recognition="output", warmup=1, particles=60, k=1)
    A, B = np.array([[DECAY]]), np.array([[0.3]])
    return linear_system(config, A, B, np.array([process]), np.array([output]), np.ones(1))


def stretches(data: Dataset):
    found = long_stretches(data, UNIT, TRAINING)
    assert found is not None
    return found


def noise(system) -> tuple[float, float]:
    return float(system.model.transition.noise[0]), float(system.model.emission.noise[0])


def test_a_process_noise_that_is_too_small_is_found_again():
    """Within two steps of the grid, a factor of ten, of the truth."""
    found, told = calibrate(system(1e-6, SENSOR), stretches(record()))
    assert WALK / 10.0 <= noise(found)[0] <= WALK * 3.2
    assert told.after > told.before + 1.0
    assert told.level in LEVELS
    assert told.factor in FACTORS


def test_what_is_told_is_the_likelihood_of_the_forecasts():
    """Against a dense formula of the linear system, within the error of 60 particles."""
    judge = stretches(record())
    _, told = calibrate(system(1e-3, 0.02), judge)
    u, y = np.asarray(judge.u[:, 0]), np.asarray(judge.y[:, 0])
    # a Kalman filter over the warm-up of two steps, then open loop
    mean, variance = y[0], 0.0
    total, count = 0.0, 0
    for t in range(1, len(y)):
        mean, variance = DECAY * mean + 0.3 * u[t - 1], DECAY**2 * variance + 1e-3
        if t == 1:
            gain = variance / (variance + 0.02)
            mean, variance = mean + gain * (y[1] - mean), (1.0 - gain) * variance
            continue
        spread = variance + 0.02
        total += np.sum(-0.5 * (np.log(2 * np.pi * spread) + (y[t] - mean) ** 2 / spread))
        count += y.shape[1]
    assert told.before == pytest.approx(total / count, rel=0.05)


def test_an_honest_model_keeps_its_noise():
    found, told = calibrate(system(WALK, SENSOR), stretches(record()))
    assert told.after - told.before < 0.1
    assert noise(found)[0] < 4.0 * WALK


def test_noise_is_never_taken_away():
    """A model that believes in far too much of it keeps all of it."""
    found, told = calibrate(system(10.0 * WALK, 100.0 * SENSOR), stretches(record()))
    assert (told.level, told.factor) == (0.0, 1.0)
    np.testing.assert_allclose(noise(found), (10.0 * WALK, 100.0 * SENSOR), rtol=1e-9)


def test_only_the_noise_changes():
    model = system(1e-6, SENSOR)
    found = with_noise(model, jnp.asarray(0.25), jnp.asarray(4.0))
    np.testing.assert_allclose(noise(found), (0.250001, 4.0 * SENSOR), rtol=1e-10)
    changed = [
        not np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(model), jax.tree.leaves(found), strict=True)
    ]
    assert sum(changed) == 2


def test_stretches_are_long_and_reach_from_the_first_row_to_the_last():
    data = record(rows=200)
    found = stretches(data)
    assert found.u.shape == (140, 1, 8)
    np.testing.assert_allclose(found.y[0, 0, 0], data[0].y[0, 0])
    np.testing.assert_allclose(found.y[-1, 0, -1], data[0].y[-1, 0])
    assert not found.scored[:2].any()
    assert found.scored[2:].all()


@pytest.mark.parametrize("rows", [3, 5])
def test_data_too_short_for_a_forecast_have_none(rows):
    assert long_stretches(record(rows=rows), UNIT, TRAINING) is None


def test_a_model_that_diverges_everywhere_stays_as_it_is():
    data = record()
    judge = stretches(data)
    broken = judge._replace(y=judge.y * jnp.inf)
    model = system(1e-3, 0.02)
    found, told = calibrate(model, broken)
    assert noise(found) == noise(model)
    assert (told.level, told.factor) == (0.0, 1.0)


def test_fit_calibrates_unless_told_not_to():
    """On a random walk with a forward pass that hardly conditions, it finds more noise."""
    data = record(rows=120)
    small = {"inducing_points": 5, "particles": 6, "lag": 4, "output_variance": 1e-4}
    model = gpssm.cbf_ssm(dim_x=2, **small)
    settings = {"steps": 3, "sequence_length": 20, "batch_size": 4, "quiet": True}
    plain, honest = (gpssm.fit(model, data, calibrate=on, **settings) for on in (False, True))
    levels = [np.asarray(run.system.model.transition.noise) for run in (plain, honest)]
    added = levels[1] - levels[0]
    assert added.min() > 1e-4
    np.testing.assert_allclose(added, added[0], rtol=1e-6)
    np.testing.assert_array_equal(
        plain.system.model.transition.gp.inducing_inputs,
        honest.system.model.transition.gp.inducing_inputs,
    )
