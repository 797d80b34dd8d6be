"""Hybrid transitions: physics without a GP, a GP without physics, units, geometry, parameters."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import gpssm
from gpssm.base.errors import ConfigError, ModelFileError
from gpssm.data import Normalisation
from gpssm.inference import System, Weights, build, cbf_ssm, method
from gpssm.model import (
    Physics,
    log_normal,
    make_hybrid,
    normal,
)
from support import SMALL, elbo, make_sequences, make_system, run_posterior

STEP = 0.05
PENDULUM = {"length": log_normal(1.0, 0.3), "friction": normal(0.1, 0.05), "gravity": 9.81}


def pendulum(x, u, parameters, f):
    """An upright pendulum, its angular velocity named first: the order is the user's."""
    spin, angle = x
    turn = parameters["gravity"] / parameters["length"] * jnp.sin(angle)
    return jnp.stack([turn + u[0] + f[0] - parameters["friction"] * spin, spin])


def make_physics(**changes):
    settings = {
        "rates": pendulum, "step": STEP, "states": ("spin", "angle"), "observed": ("angle",),
        "scales": {"spin": 2.0}, "inputs": ("torque",), "yields": {"push": 3.0},
        "sees": ("angle", "torque"), "parameters": PENDULUM, "name": "pendulum",
    }  # fmt: skip
    return Physics(**{**settings, **changes})


PHYSICS = make_physics()
UNITS = Normalisation(np.array([0.3]), np.array([1.7]), np.array([0.2]), np.array([0.4]))


def hybrid_system(config, sequences, normalisation=UNITS, spread=0.1):
    """All parameters away from where training starts."""
    system = build(jax.random.key(0), config, sequences, normalisation)
    rng = np.random.default_rng(1)
    return jax.tree.map(lambda a: a + spread * rng.standard_normal(a.shape), system)


def without_gp(system: System) -> System:
    """f = 0 for certain, and hardly any noise."""
    gp = system.model.transition.gp
    zeros = jnp.zeros_like(gp.posterior.mean)
    return eqx.tree_at(
        lambda s: (
            s.model.transition.gp.posterior.mean,
            s.model.transition.gp.posterior.raw_scale,
            s.model.transition.gp.kernel.raw_variance,
            s.model.transition.raw_noise,
            s.model.transition.dynamics.raw_parameter_std,
        ),
        system,
        (
            zeros,
            jnp.full_like(zeros, -80.0),
            jnp.full_like(gp.kernel.raw_variance, -80.0),
            jnp.full_like(system.model.transition.raw_noise, -80.0),
            jnp.full_like(system.model.transition.dynamics.raw_parameter_std, -80.0),
        ),
    )


def test_a_gp_of_zero_is_pure_physics(key):
    """In open loop every particle follows scipy's solution of the ODE in physical units."""
    sequences = make_sequences(batch=2, time=12)
    system = without_gp(hybrid_system(method("pr-ssm", physics=PHYSICS, **SMALL), sequences))
    x = np.asarray(run_posterior(key, system, sequences).forward.x)
    values = PHYSICS.values(system.model.transition.dynamics.parameter_mean)
    for particle, sequence in ((0, 0), (3, 0), (5, 1)):
        angle, spin = 0.2 + 0.4 * x[:, 0, particle], 2.0 * x[:, 1, particle]
        state = np.array([spin[0], angle[0]])
        for t in range(11):
            u = 0.3 + 1.7 * np.asarray(sequences.u[t, :, sequence])
            rates = lambda _, s, u=u: np.asarray(  # noqa: E731
                pendulum(jnp.asarray(s), u, values, jnp.zeros(1))
            )
            state = solve_ivp(rates, (0, STEP), state, rtol=1e-9, atol=1e-11).y[:, -1]
        np.testing.assert_allclose([spin[-1], angle[-1]], state, rtol=1e-4)


def drift(x, u, parameters, f):
    """No physics at all: f is the rate of every state, in another order than the states have."""
    return jnp.stack([f[1], f[0], f[2]]) / STEP


