"""The VoliroX drone as physics: rigid body and allocation known, the rest of the wrench learned."""

from functools import cache

import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.model import Physics
from gpssm.model.physics import Values

from ..common.rigid_body import rigid_body_rates
from .voliro import INERTIA, MASS, physical_model, thrust_features

POSE = ("px", "py", "pz", "qw", "qx", "qy", "qz")
VELOCITY = ("vx", "vy", "vz", "wx", "wy", "wz")
SIGNALS = tuple(f"{kind}{arm}" for kind in ("eta", "alpha") for arm in range(1, 7))
_INERTIAS = ("inertia_x", "inertia_y", "inertia_z")
WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")


def voliro_rates(
    x: Float[Array, "13"], u: Float[Array, "12"], parameters: Values, f: Float[Array, "6"]
) -> Float[Array, "13"]:
    """f_RB-ODE under (ξ, τ) = f_PM(η, α) + f_GP(η, α)."""
    total = physical_model(u[:6], u[6:]) + f
    inertia = jnp.stack([parameters[name] for name in _INERTIAS])
    return rigid_body_rates(x, total[:3], total[3:], parameters["mass"], inertia)


def voliro_sees(x: Float[Array, "13"], u: Float[Array, "12"]) -> Float[Array, "12"]:
    """The motor signals and tilt angles alone."""
    del x
    return thrust_features(u)


@cache  # one object: programs compiled for it are found again
def voliro_physics() -> Physics:
    """Pose measured, velocities hidden, GP: R¹² → R⁶."""
    return Physics(
        rates=voliro_rates,
        step=0.01,
        states=(*POSE, *VELOCITY),
        observed=POSE,
        scales={**dict.fromkeys(VELOCITY[:3], 0.7), **dict.fromkeys(VELOCITY[3:], 1.0)},
        inputs=SIGNALS,
        yields={**dict.fromkeys(WRENCH[:3], 5.0), **dict.fromkeys(WRENCH[3:], 0.1)},
        sees=voliro_sees,
        parameters={"mass": MASS, **dict(zip(_INERTIAS, INERTIA, strict=True))},
        unit_vectors=(POSE[3:],),
        name="VoliroX",
    )
