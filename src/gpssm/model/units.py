"""Between the normalised states that are learned and the physical ones of a user's equations."""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.data import Normalisation

from .physics import Physics


class Units(NamedTuple):
    """Between normalised states (observed ones first) and physical ones (in the user's order).

    Numbers that a compiled program is made for, not parameters: nothing here is learned.
    """

    x_mean: tuple[float, ...]
    x_std: tuple[float, ...]
    u_mean: tuple[float, ...]
    u_std: tuple[float, ...]
    order: tuple[int, ...]  # the user's states among the normalised ones
    outputs: int

    def state(self, x: Float[Array, "states *n"]) -> Float[Array, "states *n"]:
        """A normalised state in physical units."""
        x = along(self.x_mean, x) + along(self.x_std, x) * x
        return _reordered(x, self.order)

    def normal(self, x: Float[Array, "states *n"]) -> Float[Array, "states *n"]:
        """A physical state in normalised units."""
        x = _reordered(x, tuple(int(i) for i in np.argsort(self.order)))
        return (x - along(self.x_mean, x)) / along(self.x_std, x)

    def normal_rates(self, rates: Float[Array, "states *n"]) -> Float[Array, "states *n"]:
        """Rates of a physical state, or derivatives of them, in normalised units."""
        rates = _reordered(rates, tuple(int(i) for i in np.argsort(self.order)))
        return rates / along(self.x_std, rates)

    def input(self, u: Float[Array, "controls *n"]) -> Float[Array, "controls *n"]:
        """A normalised input in physical units."""
        return along(self.u_mean, u) + along(self.u_std, u) * u


def along(values: tuple[float, ...], like: Float[Array, "channels *n"]) -> Array:
    """One number per channel, for an array that has channels as its first axis."""
    return jnp.asarray(values, like.dtype).reshape(-1, *[1] * (like.ndim - 1))


def _reordered(x: Array, order: tuple[int, ...]) -> Array:
    return x if order == tuple(range(len(order))) else x[np.asarray(order)]


def make_units(physics: Physics, normalisation: Normalisation) -> Units:
    """Outputs have the mean and the spread of the data, hidden states zero and their scale."""
    latent = (*physics.observed, *physics.hidden)
    scales = tuple(float(physics.scales[name]) for name in physics.hidden)
    return Units(
        (*normalisation.y_mean.tolist(), *[0.0] * len(scales)),
        (*normalisation.y_std.tolist(), *scales),
        tuple(normalisation.u_mean.tolist()),
        tuple(normalisation.u_std.tolist()),
        tuple(latent.index(name) for name in physics.states),
        len(physics.observed),
    )


def with_common_scales(normalisation: Normalisation, physics: Physics | None) -> Normalisation:
    """One scale for all measured components of a unit vector: it has one noise, and it can turn.

    A component that happened to be still while the data were taken would otherwise be blown up.
    """
    if physics is None:
        return normalisation
    std = normalisation.y_std.copy()
    for group in physics.unit_vectors:
        rows = [physics.observed.index(name) for name in group if name in physics.observed]
        if rows:
            std[rows] = np.sqrt(np.mean(np.square(std[rows])))
    return replace(normalisation, y_std=std)
