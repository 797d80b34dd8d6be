"""Equations of motion and their integration, against what mechanics and scipy say."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from gpssm.mechanics import (
    RK4,
    euler_rates,
    integrate,
    quaternion_product,
    quaternion_rates,
    rigid_body_rates,
    rotate,
    rotate_back,
    voliro,
)

INERTIA = (0.078359, 0.081798, 0.153355)
NOTHING = jnp.zeros(3)
TUMBLING = jnp.asarray([0.1, -0.2, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5, -0.3, 0.2, 4.0, -3.0, 2.0])


def free(x):
    return rigid_body_rates(x, NOTHING, NOTHING, 4.04, INERTIA)


@jax.jit
def tumble(x):
    """Two seconds of free fall, the quaternion brought back to length one as a model does it."""

    def one(x, _):
        x = integrate(free, x, 0.01)
        return x.at[3:7].divide(jnp.linalg.norm(x[3:7])), x

    return jax.lax.scan(one, x, length=200)[1]


def energy(x, mass=4.04):
    kinetic = 0.5 * mass * np.sum(x[:, 7:10] ** 2, axis=1)
    spin = 0.5 * np.sum(np.asarray(INERTIA) * x[:, 10:] ** 2, axis=1)
    return kinetic + spin + mass * 9.81 * x[:, 2]


def test_a_free_rigid_body_keeps_its_energy_angular_momentum_and_unit_quaternion():
    x = np.asarray(tumble(TUMBLING))
    assert np.ptp(x[:, 10]) > 1.0  # it does tumble
    np.testing.assert_allclose(energy(x), energy(x)[0], rtol=1e-8)
    momenta = [rotate(row[3:7], jnp.asarray(INERTIA) * row[10:]) for row in jnp.asarray(x[::40])]
    np.testing.assert_allclose(momenta, np.tile(momenta[0], (5, 1)), atol=1e-6)
    # before the projection of a step its length is off by the error of the solver only
    np.testing.assert_allclose(np.linalg.norm(x[:, 3:7], axis=1), 1.0, atol=1e-9)


def test_the_rigid_body_agrees_with_scipys_integrator():
    force, torque = jnp.asarray([1.0, -2.0, 30.0]), jnp.asarray([0.1, 0.05, -0.2])
    forced = lambda x: rigid_body_rates(x, force, torque, 4.04, INERTIA)  # noqa: E731
    rates = jax.jit(forced)
    oracle = solve_ivp(lambda t, x: rates(x), (0, 0.5), TUMBLING, rtol=1e-10, atol=1e-12).y[:, -1]
    roll = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda i, x: integrate(forced, x, 0.01), x))
    np.testing.assert_allclose(roll(TUMBLING), oracle, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("solver", "order"), [("rk4", 4), ("euler", 1), ("symplectic", 1)])
def test_the_error_of_a_solver_falls_with_its_order(solver, order):
    """ẍ = −x: halving the step divides the error by two to the order."""
    swing = lambda x: jnp.stack([x[1], -x[0]])  # noqa: E731
    errors = []
    for steps in (20, 40):
        x = jnp.asarray([1.0, 0.0])
        for _ in range(steps):
            x = integrate(swing, x, 1.0 / steps, solver, positions=(0,))
        errors.append(np.linalg.norm(x - np.array([np.cos(1.0), -np.sin(1.0)])))
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), order, atol=0.15)


def test_the_symplectic_form_keeps_the_energy_of_a_swing_where_euler_does_not():
    swing = lambda x: jnp.stack([x[1], -x[0]])  # noqa: E731

    def final_energy(solver):
        step = lambda i, x: integrate(swing, x, 0.1, solver, positions=(0,))  # noqa: E731
        return float(jnp.sum(jax.lax.fori_loop(0, 1000, step, jnp.asarray([1.0, 0.0])) ** 2))

    assert abs(final_energy("symplectic") - 1.0) < 0.1
    assert final_energy("euler") > 1e3


def test_our_stages_equal_those_of_diffrax():
    class Solver(diffrax.AbstractERK):
        tableau = RK4
        interpolation_cls = diffrax.LocalLinearInterpolation

        def order(self, terms):
            return 4

    solver, term = Solver(), diffrax.ODETerm(lambda t, x, args: free(x))
    state = solver.init(term, 0.0, 0.05, TUMBLING, None)
    oracle = solver.step(term, 0.0, 0.05, TUMBLING, None, state, made_jump=False)[0]
    np.testing.assert_allclose(integrate(free, TUMBLING, 0.05), oracle, rtol=1e-13)


def test_gradients_through_the_integration_equal_finite_differences():
    def far(x):
        return jnp.sum(jnp.sin(tumble(x)[-1]))

    gradient, direction = jax.jit(jax.grad(far))(TUMBLING), jnp.cos(jnp.arange(13.0))
    step = 1e-6
    difference = (far(TUMBLING + step * direction) - far(TUMBLING - step * direction)) / (2 * step)
    np.testing.assert_allclose(jnp.vdot(gradient, direction), difference, rtol=1e-6)


def test_rotations_agree_with_scipy():
    rng = np.random.default_rng(0)
    p, q = (each / np.linalg.norm(each) for each in rng.standard_normal((2, 4)))
    v, omega, angles = rng.standard_normal((3, 3)) * np.array([[1.0], [1.0], [0.4]])
    of = lambda q: Rotation.from_quat(np.roll(q, -1))  # noqa: E731  (scipy's scalar is the last)
    p, q = jnp.asarray(p), jnp.asarray(q)
    np.testing.assert_allclose(rotate(q, jnp.asarray(v)), of(q).apply(v), rtol=1e-12)
    np.testing.assert_allclose(rotate_back(q, rotate(q, jnp.asarray(v))), v, rtol=1e-12)
    both = of(quaternion_product(p, q)).as_matrix()
    np.testing.assert_allclose(both, (of(p) * of(q)).as_matrix(), atol=1e-12)
    # a small turn about body axes, by the rates of the quaternion and by those of the angles
    h = 1e-6
    turned = (of(q) * Rotation.from_rotvec(h * omega)).as_quat()
    moved = np.roll(q + h * np.asarray(quaternion_rates(q, jnp.asarray(omega))), -1)
    np.testing.assert_allclose(moved, np.sign(turned @ moved) * turned, atol=1e-11)
    start = Rotation.from_euler("ZYX", angles[::-1])
    after = (start * Rotation.from_rotvec(h * omega)).as_euler("ZYX")[::-1]
    rates = euler_rates(jnp.asarray(angles), jnp.asarray(omega))
    np.testing.assert_allclose((after - angles) / h, rates, atol=1e-5)


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
