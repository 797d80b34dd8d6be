"""Positive numbers as unconstrained parameters: value = softplus(raw)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def positive(raw: Float[Array, "..."]) -> Float[Array, "..."]:
    """The positive value that an unconstrained parameter stands for."""
    return jax.nn.softplus(raw)


def raw_positive(value: Any) -> Float[Array, "..."]:
    """The unconstrained parameter of a positive value: log(exp(value) − 1), without overflow."""
    value = np.asarray(value, dtype=np.float64)
    if not np.all(value > 0):
        raise ValueError(f"a positive parameter needs a value above zero, got {value}")
    return jnp.asarray(value + np.log(-np.expm1(-value)))
