"""Responses of linear systems, whose step and frequency responses scipy knows."""

import sys
import warnings

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal, stats

import gpssm
from gpssm import Dataset
from gpssm.data import Normalisation
from gpssm.fitted.run import Run
from gpssm.gp.positive import raw_positive
from gpssm.gp.sparse import InducingPosterior
from gpssm.inference import System
from gpssm.prediction.response import StepResponse, _held, _warmup, step_response
from support import linear_system

HORIZON, DRAWS = 80, 400
A = np.array([[0.8, 0.1], [-0.1, 0.7]])
B = np.array([[0.3, -0.2], [0.5, 0.1]])
UNITS = Normalisation(np.array([1.0, 5.0]), np.array([2.0, 0.5]), np.array([7.0]), np.array([30.0]))


def make_run(A, inducing_std=None) -> Run:
    """x[t+1] = A x + B u + noise, whose entries are known, or normally distributed."""
    config = gpssm.pr_ssm(dim_x=2, warmup=3, particles=5)
    system = linear_system(config, A, B, np.full(2, 0.01), np.array([0.1]), np.ones(2))
    if inducing_std is not None:
        q = system.model.transition.gp.posterior
        q = InducingPosterior(q.mean, raw_positive(jnp.asarray(inducing_std)), False, "diagonal")
        system = eqx.tree_at(lambda s: s.model.transition.gp.posterior, system, q)
    history = gpssm.training.History(gpssm.training.history.pd.DataFrame())
    return Run(system, UNITS, gpssm.Training(), 0, history)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y, u = 7.0 + 30.0 * rng.standard_normal(20), 5.0 * rng.standard_normal((20, 2))
    y[2] = np.nan
    return Dataset.from_arrays(y, u)


def plant(A):
    """In the units of the data."""
    return signal.dlti(A, B / UNITS.u_std, 30.0 * np.eye(1, 2), np.zeros((1, 2)), dt=1.0)


def test_the_response_of_a_known_system_is_that_of_scipy(data):
    found = step_response(make_run(A), data, inputs=[1, 0], horizon=HORIZON, draws=3)
    _, wanted = signal.dstep(plant(A), n=HORIZON + 1)
    for place, j in enumerate([1, 0]):
        assert found.step[place] == UNITS.u_std[j]
        scaled = wanted[j] * UNITS.u_std[j]
        np.testing.assert_allclose(found.median[place], scaled, atol=1e-3 * np.abs(scaled).max())
    assert found.settles.all()
    assert not found.diverges.any()
    low, high = found.interval(0.95)
    np.testing.assert_allclose(low, high, atol=1e-9)


def test_the_frequency_response_of_a_known_system_is_that_of_scipy(data):
    found = step_response(make_run(A), data, inputs=[0, 1], horizon=HORIZON, draws=3)
    frequencies = np.array([0.002, 0.03, 0.12, 0.5])
    gain = found.frequency_response(frequencies)[0]
    system = plant(A)
    for j in range(2):
        matrices = system.A, system.B[:, [j]], system.C, system.D[:, [j]]
        _, wanted = signal.dlti(*matrices, dt=1.0).freqresp(2 * np.pi * frequencies)
        np.testing.assert_allclose(gain[j, :, 0], wanted, atol=2e-3 * np.abs(wanted).max())


def test_the_interval_is_what_is_not_known_of_f(data):
    """b ~ N(0.3, 0.05²) and nothing else is open: y answers u[0] by b g(t), with a known g."""
    std = np.full((2, 4), 1e-9)
    std[0, 2] = 2.0 * 0.05  # f at z = 2 times the unit vector of the first input
    found = step_response(make_run(A, std), data, inputs=[0], horizon=HORIZON, draws=DRAWS)
    g = signal.dstep(signal.dlti(A, [[1.0], [0.0]], np.eye(1, 2), [[0.0]], dt=1.0), n=HORIZON + 1)
    g = 30.0 * g[1][0][1:]
    low, high = (bound[0, 1:] for bound in found.interval(0.95))
    reach = 2.0 * stats.norm.ppf(0.975) * 0.05 * g
    # six standard errors of a quantile of 400 draws, twice
    error = 6.0 * np.sqrt(2 * 0.025 * 0.975 / DRAWS) / stats.norm.pdf(1.96) * 0.05 * np.abs(g)
    assert np.all(np.abs((high - low) - np.abs(reach)) < error + 1e-3)
    assert np.all(np.abs(high - low) > 0.5 * np.abs(reach))


@pytest.mark.parametrize(("pole", "diverges"), [(1.0, False), (1.3, True)])
def test_a_system_that_does_not_settle_is_named(data, pole, diverges):
    """An integrator goes on; an unstable system leaves every range."""
    unstable = np.array([[pole, 0.0], [0.0, 0.5]])
    found = step_response(make_run(unstable), data, inputs=[0], horizon=HORIZON, draws=3)
    assert not found.settles.any()
    assert found.diverges.all() == diverges


# ---------------------------------------------------------------------- worked by hand


def delayed_run() -> Run:
    """The first input acts after three steps, the second after one."""
    run = make_run(A)
    config = run.system.config.replace(input_delays=(3, 1))
    system = System(run.system.model, run.system.posterior, config)
    return Run(system, UNITS, run.training, 0, run.history)


