"""States of a whole log given all of it: the linearised filter, then Rauch, Tung and Striebel back.

J = P[t] Fᵀ P⁻[t+1]⁻¹
m ← m[t] + J (m[t+1] − m⁻[t+1])      P ← P[t] + J (P[t+1] − P⁻[t+1]) Jᵀ
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from . import gaussian
from .factored import Factored
from .state import FilterNoise, GaussianPrediction, GaussianState
from .symmetric import root, symmetric


class SmoothedStates(NamedTuple):
    """Mean and covariance of z = (x, d) at every row, given all outputs; normalised."""

    mean: Float[Array, "time rows"]
    covariance: Float[Array, "time rows rows"]
    log_likelihood: Float[Array, ""]


@jax.jit
def smooth(
    model: Factored,
    noise: FilterNoise,
    u: Float[Array, "time controls"],
    y: Float[Array, "time outputs"],
    mask: Bool[Array, "time outputs"],
) -> SmoothedStates:
    """Row t of u leads from x[t] to x[t+1]. Outputs outside the mask are missing."""
    predictions, states, density = _filter(model, noise, u, jnp.where(mask, y, 0.0), mask)
    last = jax.tree.map(lambda leaf: leaf[-1], states)
    earlier = jax.tree.map(lambda leaf: leaf[:-1], states)
    later = jax.tree.map(lambda leaf: leaf[1:], predictions)
    _, found = jax.lax.scan(_back, last, (earlier, later), reverse=True)
    mean, covariance = (
        jnp.concatenate([rows, end[None]]) for rows, end in zip(found, last, strict=True)
    )
    return SmoothedStates(mean, covariance, density)


def _filter(
    model: Factored, noise: FilterNoise, u: Array, y: Array, mask: Array
) -> tuple[GaussianPrediction, GaussianState, Float[Array, ""]]:
    """Every prediction and every state of the filter, and the likelihood."""
    key = jax.random.key(0)  # nothing is drawn

    def step(carry: tuple[GaussianState, Array], row: tuple[Array, ...]) -> Any:
        (state, is_first), (u_before, y_now, known) = carry, row
        ahead = gaussian.predict(key, model, noise, state, u_before)
        now = jax.tree.map(lambda a, b: jnp.where(is_first, a, b), gaussian.hold(state), ahead)
        state, info = gaussian.update(key, model, noise, now, y_now, known)
        return (state, jnp.zeros_like(is_first)), (now, state, info.log_likelihood)

    before = jnp.concatenate([u[:1], u[:-1]])
    start = gaussian.start(key, model, noise, 1), jnp.ones((), bool)
    predictions, states, density = jax.lax.scan(step, start, (before, y, mask))[1]
    return predictions, states, jnp.sum(density)


def _back(
    later: GaussianState, row: tuple[GaussianState, GaussianPrediction]
) -> tuple[GaussianState, GaussianState]:
    state, ahead = row
    J = root(ahead.covariance).solve(ahead.slope @ state.covariance).T
    mean = state.mean + J @ (later.mean - ahead.mean)
    covariance = state.covariance + J @ (later.covariance - ahead.covariance) @ J.T
    found = GaussianState(mean, symmetric(covariance))
    return found, found
