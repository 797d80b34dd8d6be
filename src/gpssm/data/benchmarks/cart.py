"""A pendulum upright on a cart: unstable, with a controller and friction of the rail."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.data.dataset import Dataset

STEP, GRAVITY = 0.02, 9.81  # s, m/s²
CART, POLE, LENGTH = 1.0, 0.1, 0.5  # kg, kg, m to the middle of the pole
POSITION_STD, ANGLE_STD = 2e-3, 2e-3  # of the sensors: m, rad
PROCESS_STD = 3e-3  # of both velocities, per step
HOLD = 60  # steps for which the cart is sent to the same place


def cart_pole(key: PRNGKeyArray, steps: int = 4000, train: int = 3000) -> Dataset:
    """Force on the cart in; position and angle out, both velocities hidden."""
    run_key, sensor_key = jax.random.split(key)
    with jax.enable_x64(True):
        states, force = (np.asarray(a) for a in _balance(run_key, steps))
        noise = np.asarray(jax.random.normal(sensor_key, (steps, 2), jnp.float64))
    data = Dataset.from_arrays(
        states[:, :2] + noise * np.array([POSITION_STD, ANGLE_STD]),
        force,
        sampling_time=STEP,
        input_names=("force",),
        output_names=("position", "angle"),
        input_units=("N",),
        output_units=("m", "rad"),
        name="cart_pole",
    )
    return data.split_at(train)


def rail_friction(speed: Float[Array, ""]) -> Float[Array, ""]:
    """Friction force of the rail in N: dry (smooth at rest) and viscous."""
    return -1.5 * jnp.tanh(5.0 * speed) - 0.5 * speed


def cart_pole_rates(x: Float[Array, "4"], force: Float[Array, ""]) -> Float[Array, "4"]:
    """Rates of (position, angle from upright, speed, spin) under all horizontal forces."""
    _, angle, speed, spin = x
    sin, cos, total = jnp.sin(angle), jnp.cos(angle), CART + POLE
    push = (force + POLE * LENGTH * jnp.square(spin) * sin) / total
    turn = (GRAVITY * sin - cos * push) / (LENGTH * (4 / 3 - POLE * jnp.square(cos) / total))
    return jnp.stack([speed, spin, push - POLE * LENGTH * turn * cos / total, turn])


@partial(jax.jit, static_argnums=1)
def _balance(
    key: PRNGKeyArray, steps: int
) -> tuple[Float[Array, "time 4"], Float[Array, "time 1"]]:
    keys = jax.random.split(key, 3)
    goals = jax.random.uniform(keys[0], (-(-steps // HOLD),), jnp.float64, -1.0, 1.0)
    goals = jnp.repeat(goals, HOLD)[:steps]
    shakes = 1.5 * jax.random.normal(keys[1], (steps,), jnp.float64)
    noises = PROCESS_STD * jax.random.normal(keys[2], (steps, 2), jnp.float64)

    def one(x: Array, now: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        goal, shake, noise = now
        gains = jnp.asarray([3.0, 40.0, 3.5, 8.0], x.dtype)
        force = gains @ (x - jnp.zeros(4).at[0].set(goal)) + shake
        after = _advance(x, force)
        return after.at[2:].add(noise), (x, force[None])

    return jax.lax.scan(one, jnp.zeros(4, jnp.float64), (goals, shakes, noises))[1]


def _advance(x: Float[Array, "4"], force: Float[Array, ""]) -> Float[Array, "4"]:
    """One step of the classical Runge-Kutta method."""

    def rates(x: Float[Array, "4"]) -> Float[Array, "4"]:
        return cart_pole_rates(x, force + rail_friction(x[2]))

    k1 = rates(x)
    k2 = rates(x + STEP * (k1 / 2))
    k3 = rates(x + STEP * (k2 / 2))
    k4 = rates(x + STEP * k3)
    return x + STEP * (1 / 6 * k1 + 1 / 3 * k2 + 1 / 3 * k3 + 1 / 6 * k4)
