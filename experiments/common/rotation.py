"""Rotations: unit quaternions (w, x, y, z) that turn body axes into world axes, and Euler angles.

They take one vector each; `jax.vmap` makes many of them.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

Vector = Float[Array, "3"]
Quaternion = Float[Array, "4"]


def cross(a: Vector, b: Vector) -> Vector:
    """a × b, component by component: `jnp.cross` compiles to far more."""
    return jnp.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def quaternion_product(p: Quaternion, q: Quaternion) -> Quaternion:
    """First turn by q, then by p."""
    scalar = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3]
    vector = p[0] * q[1:] + q[0] * p[1:] + cross(p[1:], q[1:])
    return jnp.concatenate([scalar[None], vector])


def quaternion_rates(q: Quaternion, omega: Vector) -> Quaternion:
    """q̇ = ½ q ∘ (0, ω), with ω in body axes."""
    return 0.5 * quaternion_product(q, jnp.concatenate([jnp.zeros_like(omega[:1]), omega]))


def rotate(q: Quaternion, v: Vector) -> Vector:
    """A vector in body axes, seen in world axes."""
    twice = 2.0 * cross(q[1:], v)
    return v + q[0] * twice + cross(q[1:], twice)


def rotate_back(q: Quaternion, v: Vector) -> Vector:
    """A vector in world axes, seen in body axes."""
    return rotate(jnp.concatenate([q[:1], -q[1:]]), v)


def euler_rates(angles: Vector, omega: Vector) -> Vector:
    """Rates of (roll, pitch, yaw), turned in the order yaw, pitch, roll; ω in body axes."""
    sin_roll, cos_roll = jnp.sin(angles[0]), jnp.cos(angles[0])
    about_yaw = (sin_roll * omega[1] + cos_roll * omega[2]) / jnp.cos(angles[1])
    return jnp.stack(
        [
            omega[0] + jnp.sin(angles[1]) * about_yaw,
            cos_roll * omega[1] - sin_roll * omega[2],
            about_yaw,
        ]
    )
