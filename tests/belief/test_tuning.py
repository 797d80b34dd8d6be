"""The noise of filters, on plants whose noise is known."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from gpssm import DataError, Dataset, ModelFileError
from gpssm.belief import FilterNoise, gaussian_log_likelihood
from gpssm.belief.gaussian import observable_disturbances
from gpssm.belief.tuning import tuned_noise
from gpssm.fitted import fitting
from gpssm.fitted.filter_noise import tune_filters
from support import linear_system
from support_belief import (
    LINEAR,
    PROCESS,
    SENSOR,
    UNITS,
    A,
    B,
    black_box,
    linear_run,
    run_of,
    simulate,
)

ROWS = 1500


def wrong_run():
    """The linear plant with noises as of long forecasts: a sensor that is far too poor."""
    variances = 0.01 * PROCESS, 40.0 * SENSOR, np.ones(2)
    return run_of(linear_system(LINEAR, A, B, *variances))


def log_of_the_plant(seed: int, rows: int = ROWS) -> Dataset:
    run, rng = linear_run(), np.random.default_rng(seed)
    u = UNITS.u_mean + UNITS.u_std * rng.standard_normal((rows, 1))
    _, y = simulate(run, rows, seed, rng.standard_normal(2), u)
    return Dataset.from_arrays(y, u)


def likelihood(run, noise: FilterNoise, data: Dataset) -> float:
    u, y = (np.asarray(each) for each in (data[0].u, data[0].y))
    normal = run.normalisation.u(u), run.normalisation.y(y)
    factored = run._fitted.factored("float64")
    found = jax.jit(gaussian_log_likelihood)(factored, noise, *normal, np.ones_like(y, bool))
    return float(found)


@pytest.fixture(scope="module")
def tuned():
    return wrong_run().tune_filter(log_of_the_plant(0))


def test_new_data_are_as_likely_as_under_the_noise_of_the_plant(tuned):
    """Up to what four parameters may cost that were fitted to other data, a few nats."""
    fresh = log_of_the_plant(1)
    true = FilterNoise(*map(jnp.asarray, (PROCESS, SENSOR, np.zeros(1), np.ones(()))))
    before, best = (likelihood(tuned, n, fresh) for n in (FilterNoise.of(tuned.system), true))
    assert before < best - 300.0
    assert likelihood(tuned, tuned.filter_noise, fresh) > best - 10.0


def test_a_belief_has_the_tuned_noise_unless_another_is_given(tuned):
    belief, own = tuned.belief(), FilterNoise.of(tuned.system)
    np.testing.assert_allclose(belief.noise.sensor, tuned.filter_noise.sensor, rtol=1e-6)
    np.testing.assert_allclose(tuned.belief(noise=own).noise.sensor, own.sensor, rtol=1e-6)


def with_noise(sensor: float):
    noise = np.full(3, 0.1), np.full(1, sensor), np.full(1, 0.01), np.asarray(0.3)
    return replace(black_box(), filter_noise=FilterNoise(*noise))


def test_it_is_kept_in_the_model_file(tmp_path):
    run = with_noise(0.2)
    again = gpssm.load(run.save(tmp_path / "a.gpssm"))
    for ours, theirs in zip(again.filter_noise, run.filter_noise, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert gpssm.load(black_box().save(tmp_path / "b.gpssm")).filter_noise is None


def test_negative_variances_in_a_file_are_refused(tmp_path):
    path = with_noise(-0.2).save(tmp_path / "a.gpssm")
    with pytest.raises(ModelFileError, match="negative numbers"):
        gpssm.load(path)


def test_an_offset_that_appears_is_followed_by_the_disturbance():
    """Outputs with a level that walks: d is found, and forecasts have no offset."""
    data, rng = log_of_the_plant(2), np.random.default_rng(5)
    drift = 0.05 * UNITS.y_std * np.cumsum(rng.standard_normal((ROWS, 1)), axis=0)
    run = wrong_run().tune_filter(Dataset.from_arrays(data[0].y + drift, data[0].u))
    assert 0.2 < float(run.filter_noise.disturbance[0]) / 0.05**2 < 5.0


def test_no_disturbance_where_the_plant_integrates_into_the_output():
    integrator = np.array([[1.0, 0.3], [0.0, 0.8]])
    leaky = integrator * np.array([[0.9, 1.0], [1.0, 1.0]])
    for matrix, seen in ((integrator, False), (leaky, True)):
        run = run_of(linear_system(LINEAR, matrix, B, PROCESS, SENSOR, np.ones(2)))
        with jax.enable_x64(True):
            found = observable_disturbances(run._fitted.factored("float64"), 1, 1)
        assert found.tolist() == [seen]


@pytest.mark.parametrize("dim_y", [1, 2])
def test_gaps_short_experiments_and_several_outputs_are_no_obstacle(dim_y):
    run, rng = black_box(dim_u=2, dim_y=dim_y), np.random.default_rng(0)
    y = [rng.standard_normal((rows, dim_y)) for rows in (9, 30, 17)]
    y[1][rng.random(y[1].shape) < 0.3] = np.nan
    noise = tuned_noise(run._fitted, Dataset.from_arrays(y, [np.ones((len(e), 2)) for e in y]))
    assert all(np.isfinite(each).all() for each in noise)
    assert noise.sensor.shape == (dim_y,)


def test_too_few_measurements_leave_the_noise_as_it_is(tuned):
    few = log_of_the_plant(3, rows=15)
    assert tuned_noise(tuned._fitted, few) is None
    assert tuned.tune_filter(few).filter_noise is tuned.filter_noise


def test_data_of_another_plant_are_refused(tuned):
    with pytest.raises(DataError, match="1 inputs and 1 outputs"):
        tuned.tune_filter(Dataset.from_arrays(np.zeros((50, 2)), np.zeros((50, 1))))


def test_fit_tunes_unless_told_not_to(monkeypatch):
    monkeypatch.setattr(fitting, "tune_filters", tune_filters)
    model = gpssm.pr_ssm(dim_x=2, particles=2, inducing_points=3, warmup=2)
    for asked in (True, False):
        run = gpssm.fit(
            model, log_of_the_plant(4, rows=60), steps=1, tune_filter=asked, calibrate=False,
            quiet=True,
        )  # fmt: skip
        assert (run.filter_noise is not None) == asked