@pytest.mark.parametrize("name", ["pr-ssm", "vcdt", "cbf-ssm-50"])
def test_a_physics_of_zero_is_the_black_box(name, key):
    """Every term of the ELBO and every state, for data whose units are not normalised."""
    sequences = make_sequences(batch=2, time=7, dim_y=1, missing=0.2)
    scales = {"hidden": 0.7, "more": 3.0}
    nothing = Physics(
        rates=drift, step=STEP, states=("more", "seen", "hidden"), observed=("seen",),
        scales=scales, inputs=("input",), sees=("seen", "more", "hidden", "input"),
        yields={"seen": 0.4, "more": 3.0, "hidden": 0.7},
        smoother_sees=("more", "hidden", "seen", "input"),
    )  # fmt: skip
    settings = {**SMALL, "recognition": "output"} if not name.startswith("cbf") else SMALL
    plain = make_system(method(name, dim_x=3, **settings), sequences)
    blank = build(jax.random.key(0), method(name, physics=nothing, **settings), sequences, UNITS)
    dynamics = blank.model.transition.dynamics
    model = eqx.tree_at(lambda m: m.transition.dynamics, plain.model, dynamics)
    ours = System(model, plain.posterior, blank.config)
    weights = Weights(state_kl=0.7, inducing_kl=0.1, entropy=0.3)
    for term, value in elbo(key, ours, sequences, weights)._asdict().items():
        oracle = getattr(elbo(key, plain, sequences, weights), term)
        np.testing.assert_allclose(value, oracle, rtol=1e-9, atol=1e-12, err_msg=term)
    np.testing.assert_allclose(
        run_posterior(key, ours, sequences).forward.x,
        run_posterior(key, plain, sequences).forward.x,
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("name", ["pr-ssm", "vcdt", "cbf-ssm-1"])
def test_gradients_through_physics_equal_finite_differences(name, key):
    sequences = make_sequences(batch=2, time=5)
    config = method(name, physics=PHYSICS, **SMALL)
    flat, unravel = jax.flatten_util.ravel_pytree(hybrid_system(config, sequences))
    value = jax.jit(lambda vector: elbo(key, unravel(vector), sequences).total)
    gradient = jax.jit(jax.grad(value))(flat)
    for seed in range(2):
        direction = jax.random.normal(jax.random.key(seed), flat.shape)
        difference = (value(flat + 1e-6 * direction) - value(flat - 1e-6 * direction)) / 2e-6
        np.testing.assert_allclose(jnp.vdot(gradient, direction), difference, rtol=1e-4)


def test_moments_are_those_of_many_draws_of_f():
    """Mean and variance against a Monte-Carlo of the whole step."""
    dynamics = make_hybrid(PHYSICS, UNITS)
    x, u = jnp.asarray([[0.4], [-0.3]]), jnp.asarray([[0.5]])
    f_mean, f_variance = jnp.asarray([[0.2]]), jnp.asarray([[0.09]])
    mean, variance = dynamics.moments(jnp.zeros((2, 1)), x, u, f_mean, f_variance)
    count = 20_000
    f = 0.2 + 0.3 * np.random.default_rng(0).standard_normal((1, count))
    wide = lambda a: jnp.tile(a, (1, count))  # noqa: E731
    zeros = jnp.zeros((1, count))
    after, _ = dynamics.moments(jnp.zeros((2, count)), wide(x), wide(u), jnp.asarray(f), zeros)
    spread = np.asarray(after.std(axis=1))
    np.testing.assert_allclose(mean[:, 0], after.mean(axis=1), atol=4 * spread.max() / count**0.5)
    np.testing.assert_allclose(np.sqrt(variance[1, 0]), spread[1], rtol=0.02)
    # the angle is moved in the next step only: what is left out is a fraction of the step
    assert spread[0] * 0.4 < 0.6 * STEP * spread[1] * 2.0
    assert variance[0, 0] == 0.0


def test_units_go_there_and_back_and_keep_the_users_order():
    units = make_hybrid(PHYSICS, UNITS).units
    x = jnp.asarray([[1.0], [0.5]])  # normalised: (angle, spin)
    np.testing.assert_allclose(units.state(x)[:, 0], [2.0 * 0.5, 0.2 + 0.4 * 1.0])
    np.testing.assert_allclose(units.normal(units.state(x)), x, rtol=1e-12)
    np.testing.assert_allclose(units.input(jnp.asarray([2.0])), [0.3 + 1.7 * 2.0])


def test_an_observer_of_the_physics_finds_the_hidden_state():
    """Before any training: the backward pass with its initial gain against the true velocity."""
    rng, states = np.random.default_rng(0), [np.array([0.0, 0.3])]
    values, u = PHYSICS.values(jnp.zeros(2)), rng.standard_normal((120, 1))
    advance = jax.jit(lambda x, u: PHYSICS.advance(x, u, values, jnp.zeros(1)))
    for t in range(119):
        states.append(np.asarray(advance(jnp.asarray(states[-1]), 0.3 + 1.7 * u[t])))
    spin, angle = np.array(states).T
    normalisation = replace(UNITS, y_mean=np.array([angle.mean()]), y_std=np.array([angle.std()]))
    y = jnp.asarray(normalisation.y(angle[:, None]))[:, :, None]
    sequences = make_sequences(batch=1, time=120)._replace(u=jnp.asarray(u)[:, :, None], y=y)
    physics = make_physics(scales={"spin": float(spin.std())})
    config = cbf_ssm(physics=physics, smoother_kernel="linear", **{**SMALL, "lag": None})
    system = build(jax.random.key(0), config, sequences, normalisation)
    hidden = run_posterior(jax.random.key(1), system, sequences).backward.hidden.mean(axis=-1)
    error = np.asarray(hidden)[:100, 0] * spin.std() - spin[:100]
    assert np.sqrt(np.mean(error**2)) < 0.25 * spin.std()


def test_parameters_have_their_priors_and_cost_what_the_formula_says():
    dynamics = make_hybrid(PHYSICS, UNITS)
    at_two = PHYSICS.values(jnp.asarray([2.0, -1.0]))
    np.testing.assert_allclose(at_two["length"], np.exp(0.6))
    np.testing.assert_allclose(at_two["friction"], 0.05)
    moved = eqx.tree_at(lambda d: d.parameter_mean, dynamics, jnp.asarray([2.0, -1.0]))
    s2 = np.square(np.asarray(dynamics.parameter_std))
    exact = 0.5 * np.sum(s2 + np.array([4.0, 1.0]) - 1.0 - np.log(s2))
    np.testing.assert_allclose(moved.parameter_kl(), exact, rtol=1e-12)


def test_learned_parameters_enter_the_elbo_with_their_kl(key):
    sequences = make_sequences(batch=2, time=5)
    system = hybrid_system(cbf_ssm(physics=PHYSICS, **SMALL), sequences)
    free, paid = (elbo(key, system, sequences, Weights(parameter_kl=w)) for w in (0.0, 2.0))
    np.testing.assert_allclose(free.total - paid.total, 2.0 * paid.parameter_kl, rtol=1e-9)
    assert paid.parameter_kl > 0.1


SETTINGS = {"steps": 2, "sequence_length": 8, "batch_size": 2, "quiet": True}


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(0)
    y, u = np.cumsum(0.02 * rng.standard_normal((40, 1)), axis=0), rng.standard_normal((40, 1))
    model = cbf_ssm(physics=PHYSICS, **{**SMALL, "inducing_inputs": "kmeans"})
    return gpssm.fit(model, u=u, y=y, **SETTINGS)


def test_a_hybrid_run_predicts_and_comes_back_from_its_file_with_the_same_physics(run, tmp_path):
    u, y = np.zeros((12, 1)), np.zeros((5, 1))
    path = run.save(tmp_path / "pendulum.gpssm")
    again = gpssm.load(path, physics=PHYSICS)
    np.testing.assert_array_equal(again.predict(u, y).mean, run.predict(u, y).mean)
    mean, std = run.learned(np.zeros((3, 2)), np.ones((3, 1)))
    assert mean.shape == std.shape == (3, 1)
    assert (std > 0).all()


def test_a_file_without_its_physics_says_what_is_missing(run, tmp_path):
    path = run.save(tmp_path / "pendulum.gpssm")
    with pytest.raises(ModelFileError, match=r"'pendulum' again\. A file holds no code"):
        gpssm.load(path)
    with pytest.raises(ModelFileError, match=r"step = 0.1, expected step = 0.05"):
        gpssm.load(path, physics=make_physics(step=0.1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observed": ("tilt",)}, "observed: got 'tilt'"),
        ({"scales": {}}, "one for each hidden state"),
        ({"sees": ("speed",)}, "sees: got 'speed'"),
        ({"step": 0.0}, "step: got 0.0"),
        ({"solver": "leapfrog"}, "solver: got 'leapfrog'"),
        ({"solver": "symplectic"}, "Name the states that are positions"),
        ({"rates": lambda x, u, p, f: x[:1]}, "one number per state"),
        ({"yields": {}}, "at least one output of the GP"),
    ],
)
def test_wrong_physics_is_refused_with_a_reason(changes, message):
    with pytest.raises(ConfigError, match=message):
        make_physics(**changes)


def test_wrong_data_are_refused_with_a_reason(key):
    with pytest.raises(ConfigError, match="dim_x: got 3, expected the 2 states"):
        cbf_ssm(dim_x=3, physics=PHYSICS)
    sequences = make_sequences(dim_u=2)
    two = Normalisation(np.zeros(2), np.ones(2), np.zeros(1), np.ones(1))
    with pytest.raises(ConfigError, match=r"inputs of 'pendulum'.*2 of them"):
        build(key, cbf_ssm(physics=PHYSICS, **SMALL), sequences, two)


@pytest.mark.parametrize("setting", [{"start": "linear"}, {"smoother_sees_steps": True}])
def test_what_black_boxes_start_from_and_see_is_refused_beside_physics(setting):
    with pytest.raises(ConfigError, match=rf"{next(iter(setting))}: got .* with physics"):
        cbf_ssm(physics=make_physics(), **setting)
