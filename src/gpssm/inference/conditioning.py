"""The soft conditioning step: a Kalman update whose gain the factor k lowers.

    K = v⁻ / (r + k v⁻)      m = m⁻ + K (x̃ − m⁻)      v = (1 − K)² v⁻ + K² r

Everything is diagonal, hence elementwise. k = 1 is the Kalman update, k → ∞ leaves the
prediction as it is. The variance stays in Joseph form: (1 − K) v⁻ is right for k = 1 only.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def soft_condition(
    mean: Float[Array, "states n"],
    variance: Float[Array, "states n"],
    target: Float[Array, "states n"],
    noise: Float[Array, "#states #n"],
    known: Bool[Array, "#states #n"],
    k: float,
    inflate_noise: bool = False,
) -> tuple[Float[Array, "states n"], Float[Array, "states n"]]:
    """N(m, v) from the prediction N(m⁻, v⁻) and the target x̃ with noise r.

    Where the target is not `known` the prediction stays. With `inflate_noise` the last term uses
    r + (k − 1) v⁻ in place of r, as the code of the paper's authors does.
    """
    gain = jnp.where(known, 1.0 / (noise / variance + k), 0.0)  # this form allows k = ∞
    spread = noise + (k - 1.0) * variance if inflate_noise else noise
    new_mean = mean + gain * (target - mean)
    new_variance = jnp.square(1.0 - gain) * variance + jnp.square(gain) * spread
    return new_mean, new_variance
