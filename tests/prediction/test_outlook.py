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
from gpssm.inference.sequences import Sequences
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


@pytest.fixture(scope="module")
def small():
    return make_system(cbf_ssm(dim_x=3, **SMALL), make_sequences())


def test_a_piece_says_what_its_particles_say(small, key):
    """The forecast's own mean, spread and quantiles are the oracle."""
    path = jax.random.normal(key, (7, 3, 2 * 40)) * 3.0 + 1.0
    piece = outlook.summarise(small, path, 2, LEVELS)
    noise = np.sqrt(np.asarray(small.model.emission.noise))
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


@pytest.mark.parametrize("levels", [(0.5, 0.0), (1.0,), (-0.1,), (float("nan"),)])
def test_a_level_lies_strictly_between_zero_and_one(levels):
    outlook.check_levels((1e-9, 1.0 - 1e-9))
    with pytest.raises(DataError, match=rf"levels: got {levels[-1]}, expected numbers between 0"):
        outlook.check_levels(levels)


def test_a_band_lies_between_its_two_quantiles():
    bounds = {level: np.full((2, 1), level) for level in (0.1, 0.35, 0.5, 0.65, 0.9)}
    found = outlook.Outlook(np.zeros((2, 1)), np.ones((2, 1)), bounds)
    for level, low, high in ((0.8, 0.1, 0.9), (0.3, 0.35, 0.65)):
        for bound, value in zip(found.interval(level), (low, high), strict=True):
            np.testing.assert_array_equal(bound, np.full((2, 1), value))


def test_a_piece_without_levels_has_moments_only(small, key):
    path = jax.random.normal(key, (7, 3, 2 * 40))
    assert outlook.summarise(small, path, 2, ()).quantiles.shape == (0, 7, 1, 2)


@pytest.fixture
def sums(monkeypatch):
    """In the place of a model: a state that adds up its input, from 5 on. Shapes of its parts."""
    calls = []

    def add_up(x, u):
        return np.cumsum(np.concatenate([x[None], u[:-1]]), axis=0)

    def begin(key, system, u, warmup, conditioned):
        assert conditioned == warmup.length
        return add_up(np.full((1, u.shape[-1]), 5.0), u)

    def follow(key, system, x, u, part):
        calls.append((len(u), int(part)))
        return add_up(x, u)

    def keep(system, path, scenarios, levels):
        assert (scenarios, levels) == (path.shape[-1], (0.2, 0.7))
        return outlook.Piece(*map(jnp.asarray, (path, 2.0 * path, path[None])))

    for name, fake in (("predict", begin), ("go_on", follow), ("summarise", keep)):
        monkeypatch.setattr(outlook, name, fake)
    return calls


@pytest.mark.parametrize(
    ("particles", "steps", "lengths"),
    [
        (1, 2505, [5, 1000, 1000, 500]),  # the longest
        (133_333, 14, [5, 5, 4]),  # of three states: five steps have no 2 million numbers
        (333_333, 9, [5, 2, 2]),
        (400_000, 7, [5, 1, 1]),
        (900_000, 6, [5, 1]),
        (900_000, 5, [5]),
    ],
)
def test_every_piece_begins_where_the_last_one_ended(small, sums, particles, steps, lengths, key):
    u = np.random.default_rng(0).standard_normal((steps, 1, 1))
    warmup = Sequences(*map(jnp.asarray, (u[:5], u[:5], np.ones((5, 1, 1), bool))))
    system = small.with_particles(particles)
    found = list(outlook.pieces(key, system, jnp.asarray(u), warmup, [0.2, 0.7]))
    assert [len(each.mean) for each in found] == lengths
    wanted = 5.0 + np.r_[0.0, np.cumsum(u[:-1])]
    for factor, name, axis in ((1.0, "mean", 0), (2.0, "variance", 0), (1.0, "quantiles", 1)):
        values = np.concatenate([getattr(each, name) for each in found], axis=axis)
        np.testing.assert_allclose(values.ravel(), factor * wanted, atol=1e-9)
    longest = lengths[1] if len(lengths) > 1 else 0
    assert sums == [(longest + 1, part) for part in range(len(lengths) - 1)]


def test_two_scenarios_take_twice_the_memory(small, sums, key):
    u = jnp.ones((9, 1, 2))
    warmup = Sequences(u[:5], u[:5], jnp.ones((5, 1, 2), bool))
    found = list(outlook.pieces(key, small.with_particles(166_666), u, warmup, (0.2, 0.7)))
    assert [len(each.mean) for each in found] == [5, 2, 2]
