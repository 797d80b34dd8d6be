"""The ensemble Kalman filter with perturbed outputs (Burgers, van Leeuwen and Evensen, 1998).

Every member is corrected by K (y + v − H z), where v are draws of the sensor's noise with a mean
of exactly zero. The gain K has the covariance of the members: sampled as far as their means differ,
and in closed form for what f and the noise of the process add to each of them.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .cloud import centred, first_members, held, normals, propagate, settled
from .factored import Factored
from .innovation import forecast_outputs, gain, inform
from .state import Cloud, EnsembleState, FilterNoise, Info, OutputForecast, observe


def start(key: PRNGKeyArray, model: Factored, noise: FilterNoise, n: int) -> EnsembleState:
    """Before the first output."""
    return EnsembleState(first_members(key, model, noise, n))


def hold(state: EnsembleState) -> Cloud:
    """The prediction for the first row: where the members start."""
    return held(state.members, _equal(state))


def predict(
    key: PRNGKeyArray,
    model: Factored,
    noise: FilterNoise,
    state: EnsembleState,
    u: Float[Array, " controls"],
) -> Cloud:
    """One step on with the input of the step before."""
    return propagate(key, model, noise, state.members, _equal(state), u, centred)


def forecast(noise: FilterNoise, cloud: Cloud) -> OutputForecast:
    """The outputs, before they are seen."""
    return forecast_outputs(noise, jnp.mean(cloud.means, axis=1), covariance(cloud))


def update(
    key: PRNGKeyArray,
    model: Factored,
    noise: FilterNoise,
    cloud: Cloud,
    y: Float[Array, " outputs"],
    known: Bool[Array, " outputs"],
) -> tuple[EnsembleState, Info]:
    """Every member corrected by the outputs that are known."""
    ahead, z = forecast(noise, cloud), cloud.members
    K = gain(ahead, covariance(cloud), known)
    eps = centred(normals(key, len(y), z.shape[1], z.dtype))
    e = y[:, None] + jnp.sqrt(noise.sensor)[:, None] * eps - observe(z, len(y))
    z = z + K @ jnp.where(known[:, None], e, 0.0)
    return EnsembleState(settled(model, z, len(y))), inform(ahead, y, known)


def moments(state: EnsembleState) -> tuple[Float[Array, " rows"], Float[Array, "rows rows"]]:
    """Mean and covariance of z."""
    return jnp.mean(state.members, axis=1), _sampled(state.members)


def members(state: EnsembleState) -> Float[Array, "rows n"]:
    """Draws of z of equal weight."""
    return state.members


def covariance(cloud: Cloud) -> Float[Array, "rows rows"]:
    """Cov E(z given a member) + E Var(z given a member)."""
    return _sampled(cloud.means) + jnp.diag(jnp.mean(cloud.variances, axis=1))


def _sampled(z: Float[Array, "rows n"]) -> Float[Array, "rows rows"]:
    apart = z - jnp.mean(z, axis=1, keepdims=True)
    return apart @ apart.T / (z.shape[1] - 1)


def _equal(state: EnsembleState) -> Float[Array, " n"]:
    z = state.members
    return jnp.full(z.shape[1], -jnp.log(float(z.shape[1])), z.dtype)
