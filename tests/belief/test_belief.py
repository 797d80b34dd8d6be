"""The facade: rows one by one or at once, one plant or many, its units, and what it refuses."""

import logging
import warnings

import jax
import numpy as np
import pytest

from gpssm import Belief, ConfigError, DataError, Normalisation
from gpssm.base.errors import DataWarning
from gpssm.belief import FILTERS, FilterNoise
from gpssm.data.alignment import aligned
from support import SMALL
from support_belief import UNITS, A, B, black_box, linear_run, make_rows, simulate

FEW = {"particles": 16}


@pytest.fixture(scope="module")
def run():
    return black_box(dim_y=2)


def assert_same(ours: Belief, other: Belief) -> None:
    """Bit for bit."""
    for a, b in zip(jax.tree.leaves(ours._carry), jax.tree.leaves(other._carry), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (ours.time, ours.log_likelihood) == (other.time, other.log_likelihood)
    np.testing.assert_array_equal(ours.mean, other.mean)
    np.testing.assert_array_equal(ours.cov, other.cov)
    np.testing.assert_array_equal(ours.last.innovation, other.last.innovation)


# ---------------------------------------------------------------------- rows


@pytest.mark.parametrize("kind", FILTERS)
def test_many_rows_at_once_are_the_rows_one_by_one(run, kind):
    """More rows than a block of the compiled program has, some outputs missing."""
    u, y = make_rows(run, 70, missing=0.3)
    at_once, singly = (run.belief(kind, **FEW) for _ in range(2))
    at_once.update(u, y)
    for row in range(len(y)):
        assert singly.update(u[row], y[row]) is singly
    assert_same(at_once, singly)
    in_parts = run.belief(kind, **FEW).update(u[:3], y[:3]).update(u[3:69], y[3:69])
    assert_same(in_parts.update(u[69], y[69]), singly)


def test_a_log_is_filtered_as_a_belief_takes_it_in(run):
    u, y = make_rows(run, 66, missing=0.2)
    log, belief = run.filter(u, y, **FEW), run.belief(**FEW)
    for row in range(len(y)):
        belief.update(u[row], y[row])
        for name in ("mean", "std", "innovation", "nis", "log_likelihood", "used"):
            np.testing.assert_array_equal(getattr(log.rows, name)[row], getattr(belief.last, name))
        np.testing.assert_array_equal(log.states[row], belief.mean)
        np.testing.assert_array_equal(log.covariances[row], belief.cov)
    assert log.log_likelihood == belief.log_likelihood
    np.testing.assert_allclose(np.sum(log.rows.log_likelihood), log.log_likelihood, rtol=1e-12)


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("rows", [1, 4])
def test_many_plants_are_the_plants_one_by_one(run, kind, rows):
    u, y = make_rows(run, rows, missing=0.2, plants=5)
    many = run.belief(kind, plants=5, **FEW)
    many.update(u, y) if rows > 1 else many.update(u[:, 0], y[:, 0])
    for i in range(5):
        alone = run.belief(kind, **FEW).update(u[i], y[i])
        # Products of several matrices at once round differently from those of one.
        for name in ("mean", "cov", "output_mean", "output_std", "disturbance", "log_likelihood"):
            theirs = getattr(alone, name)
            np.testing.assert_allclose(getattr(many, name)[i], theirs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(many.last.mean[i], alone.last.mean, rtol=1e-10)
        if kind != "gaussian":
            np.testing.assert_allclose(many.particles[i], alone.particles, rtol=1e-9, atol=1e-12)
    forecasts = many.predict(u[:, :2] if rows > 1 else np.repeat(u, 2, axis=1))
    ahead = u[1, :2] if rows > 1 else np.repeat(u[1], 2, axis=0)
    alone = run.belief(kind, **FEW).update(u[1], y[1]).predict(ahead)
    assert len(forecasts) == 5
    if kind != "gaussian":
        np.testing.assert_allclose(forecasts[1].particles, alone.particles, rtol=1e-8)


class CompileLog(logging.Handler):
    """Names of what jax says that it compiles."""

    def __init__(self):
        super().__init__()
        self.compiled = []

    def emit(self, record):
        if record.getMessage().startswith("Compiling"):
            self.compiled.append(record.getMessage().split()[1])


def test_ten_thousand_rows_compile_once(run):
    """A thousand of them one by one; missing outputs and late inputs included."""
    log, logger = CompileLog(), logging.getLogger("jax")
    u, y = make_rows(run, 10_000, missing=0.1)
    belief = run.belief("gaussian")
    logger.addHandler(log)
    try:
        with jax.log_compiles():
            belief.update(u[0], y[0])
            first = list(log.compiled)
            for row in range(1, 1_000):
                belief.update(u[row], y[row])
            for row in range(1_000, 9_900, 100):
                belief.update(u[row : row + 100], y[row : row + 100])
            belief.update(u[9_900:9_990], y[9_900:9_990])
            for row in range(9_990, 10_000):
                belief.update(None, y[row]).apply(u[row])
    finally:
        logger.removeHandler(log)
    assert belief.time == 10_000
    assert log.compiled == first


# ---------------------------------------------------------------------- inputs


def test_an_input_that_follows_its_output_is_the_same(run):
    u, y = make_rows(run, 6)
    together, apart = run.belief(**FEW).update(u, y), run.belief(**FEW)
    for row in range(6):
        apart.update(None, y[row]).apply(u[row])
    assert_same(together, apart)
    ahead = make_rows(run, 4, seed=1)[0]
    np.testing.assert_array_equal(together.predict(ahead).particles, apart.predict(ahead).particles)


def test_a_forecast_begins_with_the_input_that_is_open(run):
    u, y = make_rows(run, 9)
    known = run.belief(**FEW).update(u[:6], y[:6])
    waiting = run.belief(**FEW).update(u[:5], y[:5]).update(None, y[5])
    ahead = waiting.predict(u[5:8]).particles
    np.testing.assert_array_equal(ahead, known.predict(u[6:9]).particles)
    moved = u[5:8].copy()
    moved[0] += 1.0
    assert np.all(waiting.predict(moved).particles[:, 0] != ahead[:, 0])


@pytest.mark.parametrize("delays", [(0,), (1,), (3,)])
def test_delayed_inputs_act_where_the_model_saw_them_in_training(delays):
    """A model with `input_delays` on raw inputs is the plain one on inputs aligned by hand."""
    settings = {**SMALL, "dim_x": 2, "target": "none", "recognition": "output"}
    delayed, plain = black_box(input_delays=delays, **settings), black_box(**settings)
    u, y = make_rows(plain, 30)
    by_hand = aligned(u, delays)
    ours = delayed.belief(**FEW).update(u[:7], y[:7]).update(u[7], y[7])
    other = plain.belief(**FEW).update(by_hand[:8], y[:8])
    assert_same(ours, other)
    # What acts between the last row and the first one to come is known only from then on.
    other._past = other._past._replace(rows=np.asarray(plain.normalisation.u(by_hand[7:8])))
    hand = aligned(u[:20], delays)
    particles = other.predict(hand[8:19]).particles
    np.testing.assert_array_equal(ours.predict(u[8:19]).particles, particles)
    smoothed = delayed.smooth(u, y), plain.smooth(by_hand, y)
    np.testing.assert_array_equal(smoothed[0].states, smoothed[1].states)


def test_with_feedthrough_an_output_needs_its_input():
    run = black_box(input_delays=(0,), dim_x=2)
    u, y = make_rows(run, 1)
    with pytest.raises(DataError, match="acts on its output at once"):
        run.belief(**FEW).update(None, y[0])
    run.belief(**FEW).update(u[0], y[0])


def test_a_plant_without_inputs():
    run = black_box(dim_u=0)
    _, y = make_rows(run, 5)
    belief = run.belief(**FEW).update(None, y).update(np.zeros((1, 0)), y[:1])
    assert belief.time == 6
    forecast = belief.predict(None, steps=7)
    np.testing.assert_array_equal(forecast.particles, belief.predict(np.zeros((7, 0))).particles)
    assert forecast.mean.shape == (7, 1)


# ---------------------------------------------------------------------- units


@pytest.mark.parametrize("kind", FILTERS)
def test_other_units_are_the_same_belief_in_those_units(kind):
    plain = linear_run(Normalisation.identity(1, 1))
    scaled = linear_run()
    u, y = make_rows(plain, 12, missing=0.2)
    ours = scaled.belief(kind, **FEW).update(UNITS.u_mean + 0.5 * u, 10.0 + 4.0 * y)
    other = plain.belief(kind, **FEW).update(u, y)
    np.testing.assert_allclose(ours.mean, other.mean, rtol=1e-9)
    np.testing.assert_allclose(ours.output_mean, 10.0 + 4.0 * other.output_mean, rtol=1e-9)
    np.testing.assert_allclose(ours.output_std, 4.0 * other.output_std, rtol=1e-9)
    np.testing.assert_allclose(ours.last.std, 4.0 * other.last.std, rtol=1e-9)
    np.testing.assert_allclose(ours.last.nis, other.last.nis, rtol=1e-9)
    seen = np.sum(~np.isnan(y))
    expected = other.log_likelihood - seen * np.log(4.0)
    np.testing.assert_allclose(ours.log_likelihood, expected, rtol=1e-9)


def test_the_disturbance_is_part_of_the_outputs(run):
    """In the units of the data; a forecast holds it."""
    noise = FilterNoise.of(run.system)._replace(disturbance=np.array([0.05, 0.0]))
    u, y = make_rows(run, 20)
    belief = run.belief(noise=noise, **FEW).update(u, y)
    scales = run.normalisation
    x_only = np.asarray(scales.y_mean_back(belief.mean[:2]))
    np.testing.assert_allclose(belief.output_mean, x_only + belief.disturbance, rtol=1e-12)
    assert abs(belief.disturbance[0]) > 0.1
    assert belief.disturbance[1] == 0.0
    before = belief.predict(u[:5])
    without = run.belief(noise=noise, **FEW).update(u, y)
    d = np.asarray(without._carry.state.members[3:])
    still = without._carry.state._replace(members=without._carry.state.members.at[3:].set(0.0))
    without._carry = without._carry._replace(state=still)
    held = before.particles - without.predict(u[:5]).particles
    np.testing.assert_allclose(held, np.broadcast_to((d.T * scales.y_std)[:, None], held.shape))


def test_a_gaussian_belief_has_no_particles(run):
    with pytest.raises(ConfigError, match="a gaussian belief"):
        _ = run.belief("gaussian").particles
    assert run.belief(**FEW).particles.shape == (16, 3)


@pytest.mark.parametrize("kind", ["ensemble", "particle"])
def test_single_precision_is_that_of_the_members(kind):
    """The likelihood of many rows is summed in double, and so is all of the Gaussian filter."""
    single, double = linear_run(precision="mixed"), linear_run()
    u = make_rows(double, 40)[0]
    y = simulate(double, 40, 1, np.array([0.5, -0.5]), u)[1]
    ours = single.belief(kind, particles=4000).update(u, y)
    exact = single.belief("gaussian").update(u, y)
    assert ours._carry.state.members.dtype == np.float32
    assert ours._carry.log_likelihood.dtype == np.float64
    np.testing.assert_array_equal(exact.mean, double.belief("gaussian").update(u, y).mean)
    error = 6.0 * np.sqrt(np.diag(exact.cov) / 800)
    assert np.all(np.abs(ours.mean - exact.mean) < error)


# ---------------------------------------------------------------------- bad input


BAD = {
    "u of another width": (lambda u, y: (np.ones(3), y), DataError, "u: got shape"),
    "y of another width": (lambda u, y: (u, np.ones(3)), DataError, "y: got shape"),
    "other numbers of rows": (lambda u, y: (np.ones((2, 1)), y), DataError, "got 2 and 1 rows"),
    "missing input": (lambda u, y: (u * np.nan, y), DataError, "u: got .*nan.* finite values"),
    "infinite input": (lambda u, y: (u * np.inf, y), DataError, "u: got .*inf.* finite values"),
    "infinite output": (lambda u, y: (u, y * np.inf), DataError, "y: got .*inf.* or NaN"),
    "text": (lambda u, y: (u, "high"), DataError, "y: got no numbers"),
    "no rows": (lambda u, y: (np.ones((0, 1)), np.ones((0, 2))), DataError, "y: got shape"),
    "rows without inputs": (lambda u, y: (None, np.ones((2, 2))), DataError, "nothing for 2 rows"),
}


@pytest.mark.parametrize(("change", "error", "match"), BAD.values(), ids=BAD)
def test_bad_rows_are_refused_and_change_nothing(run, change, error, match):
    u, y = make_rows(run, 3)
    belief = run.belief(**FEW).update(u[:2], y[:2])
    before = belief.copy()
    with pytest.raises(error, match=match):
        belief.record(*change(u[2], y[2]))
    assert_same(belief, before)
    assert_same(belief.update(u[2], y[2]), run.belief(**FEW).update(u, y))


def test_an_open_input_must_be_applied_first(run):
    u, y = make_rows(run, 2)
    belief = run.belief(**FEW).update(None, y[0])
    with pytest.raises(DataError, match=r"Call apply\(u\)"):
        belief.update(u[1], y[1])
    belief.apply(u[0]).update(u[1], y[1])
    with pytest.raises(DataError, match="a row whose input is known"):
        belief.apply(u[1])


def test_settings_that_make_no_belief(run):
    for settings, match in (
        ({"kind": "unscented"}, "kind: got 'unscented', expected one of"),
        ({"particles": 1}, "particles: got 1, expected a whole number of at least 2"),
        ({"plants": 0}, "plants: got 0"),
        ({"plants": 10**12}, "memory: got"),
    ):
        with pytest.raises(ConfigError, match=match):
            run.belief(**settings)
    noise = FilterNoise.of(run.system)
    for field, value in (("sensor", [0.0, 1.0]), ("process", [1.0]), ("disturbance", [-1.0, 0.0])):
        with pytest.raises(DataError, match=f"{field} of the noise"):
            run.belief(noise=noise._replace(**{field: np.array(value)}))


def test_before_the_first_row(run):
    belief = run.belief(**FEW)
    with pytest.raises(DataError, match="expected a belief after at least one update"):
        _ = belief.last
    with pytest.raises(DataError, match="expected at least one update"):
        belief.predict(np.ones((3, 1)))
    np.testing.assert_allclose(belief.mean[:2], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diag(belief.cov)[:2], 1.0)
    assert belief.log_likelihood == 0.0
    assert repr(belief) == "Belief('ensemble' after 0 rows)"


# ---------------------------------------------------------------------- outliers


@pytest.mark.parametrize("kind", FILTERS)
def test_an_outlier_is_told_and_the_belief_survives_it(run, kind):
    """A hundred spreads away: as if it had been missing."""
    u, y = make_rows(run, 8)
    odd, gap = y.copy(), y.copy()
    odd[5, 1], gap[5, 1] = y[5, 1] + 100.0 * run.normalisation.y_std[1], np.nan
    with pytest.warns(DataWarning, match=r"output 1: got .* at row 5, .* left out"):
        ours = run.belief(kind, **FEW).update(u, odd)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = run.belief(kind, **FEW).update(u, gap)
    np.testing.assert_array_equal(ours.mean, other.mean)
    assert ours.log_likelihood == other.log_likelihood


@pytest.mark.parametrize("kind", ["ensemble", "gaussian"])
def test_a_plant_that_has_really_moved_is_followed(kind):
    """After five rows in a row they are believed, and no further row is left out."""
    run = linear_run()
    u, y = make_rows(run, 60)
    y[20:] = run.normalisation.y_mean + 30.0 * run.normalisation.y_std
    with pytest.warns(DataWarning, match="5 such in this update"):
        log = run.filter(u, y, kind=kind)
    assert list(np.flatnonzero(~log.rows.used[:, 0])) == list(range(20, 25))
    assert np.isfinite(log.states).all()
    assert abs(log.states[24, 0]) < 3.0
    assert log.states[-1, 0] > 20.0  # of 30: the model pulls it back at every step


def test_an_output_that_is_far_but_foreseen_is_used():
    """A linear plant that is driven far away: nothing is left out."""
    run, x, y = linear_run(), np.zeros(2), []
    u = run.normalisation.u_mean + 30.0 * run.normalisation.u_std * np.ones((40, 1))
    for _ in range(40):
        y.append(10.0 + 4.0 * x[:1])
        x = A @ x + 30.0 * B[:, 0]
    assert np.max(np.abs(np.array(y) - 10.0)) > 4.0 * 20.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run.filter(u, np.array(y)).rows.used.all()
