"""Long forecasts in pieces: against the particles that they are made of, and against `predict`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_run import HORIZON, WARMUP, fit_tiny, make_record

from gpssm import DataError
from gpssm.gp.positive import raw_positive
from gpssm.inference import cbf_ssm
from gpssm.inference.rollout import go_on, predict
from gpssm.metrics import Forecast
from gpssm.prediction import outlook
from support import SMALL, make_sequences, make_system

LEVELS = (0.1, 0.5, 0.9)


@pytest.fixture(scope="module")
def run():
    return fit_tiny()


@pytest.fixture(scope="module")
def record():
    u, y = make_record()
    return u[:HORIZON], y[:WARMUP]


def test_a_piece_says_what_its_particles_say(key):
    """The forecast's own mean, spread and quantiles are the oracle."""
    system = make_system(cbf_ssm(dim_x=3, **SMALL), make_sequences())
    path = jax.random.normal(key, (7, 3, 2 * 40)) * 3.0 + 1.0
    piece = outlook.summarise(system, path, 2, LEVELS)
    noise = np.sqrt(np.asarray(system.model.emission.noise))
    for i in range(2):
        particles = np.moveaxis(np.asarray(path)[:, :1].reshape(7, 1, 2, 40)[:, :, i], -1, 0)
        oracle = Forecast(particles, noise)
        np.testing.assert_allclose(piece.mean[:, :, i], oracle.mean, rtol=1e-10)
        np.testing.assert_allclose(np.sqrt(piece.variance[:, :, i]), oracle.std, rtol=1e-10)
        for level, found in zip(LEVELS, piece.quantiles, strict=True):
            np.testing.assert_allclose(found[:, :, i], oracle.quantile(level), atol=1e-6)


@pytest.mark.parametrize("draw", ["pathwise", "mean"])
def test_what_goes_on_is_what_a_whole_forecast_would_have_done(draw, key):
    """Whole functions and no noise: a trajectory is then the same in one piece and in two."""
    sequences = make_sequences(batch=2, time=20)
    settings = {**SMALL, "inducing_points": 8, "function_draw": draw}
    system = make_system(cbf_ssm(dim_x=2, **settings), sequences, spread=0.1)
    system = eqx.tree_at(
        lambda s: s.model.transition.raw_noise, system, raw_positive(np.full(2, 1e-12))
    )
    if draw == "mean":  # what the inducing values leave open is noise, too
        system = eqx.tree_at(
            lambda s: s.model.transition.gp.kernel.raw_variance,
            system,
            jnp.full_like(system.model.transition.gp.kernel.raw_variance, -30.0),
        )
    whole = predict(key, system, sequences.u, sequences.first(8), 8)
    warm = predict(key, system, sequences.u[:8], sequences.first(8), 8)
    rest = go_on(key, system, warm[-1], sequences.u[7:], jnp.asarray(0))
    np.testing.assert_allclose(rest, whole[7:], rtol=1e-3, atol=1e-3)
    assert np.ptp(np.asarray(rest), axis=0).min() > 0.01


def test_pieces_are_distributed_like_a_forecast(run, record, monkeypatch):
    """In pieces of a few steps, the last one cut; within five standard errors."""
    monkeypatch.setattr(outlook, "_WORKING_SET", 4 * 2 * 1500)
    found = run.outlook(*record, levels=LEVELS, particles=1500)
    oracle = run.predict(*record, particles=1500, seed=9)
    error = 5.0 * oracle.std * np.sqrt(2.0 / 1500)
    assert found.mean.shape == oracle.mean.shape
    assert np.all(np.abs(found.mean - oracle.mean) < error)
    assert np.all(np.abs(found.std - oracle.std) < error)
    low, high = found.interval(0.8)
    assert np.all(np.abs(low - oracle.quantile(0.1)) < 3.0 * error)
    assert np.all(np.abs(high - oracle.quantile(0.9)) < 3.0 * error)


def test_the_first_scenario_is_the_forecast_of_its_inputs_alone(run, record):
    u, y = record
    many = run.outlook(np.stack([u, -u, 0.0 * u]), y, levels=LEVELS, particles=10)
    alone = run.outlook(u, y, levels=LEVELS, particles=10)
    np.testing.assert_allclose(many.mean[0], alone.mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(many.quantiles[0.9][0], alone.quantiles[0.9], rtol=1e-3, atol=1e-3)
    assert many.std.shape == (3, *alone.std.shape)
    assert np.max(np.abs(many.mean[1] - many.mean[0])) > 0.1


def test_a_band_that_was_not_asked_for_is_refused(run, record):
    found = run.outlook(*record, levels=LEVELS, particles=4)
    with pytest.raises(DataError, match=r"level: got 0.95.*expected one whose quantiles"):
        found.interval(0.95)
    with pytest.raises(DataError, match=r"levels: got 1\.0, expected numbers between 0 and 1"):
        run.outlook(*record, levels=(1.0,))


@pytest.mark.parametrize("levels", [0.5, ((0.1, 0.9),)])
def test_one_level_is_not_several(levels):
    with pytest.raises(DataError, match=r"levels: got .*, expected a sequence of numbers"):
        outlook.check_levels(levels)
