"""The free rigid body and its attitude, against what mechanics and scipy say."""

import jax
import jax.numpy as jnp
import numpy as np
from experiments.common.rigid_body import rigid_body_rates
from experiments.common.rotation import (
    euler_rates,
    quaternion_product,
    quaternion_rates,
    rotate,
    rotate_back,
)
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from gpssm.data import Normalisation
from gpssm.inference import build, cbf_ssm
from gpssm.model import Physics, integrate, with_common_scales
from support import SMALL, make_sequences, run_posterior

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


def spinning(x, u, parameters, f):
    return rigid_body_rates(x, f[:3], f[3:], 1.0, (1.0, 2.0, 3.0))


def test_quaternions_of_all_particles_stay_on_the_unit_sphere(key):
    """Under large noise, conditioned on measurements that are off the sphere."""
    names = tuple("abcdefghijklm")
    physics = Physics(
        rates=spinning, step=0.02, states=names, observed=names[:7], inputs=("none",),
        scales=dict.fromkeys(names[7:], 1.0), yields=dict.fromkeys("123456", 1.0), sees=names[:7],
        unit_vectors=(names[3:7],),
    )  # fmt: skip
    sequences = make_sequences(batch=2, time=5, dim_y=7)
    normalisation = Normalisation(np.zeros(1), np.ones(1), np.full(7, 0.3), np.linspace(0.1, 1, 7))
    normalisation = with_common_scales(normalisation, physics)
    np.testing.assert_allclose(np.ptp(normalisation.y_std[3:]), 0.0, atol=1e-15)
    config = cbf_ssm(k=1, physics=physics, process_variance=0.1, **SMALL)
    system = build(key, config, sequences, normalisation)
    x = run_posterior(key, system, sequences).forward.x
    units = system.model.transition.dynamics.units
    lengths = np.linalg.norm(jax.vmap(units.state)(x)[:, 3:7], axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-12)
    assert np.std(x) > 0.1