def test_a_response_is_the_difference_of_two_copies_of_a_draw(data, monkeypatch):
    """Ups lie before downs, draws side by side; what is no number counts as infinite."""
    path = np.random.default_rng(1).standard_normal((2 * 4 + 1, 2, 4 * 3))
    path[6, 0, 0], path[6, 0, 6] = np.inf, np.inf
    path[7, 0, 0], path[7, 0, 1] = np.inf, -np.inf
    first, given = jnp.ones((3, 2, 3)).at[-1].set(7.0), []
    module = sys.modules["gpssm.prediction.response"]
    monkeypatch.setattr(module, "predict", lambda *_: first)
    monkeypatch.setattr(module, "_without_noise", lambda *each: given.append(each) or path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = step_response(delayed_run(), data, inputs=[1, 0], horizon=4, draws=3)
    _, system, x, u = given[0]
    assert system.config.particles == 3
    np.testing.assert_array_equal(x, np.full((2, 3), 7.0))
    held = np.zeros((8, 2, 4))
    held[4:, 1, 0], held[4:, 1, 2] = 0.5, -0.5
    held[6:, 0, 1], held[6:, 0, 3] = 0.5, -0.5
    np.testing.assert_array_equal(u, held)
    assert u.dtype == np.float64
    wanted = np.zeros((3, 2, 5, 1))
    for draw, i, t in np.ndindex(3, 2, 5):
        up, down = (path[4 + t, 0, 3 * copy + draw] for copy in (i, 2 + i))
        wanted[draw, i, t] = np.inf if up == down == np.inf else 30.0 * (up - down)
    np.testing.assert_allclose(found.draws, wanted, rtol=1e-12)
    assert np.isinf(found.draws).sum() == 3
    np.testing.assert_array_equal(found.step, [0.5, 2.0])
    np.testing.assert_array_equal(found.spread, [30.0])


def test_a_warmup_is_the_begin_of_the_longest_run():
    rng = np.random.default_rng(2)
    u, y = ([rng.standard_normal((rows, dim)) for rows in (5, 9, 7)] for dim in (2, 1))
    y[1][1] = np.nan
    found = _warmup(delayed_run(), Dataset.from_arrays(y, u))
    assert found.mask[:, 0, 0].tolist() == [True, False, True]
    scaled = (y[1][[0, 2], 0] - 7.0) / 30.0
    np.testing.assert_allclose(found.y[::2, 0, 0], scaled, rtol=1e-12)
    acting = np.stack([u[1][[0, 0, 0], 0], u[1][[0, 1, 2], 1]], axis=1)
    np.testing.assert_allclose(found.u[..., 0], (acting - [1.0, 5.0]) / [2.0, 0.5], rtol=1e-12)


def test_an_input_is_held_and_then_moved_by_half_a_step():
    wanted = np.zeros((6, 3, 4))
    wanted[3:, 2, 0] = wanted[3:, 0, 1] = 0.5
    wanted[3:, 2, 2] = wanted[3:, 0, 3] = -0.5
    np.testing.assert_array_equal(_held([2, 0], 3, 3), wanted)


def respond(*curves, spread=1.0) -> StepResponse:
    """One draw, one input, and an output for each curve."""
    draws = np.stack(curves, axis=1)[None, None]
    return StepResponse(draws, np.ones(1), np.full(len(curves), spread))


@pytest.mark.parametrize(("at", "move", "settles"), [(80, 1.0, True), (80, 1.1, False),
                                                     (79, 9.0, True)])  # fmt: skip
def test_a_response_settles_if_its_last_fifth_moves_by_a_twentieth(at, move, settles):
    """Of 100 steps, and of a largest value of 20, beside an output that rests."""
    rising = np.full(100, 20.0)
    rising[at] = 20.0 - move
    found = respond(rising, np.full(100, 0.5))
    np.testing.assert_array_equal(found.settles, [[settles, True]])
    assert not found.diverges.any()


@pytest.mark.parametrize(("highest", "diverges"), [(2e3, True), (1999.0, False), (-3e3, True)])
def test_a_response_diverges_from_a_thousand_spreads_on(highest, diverges):
    single = np.zeros(50)
    single[10] = highest
    found = respond(single, np.full(50, 3.0), spread=2.0)
    np.testing.assert_array_equal(found.diverges, [[diverges, False]])
    np.testing.assert_array_equal(found.settles, [[not diverges, True]])


def test_draws_without_an_end_diverge_and_nothing_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = respond(np.full(50, np.inf))
        assert (found.diverges.all(), found.settles.any()) == (True, False)


def test_the_median_and_the_interval_are_those_of_the_draws():
    draws = np.random.default_rng(0).permutation(np.arange(101.0))[:, None, None, None]
    shift = np.array([0.0, 200.0])[:, None, None]
    found = StepResponse(draws + shift, np.ones(2), np.ones(1))
    np.testing.assert_array_equal(found.median[..., 0], [[50.0], [250.0]])
    low, high = found.interval(0.9)
    np.testing.assert_allclose(low[:, 0, 0], [5.0, 205.0])
    np.testing.assert_allclose(high[:, 0, 0], [95.0, 295.0])
