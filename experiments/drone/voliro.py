"""VoliroX: a drone of six arms that tilt about their own axes, with two coaxial rotors each.

The two rotors of an arm turn at the same speed against each other, so their drag torques cancel.
With γ the angle of an arm in the body's xy-plane, its thrust acts along

    cos α · z + sin α · (−sin γ, cos γ, 0)        at        ℓ (cos γ, sin γ, 0)
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

ARM_ANGLES = np.pi * np.array([1 / 2, -1 / 2, -1 / 6, 5 / 6, 1 / 6, 7 / 6])
ARM_LENGTH = 0.3  # m
ROTORS_PER_ARM = 2
MASS = 4.04  # kg
INERTIA = (0.078359, 0.081798, 0.153355)  # kg m²
FORCE_CONSTANT = 1.2e-5  # N s²
MAXIMAL_SPEED = 1700.0  # rad/s

# η² of an arm when the weight hangs level on all six of them
HOVER_SPEED_SQUARED = MASS * 9.81 / (6 * ROTORS_PER_ARM * FORCE_CONSTANT)


def _allocation() -> Float[np.ndarray, "6 12"]:
    """The matrix A of (ξ, τ) = A (F sin α, F cos α), F the thrust of each arm."""
    sin, cos, zero, one = np.sin(ARM_ANGLES), np.cos(ARM_ANGLES), np.zeros(6), np.ones(6)
    sideways = [-sin, cos, zero, zero, zero, ARM_LENGTH * one]
    upwards = [zero, zero, one, ARM_LENGTH * sin, -ARM_LENGTH * cos, zero]
    return np.concatenate([np.stack(sideways), np.stack(upwards)], axis=1)


ALLOCATION = _allocation()


def arm_thrust(eta: Float[Array, "6"]) -> Float[Array, "6"]:
    """Thrust of each arm in N, of rotors at the speeds η in rad/s."""
    return ROTORS_PER_ARM * FORCE_CONSTANT * jnp.square(eta)


def wrench(thrust: Float[Array, "6"], alpha: Float[Array, "6"]) -> Float[Array, "6"]:
    """Force and torque in body axes of the thrust of each arm at the tilt angles α."""
    parts = jnp.concatenate([thrust * jnp.sin(alpha), thrust * jnp.cos(alpha)])
    return jnp.asarray(ALLOCATION, parts.dtype) @ parts


def physical_model(eta: Float[Array, "6"], alpha: Float[Array, "6"]) -> Float[Array, "6"]:
    """f_PM(η, α): force and torque of rotors that do not disturb each other."""
    return wrench(arm_thrust(eta), alpha)


def allocate(desired: Float[Array, "6"]) -> tuple[Float[Array, "6"], Float[Array, "6"]]:
    """Rotor speeds and tilt angles in (−π, π] that give a wrench with the least effort."""
    inverse = jnp.asarray(np.linalg.pinv(ALLOCATION), desired.dtype)
    sideways, upwards = jnp.split(inverse @ desired, 2)
    thrust = jnp.sqrt(jnp.square(sideways) + jnp.square(upwards))
    eta = jnp.sqrt(thrust / (ROTORS_PER_ARM * FORCE_CONSTANT))
    return jnp.minimum(eta, MAXIMAL_SPEED), jnp.arctan2(sideways, upwards)


def thrust_features(u: Float[Array, "12"]) -> Float[Array, "12"]:
    """(η² sin α, η² cos α) of u = (η, α), 1 for the thrust of an arm at hover.

    One to one with (η, α), and smooth where an arm turns through a whole circle.
    """
    share = jnp.square(u[:6]) / HOVER_SPEED_SQUARED
    return jnp.concatenate([share * jnp.sin(u[6:]), share * jnp.cos(u[6:])])


def ring_neighbours() -> Float[np.ndarray, "6 6"]:
    """1 where two arms stand next to each other on the circle."""
    order = np.argsort(np.mod(ARM_ANGLES, 2 * math.pi))
    matrix = np.zeros((6, 6))
    for a, b in zip(order, np.roll(order, -1), strict=True):
        matrix[a, b] = matrix[b, a] = 1.0
    return matrix
