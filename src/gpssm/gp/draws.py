"""Five ways to draw f along a trajectory.

A draw begins once per trajectory (`start`) and is then asked for the mean and the variance of
f at the points visited (`evaluate`). It carries how often KL(q(u)‖p(u)) counts in the ELBO of a
trajectory of T steps.

| name          | along one trajectory                                                 | KL counts |
|---------------|----------------------------------------------------------------------|-----------|
| `independent` | u is integrated out at every step                                    | T times   |
| `trajectory`  | one draw of u per particle, then f_t ~ p(f_t given u)                | once      |
| `mean`        | u is its mean, then f_t ~ p(f_t given u)                             | once      |
| `delta`       | q(u) is a point, then f_t ~ p(f_t given u)                           | once      |
| `pathwise`    | one whole function per particle (Matheron's rule)                    | once      |
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .keys import Keys
from .sparse import Factor, conditional, prior_variance, sample_inducing, weigh, whitened_features

NUM_FEATURES = 256  # of a pathwise prior draw

Moments = tuple[Float[Array, "outputs n"], Float[Array, "outputs n"]]


class DrawState(NamedTuple):
    """What one draw of f remembers: for all particles, and for each (along the last axis)."""

    shared: Any = None
    particles: Any = None

    def tile(self, copies: int) -> "DrawState":
        """The same functions for `copies` sets of particles that lie side by side."""
        tiled = jax.tree.map(lambda leaf: jnp.tile(leaf, copies), self.particles)
        return self._replace(particles=tiled)


class FunctionDraw(NamedTuple):
    """A way to draw f along a trajectory."""

    name: str
    start: Callable[[Keys, Factor, int], DrawState]
    evaluate: Callable[[Factor, DrawState, Array], Moments]
    counts_every_step: bool

    def kl_count(self, steps: int) -> int:
        """Number of times that KL(q(u)‖p(u)) counts for a trajectory of this length."""
        return steps if self.counts_every_step else 1


def _start_nothing(keys: Keys, factor: Factor, particles: int) -> DrawState:
    del keys, factor, particles
    return DrawState()


def _evaluate_independent(factor: Factor, state: DrawState, x: Float[Array, "inputs n"]) -> Moments:
    del state
    return conditional(factor, x)


def _start_trajectory(keys: Keys, factor: Factor, particles: int) -> DrawState:
    return DrawState(particles=sample_inducing(keys, factor, particles))


def _evaluate_trajectory(factor: Factor, state: DrawState, x: Float[Array, "inputs n"]) -> Moments:
    a = whitened_features(factor, x)
    mean = jnp.sum(state.particles * a, axis=1)
    return mean, jnp.broadcast_to(prior_variance(factor, a, x), mean.shape)


def _evaluate_mean(factor: Factor, state: DrawState, x: Float[Array, "inputs n"]) -> Moments:
    del state
    a = whitened_features(factor, x)
    mean = weigh(factor.mean.T, a)
    return mean, jnp.broadcast_to(prior_variance(factor, a, x), mean.shape)


def _start_pathwise(keys: Keys, factor: Factor, particles: int) -> DrawState:
    """f(x) = φ(x)ᵀw + aᵀ(v − Lz⁻¹ φ(z)ᵀw), with w ~ N(0, I) and v ~ q: Matheron's rule."""
    keys_features, keys_weights, keys_inducing = keys.split(3)
    outputs, dtype = factor.mean.shape[0], factor.mean.dtype
    features = factor.kernel.features(keys_features.shared, NUM_FEATURES, dtype)
    weights = keys_weights.normal((outputs, NUM_FEATURES), particles, dtype)
    prior_at_z = jnp.swapaxes(features(factor.z), -1, -2) @ weights
    update = sample_inducing(keys_inducing, factor, particles) - factor.Lz_inverse @ prior_at_z
    return DrawState(shared=jax.tree_util.Partial(features), particles=(weights, update))


def _evaluate_pathwise(factor: Factor, state: DrawState, x: Float[Array, "inputs n"]) -> Moments:
    weights, update = state.particles
    a = whitened_features(factor, x)
    mean = jnp.sum(weights * state.shared(x), axis=1) + jnp.sum(update * a, axis=1)
    return mean, jnp.zeros_like(mean)


FUNCTION_DRAWS = {
    draw.name: draw
    for draw in (
        FunctionDraw("independent", _start_nothing, _evaluate_independent, True),
        FunctionDraw("trajectory", _start_trajectory, _evaluate_trajectory, False),
        FunctionDraw("mean", _start_nothing, _evaluate_mean, False),
        FunctionDraw("delta", _start_nothing, _evaluate_mean, False),
        FunctionDraw("pathwise", _start_pathwise, _evaluate_pathwise, False),
    )
}
