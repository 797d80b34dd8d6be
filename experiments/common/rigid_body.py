"""The free rigid body under a force and a torque.

    ṗ = v        q̇ = ½ q ∘ (0, ω)        m v̇ = R(q) ξ + m g        J ω̇ = τ − ω × J ω

p and v in world axes (z upwards), ω, ξ and τ in body axes, J diagonal.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from .rotation import cross, quaternion_rates, rotate

GRAVITY = 9.81  # m/s²


def rigid_body_rates(
    x: Float[Array, "13"],
    force: Float[Array, "3"],
    torque: Float[Array, "3"],
    mass: float | Float[Array, ""],
    inertia: Sequence[float] | Float[Array, "3"],
    gravity: float = GRAVITY,
) -> Float[Array, "13"]:
    """Rates of x = (position, quaternion, velocity, angular velocity)."""
    q, v, omega = x[3:7], x[7:10], x[10:]
    J = jnp.asarray(inertia, x.dtype)
    weight = jnp.asarray([0.0, 0.0, -gravity], x.dtype)
    acceleration = rotate(q, force) / mass + weight
    spin = (torque - cross(omega, J * omega)) / J
    return jnp.concatenate([v, quaternion_rates(q, omega), acceleration, spin])
