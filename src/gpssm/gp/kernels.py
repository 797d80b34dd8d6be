"""Covariance functions.

Points are columns: `z` is [inputs, M] and `x` is [inputs, N], so that the many particles lie
along the last axis. A kernel has `groups` sets of hyper-parameters: one that all outputs of a GP
share, or one for each output. Its matrices are therefore [groups, M, N].
"""

import functools
import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from .positive import positive, raw_positive

Profile = Literal["rbf", "matern12", "matern32", "matern52"]
KERNEL_VALUES = "kernel values"  # how a checkpoint of the time loop can name them
FeatureMap = Callable[[Float[Array, "inputs n"]], Float[Array, "groups features n"]]


class AbstractCovariance(eqx.Module):
    """A kernel whose first point is fixed: what the time loop evaluates at x.

    All that depends on the hyper-parameters and on z alone is computed when it is made.
    """

    @abstractmethod
    def __call__(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups m n"]:
        """k(z, x) for every pair of columns."""

    @abstractmethod
    def diagonal(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups n"]:
        """k(x, x) for every column."""


class AbstractKernel(eqx.Module):
    """A positive-definite function of two points."""

    @abstractmethod
    def at(self, z: Float[Array, "inputs m"]) -> AbstractCovariance:
        """The kernel with its first point fixed to the columns of z."""

    def matrix(
        self, z: Float[Array, "inputs m"], x: Float[Array, "inputs n"]
    ) -> Float[Array, "groups m n"]:
        """k(z, x) for every pair of columns."""
        return self.at(z)(x)

    def diagonal(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups n"]:
        """k(x, x) for every column."""
        return self.at(x).diagonal(x)

    @abstractmethod
    def features(self, key: PRNGKeyArray, count: int, dtype: DTypeLike) -> FeatureMap:
        """Random features φ with E[φ_r(x) φ_r(x')] = k(x, x') / count for each of them."""


# Of the scaled squared distance s = Σ (z − x)² / ℓ²: ρ(s), and the rate −2 ρ'(s)/ρ(s) at which it
# falls; then the degrees of freedom of the Student-t law of the kernel's spectral density
# (infinitely many: a Gaussian).
_TINY = 1e-12  # keeps the square root differentiable where two points coincide


class _Profile(NamedTuple):
    rho: Callable[[Array], Array]
    rate: Callable[[Array], Array]
    freedom: float | None


def _root(scale: float, s: Array) -> Array:
    return jnp.sqrt(scale * s + _TINY)


def _matern32(s: Array) -> Array:
    r = _root(3.0, s)
    return (1.0 + r) * jnp.exp(-r)


def _matern52(s: Array) -> Array:
    r = _root(5.0, s)
    return (1.0 + r + r * r / 3.0) * jnp.exp(-r)


def _matern52_rate(s: Array) -> Array:
    r = _root(5.0, s)
    return 5.0 * (1.0 + r) / (3.0 + 3.0 * r + r * r)


_PROFILES: dict[str, _Profile] = {
    "rbf": _Profile(lambda s: jnp.exp(-0.5 * s), jnp.ones_like, None),
    "matern12": _Profile(lambda s: jnp.exp(-_root(1.0, s)), lambda s: 1.0 / _root(1.0, s), 1.0),
    "matern32": _Profile(_matern32, lambda s: 3.0 / (1.0 + _root(3.0, s)), 3.0),
    "matern52": _Profile(_matern52, _matern52_rate, 5.0),
}


def squared_distance(
    z: Float[Array, "groups inputs m"], x: Float[Array, "groups inputs n"]
) -> Float[Array, "groups m n"]:
    """Σ_i (z_i − x_i)², from differences: |z|² − 2zx + |x|² would cancel in float32."""
    squares = [jnp.square(z[:, i, :, None] - x[:, i, None, :]) for i in range(z.shape[1])]
    return functools.reduce(operator.add, squares)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def stationary(
    profile: Profile,
    variance: Float[Array, " groups"],
    inverse: Float[Array, "groups inputs"],
    z: Float[Array, "groups inputs m"],
    x: Float[Array, "inputs n"],
) -> Float[Array, "groups m n"]:
    """σ² ρ(|z − x/ℓ|²) for every pair of columns, with `inverse` = 1/ℓ, which z has in it already.

    The derivative is written by hand: it needs the matrix itself, not what led to it, and two
    small products with it, not a loop over the inputs.
    """
    return _stationary_forward(profile, variance, inverse, z, x)[0]


def _stationary_forward(
    profile: Profile, variance: Array, inverse: Array, z: Array, x: Array
) -> tuple[Array, tuple[Array, ...]]:
    distance = squared_distance(z, inverse[..., None] * x[None])
    value = variance[:, None, None] * _PROFILES[profile].rho(distance)
    value = checkpoint_name(value, KERNEL_VALUES)
    return value, (variance, inverse, z, x, value)


def _stationary_backward(
    profile: Profile, saved: tuple[Array, ...], g: Array
) -> tuple[Array, Array, Array, Array]:
    """With h = g k · rate and s = x/ℓ: ∂/∂z = s hᵀ − z Σ_n h and ∂/∂s = z h − s Σ_m h.

    A row of ones and the squares of s give the sums in the same products, and of two factors the
    smaller one is transposed: separate reductions would take as long as the products.
    """
    variance, inverse, z, x, value = saved
    scaled = inverse[..., None] * x[None]
    change = g * value
    h = change * _PROFILES[profile].rate(squared_distance(z, scaled))
    ones = jnp.ones_like(scaled[:, :1])
    columns = jnp.swapaxes(jnp.concatenate([scaled, ones, jnp.square(scaled)], axis=1), 1, 2)
    inputs = scaled.shape[1]
    at_z, sums, at_squares = jnp.split(
        jnp.swapaxes(h @ columns, 1, 2), [inputs, inputs + 1], axis=1
    )
    at_x = jnp.concatenate([z, jnp.ones_like(z[:, :1])], axis=1) @ h
    total = jnp.sum((change @ columns)[:, :, inputs], axis=-1)
    grad_inverse = jnp.sum(z * at_z - at_squares, axis=-1) / inverse
    grad_scaled = at_x[:, :-1] - scaled * at_x[:, -1:]
    grad_x = jnp.sum(inverse[..., None] * grad_scaled, axis=0)
    return total / variance, grad_inverse, at_z - z * sums, grad_x


stationary.defvjp(_stationary_forward, _stationary_backward)


class _StationaryAt(AbstractCovariance):
    scaled_z: Float[Array, "groups inputs m"]
    inverse_lengthscales: Float[Array, "groups inputs"]
    variance: Float[Array, " groups"]
    profile: Profile = eqx.field(static=True)

    def __call__(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups m n"]:
        return stationary(self.profile, self.variance, self.inverse_lengthscales, self.scaled_z, x)

    def diagonal(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups n"]:
        return jnp.broadcast_to(self.variance[:, None], (self.variance.shape[0], x.shape[1]))


class Stationary(AbstractKernel):
    """σ² ρ(Σ_i (z_i − x_i)² / ℓ_i²): RBF and Matérn kernels with a length scale per input."""

    raw_variance: Float[Array, " groups"]
    raw_lengthscales: Float[Array, "groups inputs"]
    profile: Profile = eqx.field(static=True)

    @property
    def variance(self) -> Float[Array, " groups"]:
        """σ²."""
        return positive(self.raw_variance)

    @property
    def lengthscales(self) -> Float[Array, "groups inputs"]:
        """ℓ."""
        return positive(self.raw_lengthscales)

    def at(self, z: Float[Array, "inputs m"]) -> AbstractCovariance:
        """σ² ρ(s), s = Σ (z − x)² / ℓ²."""
        inverse = 1.0 / self.lengthscales
        return _StationaryAt(inverse[..., None] * z[None], inverse, self.variance, self.profile)

    def features(self, key: PRNGKeyArray, count: int, dtype: DTypeLike) -> FeatureMap:
        """√(2σ²/R) cos(ωᵀx + b), with ω from the spectral density and b uniform."""
        key_normal, key_chi, key_phase = jax.random.split(key, 3)
        groups, inputs = self.raw_lengthscales.shape
        omega = jax.random.normal(key_normal, (groups, count, inputs), dtype)
        freedom = _PROFILES[self.profile].freedom
        if freedom is not None:  # Student-t = normal / √(χ²/ν)
            chi = 2.0 * jax.random.gamma(key_chi, freedom / 2.0, (groups, count, 1), dtype)
            omega = omega / jnp.sqrt(chi / freedom)
        omega = omega / self.lengthscales[:, None, :]
        phase = jax.random.uniform(key_phase, (groups, count, 1), dtype, 0.0, 2.0 * jnp.pi)
        scale = jnp.sqrt(2.0 * self.variance / count)[:, None, None]
        return lambda x: scale * jnp.cos(jnp.einsum("gri,in->grn", omega, x) + phase)


class _LinearAt(AbstractCovariance):
    weighted_z: Float[Array, "groups inputs m"]
    variances: Float[Array, "groups inputs"]

    def __call__(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups m n"]:
        return jnp.einsum("gim,in->gmn", self.weighted_z, x)

    def diagonal(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups n"]:
        return self.variances @ jnp.square(x)


class Linear(AbstractKernel):
    """Σ_i σ_i² z_i x_i: functions that are linear in the input, with a variance per input."""

    raw_variances: Float[Array, "groups inputs"]

    @property
    def variances(self) -> Float[Array, "groups inputs"]:
        """σ_i²."""
        return positive(self.raw_variances)

    def at(self, z: Float[Array, "inputs m"]) -> AbstractCovariance:
        """Zᵀ diag(σ²) X."""
        return _LinearAt(self.variances[..., None] * z[None], self.variances)

    def features(self, key: PRNGKeyArray, count: int, dtype: DTypeLike) -> FeatureMap:
        """wᵀx / √R with w ~ N(0, diag(σ²))."""
        groups, inputs = self.raw_variances.shape
        weights = jax.random.normal(key, (groups, count, inputs), dtype)
        weights = weights * jnp.sqrt(self.variances / count)[:, None, :]
        return lambda x: jnp.einsum("gri,in->grn", weights, x)


class _CombinedAt(AbstractCovariance):
    first: AbstractCovariance
    second: AbstractCovariance
    combine: Callable[[Array, Array], Array] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups m n"]:
        return self.combine(self.first(x), self.second(x))

    def diagonal(self, x: Float[Array, "inputs n"]) -> Float[Array, "groups n"]:
        return self.combine(self.first.diagonal(x), self.second.diagonal(x))


class Sum(AbstractKernel):
    """k₁ + k₂."""

    first: AbstractKernel
    second: AbstractKernel

    def at(self, z: Float[Array, "inputs m"]) -> AbstractCovariance:
        """k₁(z, ·) + k₂(z, ·)."""
        return _CombinedAt(self.first.at(z), self.second.at(z), operator.add)

    def features(self, key: PRNGKeyArray, count: int, dtype: DTypeLike) -> FeatureMap:
        """φ₁ + ζφ₂ with random signs ζ = ±1, which make the mixed terms vanish on average."""
        key_first, key_second, key_sign = jax.random.split(key, 3)
        first = self.first.features(key_first, count, dtype)
        second = self.second.features(key_second, count, dtype)
        sign = jax.random.rademacher(key_sign, (1, count, 1), dtype)
        return lambda x: first(x) + sign * second(x)


class Product(AbstractKernel):
    """k₁ · k₂."""

    first: AbstractKernel
    second: AbstractKernel

    def at(self, z: Float[Array, "inputs m"]) -> AbstractCovariance:
        """k₁(z, ·) · k₂(z, ·)."""
        return _CombinedAt(self.first.at(z), self.second.at(z), operator.mul)

    def features(self, key: PRNGKeyArray, count: int, dtype: DTypeLike) -> FeatureMap:
        """√R φ₁ φ₂: the two draws are independent, so their covariances multiply."""
        key_first, key_second = jax.random.split(key)
        first = self.first.features(key_first, count, dtype)
        second = self.second.features(key_second, count, dtype)
        return lambda x: count**0.5 * first(x) * second(x)


def make_kernel(
    name: str, inputs: int, groups: int = 1, variance: float = 1.0, lengthscale: float = 1.0
) -> AbstractKernel:
    """A kernel from its name: `rbf`, `matern12|32|52`, `linear`, sums `a+b`, products `a*b`."""
    for sign, combine in (("+", Sum), ("*", Product)):
        left, found, right = name.partition(sign)
        if found:
            settings = inputs, groups, variance, lengthscale
            return combine(make_kernel(left, *settings), make_kernel(right, *settings))
    name = name.strip().lower()
    if name == "linear":
        return Linear(raw_positive(np.full((groups, inputs), variance)))
    if name in _PROFILES:
        return Stationary(
            raw_positive(np.full((groups,), variance)),
            raw_positive(np.full((groups, inputs), lengthscale)),
            name,  # type: ignore[arg-type]
        )
    known = ", ".join([*_PROFILES, "linear"])
    raise ValueError(f"kernel: got {name!r}, expected one of {known}, or a sum or product of them.")
