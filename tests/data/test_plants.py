"""The simulated plants that hybrid models are for: the laws they obey and what they leave out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.data import cart, drone
from gpssm.mechanics import rotate_back
from gpssm.mechanics.voliro import MASS, physical_model


@pytest.fixture(scope="module")
def flight():
    return drone.voliro_flight(jax.random.key(0), 2000, drone.TRAINING)


def test_a_seed_means_one_data_set_whatever_the_precision_flag():
    with jax.enable_x64(False):
        single = cart.cart_pole(jax.random.key(5), 300, 200)
    double = cart.cart_pole(jax.random.key(5), 300, 200)
    other = cart.cart_pole(jax.random.key(6), 300, 200)
    for a, b, c in zip(single, double, other, strict=True):
        np.testing.assert_array_equal(a.y, b.y)
        assert np.any(a.y != c.y)


def test_the_cart_stays_on_its_rail_and_the_pole_stays_up():
    data = cart.cart_pole(jax.random.key(0))
    y = np.concatenate([each.y for each in data])
    assert np.abs(y[:, 1]).max() < 0.5
    assert 0.2 < y[:, 0].std() < 2.0


def test_the_pole_falls_without_a_controller():
    x = jnp.asarray([0.0, 0.01, 0.0, 0.0])
    for _ in range(50):
        x = x + cart.STEP * cart.cart_pole_rates(x, jnp.zeros(()))
    assert float(x[1]) > 0.1


def test_the_drone_flies_its_manoeuvre_and_turns_over(flight):
    up = np.asarray(jax.vmap(rotate_back)(flight.states[:, 3:7], np.tile([0, 0, 1.0], (2000, 1))))
    assert up[:, 2].min() < -0.95  # it was upside down
    assert np.abs(flight.states[:, :3]).max() < 4.0
    np.testing.assert_allclose(np.linalg.norm(flight.states[:, 3:7], axis=1), 1.0, atol=1e-9)
    assert flight.u[:, :6].min() >= drone.SLOWEST
    assert np.abs(np.diff(flight.u[:, 6:], axis=0)).max() <= np.pi  # unwrapped


def test_the_recorded_force_is_what_moves_the_drone(flight):
    """m a = R f + m g, from differences of the recorded velocities."""
    states = flight.states
    change = np.diff(states[:, 7:10], axis=0) / drone.STEP + np.array([0.0, 0.0, 9.81])
    middle = 0.5 * (states[1:, 3:7] + states[:-1, 3:7])
    middle = middle / np.linalg.norm(middle, axis=1, keepdims=True)
    felt = MASS * np.asarray(jax.vmap(rotate_back)(jnp.asarray(middle), jnp.asarray(change)))
    np.testing.assert_allclose(felt, flight.wrench[:-1, :3], atol=0.1)


def test_what_the_physical_model_leaves_out_is_worth_a_tenth_to_a_quarter_of_the_thrust(flight):
    eta, alpha = jnp.asarray(flight.u[:, :6]), jnp.asarray(flight.u[:, 6:])
    model = np.asarray(jax.vmap(physical_model)(eta, alpha))
    still = jnp.zeros(13).at[3].set(1.0)
    true = np.asarray(jax.vmap(lambda e, a: drone.true_wrench(still, e, a))(eta, alpha))
    share = np.linalg.norm((true - model)[:, :3], axis=1) / np.linalg.norm(model[:, :3], axis=1)
    assert np.quantile(share, 0.02) > 0.10
    assert np.quantile(share, 0.98) < 0.25
    assert np.ptp(np.quantile(share, [0.02, 0.98])) > 0.03  # no constant factor


def test_measured_poses_have_the_announced_noise():
    key = jax.random.key(0)
    data, truth = drone.voliro(key, 1500, 1000), drone.voliro_test_flight(key, 500)
    noise = data.test.experiments[0].y - truth.states[:, :7]
    np.testing.assert_allclose(noise.std(axis=0), 1e-3, rtol=0.15)
    np.testing.assert_array_equal(data.test.experiments[0].u, truth.u)
