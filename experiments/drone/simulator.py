"""A simulated VoliroX, since the paper's flight log is not public.

The same rigid body as in `physics`, and what the physical model leaves out: the airflow of
a rotor disturbs its neighbours, rotors follow their command with a lag, the air drags. A controller
holds a slowly moving position while the drone tilts and flips.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm import Dataset
from gpssm.model import integrate

from ..common.rigid_body import GRAVITY, rigid_body_rates
from ..common.rotation import quaternion_product, rotate_back
from . import voliro as drone

STEP = 0.01  # s
POSITION_STD, QUATERNION_STD = 1e-3, 1e-3  # of the pose measurement: m, and about 2 mrad
FORCE_STD, TORQUE_STD = 0.5, 0.02  # of the gusts, new at every step: N, N m
ROTOR_LAG = 0.03  # s
DRAG, ANGULAR_DRAG = 0.25, 0.004  # N s/m, N m s
SLOWEST = 150.0  # rad/s
SEGMENT = 4.0  # s of one tilt or flip
TURN = (np.sqrt(5.0) - 1.0) * np.pi  # from one manoeuvre's axis to the next: never the same twice


class Flight(NamedTuple):
    """What a flight was: true states, commands, and all force and torque of the air on the body."""

    states: Float[np.ndarray, "time 13"]
    u: Float[np.ndarray, "time 12"]
    wrench: Float[np.ndarray, "time 6"]


class Manoeuvre(NamedTuple):
    """Tilts and flips about horizontal axes; the first axis and the largest tilt differ."""

    first_axis: float
    largest_tilt: float
    flips_every: int  # each so-manieth manoeuvre is a whole turn


TRAINING = Manoeuvre(0.0, 0.9 * np.pi, 3)
TEST = Manoeuvre(0.5, 0.7 * np.pi, 2)


def voliro(key: PRNGKeyArray, steps: int = 8000, train: int = 6000) -> Dataset:
    """A training flight and another manoeuvre as the test; pose out, velocities hidden."""
    flights = {
        "training": voliro_flight(jax.random.fold_in(key, 0), train, TRAINING),
        "test": voliro_flight(jax.random.fold_in(key, 1), steps - train, TEST),
    }
    poses = [
        _measured(jax.random.fold_in(key, 2 + i), flight.states[:, :7])
        for i, flight in enumerate(flights.values())
    ]
    data = Dataset.from_arrays(
        poses,
        [flight.u for flight in flights.values()],
        sampling_time=STEP,
        input_names=[f"{kind}{arm}" for kind in ("eta", "alpha") for arm in range(1, 7)],
        output_names=("px", "py", "pz", "qw", "qx", "qy", "qz"),
        input_units=("rad/s",) * 6 + ("rad",) * 6,
        output_units=("m",) * 3 + ("",) * 4,
        experiment_names=list(flights),
        name="voliro",
    )
    return data.split_experiments(train=["training"], test=["test"])


def voliro_test_flight(key: PRNGKeyArray, steps: int = 2000) -> Flight:
    """The truth behind the test part of `voliro` with the same key; for comparison only."""
    return voliro_flight(jax.random.fold_in(key, 1), steps, TEST)


def voliro_flight(key: PRNGKeyArray, steps: int, manoeuvre: Manoeuvre) -> Flight:
    """True states, commands and wrench of one flight."""
    with jax.enable_x64(True):
        states, u, wrench = (np.asarray(a) for a in _fly(key, steps, manoeuvre))
    u = np.concatenate([u[:, :6], np.unwrap(u[:, 6:], axis=0)], axis=1)
    return Flight(states, u, wrench)


def _measured(key: PRNGKeyArray, pose: Float[np.ndarray, "time 7"]) -> Float[np.ndarray, "time 7"]:
    std = np.repeat([POSITION_STD, QUATERNION_STD], [3, 4])
    with jax.enable_x64(True):
        return pose + std * np.asarray(jax.random.normal(key, pose.shape, jnp.float64))


# ---------------------------------------------------------------------- what f_PM leaves out


def interference(
    eta: Float[Array, "6"], alpha: Float[Array, "6"]
) -> tuple[Float[Array, "6"], Float[Array, "6"]]:
    """What the airflow of its two neighbours does to each arm: lost share of thrust, deflection.

    More is lost where a neighbour blows harder and in another direction; its jet also drags the
    thrust along by some degrees.
    """
    neighbours = jnp.asarray(drone.ring_neighbours(), eta.dtype)
    square = jnp.square(eta)
    weight = neighbours * square[None] / (square[:, None] + square[None])
    difference = alpha[None] - alpha[:, None]
    across = 0.5 * (1.0 - jnp.cos(difference))
    lost = 0.08 + 0.30 * jnp.tanh(jnp.sum(weight * (0.2 + 2.0 * across), axis=1))
    return lost, 0.12 * jnp.sum(weight * jnp.sin(difference), axis=1)


def true_wrench(
    x: Float[Array, "13"], eta: Float[Array, "6"], alpha: Float[Array, "6"]
) -> Float[Array, "6"]:
    """Thrust after interference, and drag, in body axes."""
    lost, deflection = interference(eta, alpha)
    thrust = drone.arm_thrust(eta) * (1.0 - lost)
    wind = rotate_back(x[3:7], x[7:10])
    drag = -jnp.concatenate([DRAG * wind, ANGULAR_DRAG * x[10:]])
    return drone.wrench(thrust, alpha + deflection) + drag


# ---------------------------------------------------------------------- controller


def reference(time: Float[Array, ""], manoeuvre: Manoeuvre) -> tuple[Array, Array, Array]:
    """Position, attitude and body rates asked for."""
    number, within = jnp.floor(time / SEGMENT), jnp.mod(time, SEGMENT) / SEGMENT
    axis = manoeuvre.first_axis + TURN * number
    flips = jnp.mod(number, manoeuvre.flips_every) == manoeuvre.flips_every - 1
    rise = 0.5 * (1.0 - jnp.cos(2 * jnp.pi * within))
    # the smooth turn s − sin(2πs)/2π begins and ends at rest
    whole = 2 * jnp.pi * (within - jnp.sin(2 * jnp.pi * within) / (2 * jnp.pi))
    tilt_rate = manoeuvre.largest_tilt * jnp.pi * jnp.sin(2 * jnp.pi * within) / SEGMENT
    flip_rate = 2 * jnp.pi * (1.0 - jnp.cos(2 * jnp.pi * within)) / SEGMENT
    angle = jnp.where(flips, whole, manoeuvre.largest_tilt * rise)
    rate = jnp.where(flips, flip_rate, tilt_rate)
    direction = jnp.stack([jnp.cos(axis), jnp.sin(axis), 0.0 * axis])
    attitude = jnp.concatenate([jnp.cos(angle / 2)[None], jnp.sin(angle / 2) * direction])
    place = jnp.stack([jnp.sin(0.9 * time), jnp.cos(0.7 * time), 2.0 + 0.5 * jnp.sin(1.1 * time)])
    return place, attitude, rate * direction


def control(
    x: Float[Array, "13"], integral: Float[Array, "6"], time: Array, manoeuvre: Manoeuvre
) -> tuple[Float[Array, "12"], Float[Array, "6"]]:
    """Commands (η, α) from errors of position and attitude, their rates and their integral."""
    place, attitude, rates = reference(time, manoeuvre)
    p, q, v, omega = x[:3], x[3:7], x[7:10], x[10:]
    turned_back = quaternion_product(jnp.concatenate([q[:1], -q[1:]]), attitude)
    tilt_error = 2.0 * jnp.sign(turned_back[0]) * turned_back[1:]
    position_error = place - p
    errors = jnp.concatenate([position_error, tilt_error])
    acceleration = 6.0 * position_error - 4.0 * v + 2.0 * integral[:3]
    acceleration = acceleration + jnp.asarray([0.0, 0.0, GRAVITY], x.dtype)
    spin = 60.0 * tilt_error + 14.0 * (rates - omega) + 60.0 * integral[3:]
    force = drone.MASS * rotate_back(q, acceleration)
    torque = jnp.asarray(drone.INERTIA, x.dtype) * spin
    eta, alpha = drone.allocate(jnp.concatenate([force, torque]))
    command = jnp.concatenate([jnp.maximum(eta, SLOWEST), alpha])
    return command, jnp.clip(integral + STEP * errors, -2.0, 2.0)


@partial(jax.jit, static_argnums=(1, 2))
def _fly(key: PRNGKeyArray, steps: int, manoeuvre: Manoeuvre) -> tuple[Array, Array, Array]:
    gusts = jax.random.normal(key, (steps, 6), jnp.float64)
    gusts = gusts * jnp.repeat(jnp.asarray([FORCE_STD, TORQUE_STD]), 3)[None]

    def one(carry: tuple[Array, Array, Array], now: tuple[Array, Array]) -> tuple:
        x, eta, integral = carry
        time, gust = now
        u, integral = control(x, integral, time, manoeuvre)
        eta = eta + (1.0 - jnp.exp(-STEP / ROTOR_LAG)) * (u[:6] - eta)
        wrench = true_wrench(x, eta, u[6:]) + gust
        x_after = _advance(x, eta, u[6:], gust)
        return (x_after, eta, integral), (x, u, wrench)

    x = jnp.zeros(13).at[3].set(1.0)
    x = x.at[:3].set(reference(jnp.zeros(()), manoeuvre)[0])
    start = x, jnp.full(6, jnp.sqrt(drone.HOVER_SPEED_SQUARED)), jnp.zeros(6)
    return jax.lax.scan(one, start, (STEP * jnp.arange(steps), gusts))[1]


def _advance(x: Array, eta: Array, alpha: Array, gust: Array) -> Array:
    def rates(x: Array) -> Array:
        total = true_wrench(x, eta, alpha) + gust
        return rigid_body_rates(x, total[:3], total[3:], drone.MASS, drone.INERTIA)

    x = integrate(rates, x, STEP)
    return x.at[3:7].divide(jnp.linalg.norm(x[3:7]))
