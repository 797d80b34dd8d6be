"""The VoliroX: its allocation of forces, and the laws that the simulated flight obeys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from experiments.common.rotation import rotate_back
from experiments.drone import simulator, voliro
from experiments.drone.voliro import MASS, physical_model
from scipy.spatial.transform import Rotation


@pytest.fixture(scope="module")
def flight():
    return simulator.voliro_flight(jax.random.key(0), 2000, simulator.TRAINING)


def test_the_allocation_is_the_sum_of_forces_at_the_arms():
    rng = np.random.default_rng(1)
    thrust, alpha = rng.uniform(1.0, 8.0, 6), rng.uniform(-3.0, 3.0, 6)
    force, torque = np.zeros(3), np.zeros(3)
    for F, a, gamma in zip(thrust, alpha, voliro.ARM_ANGLES, strict=True):
        arm = np.array([np.cos(gamma), np.sin(gamma), 0.0])
        # tilting about the arm turns the upward thrust; a positive angle blows it clockwise
        push = F * Rotation.from_rotvec(-a * arm).apply([0.0, 0.0, 1.0])
        force, torque = force + push, torque + np.cross(0.3 * arm, push)
    given = voliro.wrench(jnp.asarray(thrust), jnp.asarray(alpha))
    np.testing.assert_allclose(given, np.concatenate([force, torque]), atol=1e-12)


def test_commands_of_the_allocation_give_the_wrench_that_was_asked_for():
    desired = jnp.asarray([5.0, -8.0, 30.0, 0.3, -0.2, 0.1])
    eta, alpha = voliro.allocate(desired)
    np.testing.assert_allclose(voliro.physical_model(eta, alpha), desired, atol=1e-10)
    level, _ = voliro.allocate(jnp.asarray([0.0, 0.0, 4.04 * 9.81, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(level**2, voliro.HOVER_SPEED_SQUARED, rtol=1e-12)
    assert voliro.ring_neighbours().sum() == 12


def test_the_drone_flies_its_manoeuvre_and_turns_over(flight):
    up = np.asarray(jax.vmap(rotate_back)(flight.states[:, 3:7], np.tile([0, 0, 1.0], (2000, 1))))
    assert up[:, 2].min() < -0.95  # it was upside down
    assert np.abs(flight.states[:, :3]).max() < 4.0
    np.testing.assert_allclose(np.linalg.norm(flight.states[:, 3:7], axis=1), 1.0, atol=1e-9)
    assert flight.u[:, :6].min() >= simulator.SLOWEST
    assert np.abs(np.diff(flight.u[:, 6:], axis=0)).max() <= np.pi  # unwrapped


def test_the_recorded_force_is_what_moves_the_drone(flight):
    """m a = R f + m g, from differences of the recorded velocities."""
    states = flight.states
    change = np.diff(states[:, 7:10], axis=0) / simulator.STEP + np.array([0.0, 0.0, 9.81])
    middle = 0.5 * (states[1:, 3:7] + states[:-1, 3:7])
    middle = middle / np.linalg.norm(middle, axis=1, keepdims=True)
    felt = MASS * np.asarray(jax.vmap(rotate_back)(jnp.asarray(middle), jnp.asarray(change)))
    np.testing.assert_allclose(felt, flight.wrench[:-1, :3], atol=0.1)


def test_what_the_physical_model_leaves_out_is_worth_a_tenth_to_a_quarter_of_the_thrust(flight):
    eta, alpha = jnp.asarray(flight.u[:, :6]), jnp.asarray(flight.u[:, 6:])
    model = np.asarray(jax.vmap(physical_model)(eta, alpha))
    still = jnp.zeros(13).at[3].set(1.0)
    true = np.asarray(jax.vmap(lambda e, a: simulator.true_wrench(still, e, a))(eta, alpha))
    share = np.linalg.norm((true - model)[:, :3], axis=1) / np.linalg.norm(model[:, :3], axis=1)
    assert np.quantile(share, 0.02) > 0.10
    assert np.quantile(share, 0.98) < 0.25
    assert np.ptp(np.quantile(share, [0.02, 0.98])) > 0.03  # no constant factor


def test_measured_poses_have_the_announced_noise():
    key = jax.random.key(0)
    data, truth = simulator.voliro(key, 1500, 1000), simulator.voliro_test_flight(key, 500)
    noise = data.test.experiments[0].y - truth.states[:, :7]
    np.testing.assert_allclose(noise.std(axis=0), 1e-3, rtol=0.15)
    np.testing.assert_array_equal(data.test.experiments[0].u, truth.u)
