"""The bootstrap particle filter (Gordon, Salmond and Smith, 1993): the reference.

Particles move by the model and are weighted by the likelihood of the outputs. It is exact for many
particles, whatever the model. Weights are kept until fewer than half of the particles count; then
systematic resampling makes them equal.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from gpssm.model import gaussian_log_density

from .cloud import first_members, held, plain, propagate
from .factored import Factored
from .innovation import forecast_outputs, inform
from .state import Cloud, FilterNoise, Info, OutputForecast, ParticleState, observe

_RESAMPLED_BELOW = 0.5  # of the particles


def start(key: PRNGKeyArray, model: Factored, noise: FilterNoise, n: int) -> ParticleState:
    """Before the first output."""
    z = first_members(key, model, noise, n)
    return ParticleState(z, jnp.full(n, -jnp.log(float(n)), z.dtype))


def hold(state: ParticleState) -> Cloud:
    """The prediction for the first row: where the particles start."""
    return held(state.members, state.log_weights)


def predict(
    key: PRNGKeyArray,
    model: Factored,
    noise: FilterNoise,
    state: ParticleState,
    u: Float[Array, " controls"],
) -> Cloud:
    """One step on with the input of the step before."""
    return propagate(key, model, noise, state.members, state.log_weights, u, plain)


def forecast(noise: FilterNoise, cloud: Cloud) -> OutputForecast:
    """The outputs, before they are seen."""
    mean, spread = _weighted(cloud.means, cloud.log_weights)
    added = cloud.variances @ jnp.exp(cloud.log_weights)
    return forecast_outputs(noise, mean, spread + jnp.diag(added))


def update(
    key: PRNGKeyArray,
    model: Factored,
    noise: FilterNoise,
    cloud: Cloud,
    y: Float[Array, " outputs"],
    known: Bool[Array, " outputs"],
) -> tuple[ParticleState, Info]:
    """Weighted by the outputs that are known; the likelihood is that of the mixture."""
    del model
    seen = observe(cloud.members, len(y))
    density = gaussian_log_density(y[:, None], seen, noise.sensor[:, None])
    weighted = cloud.log_weights + jnp.sum(jnp.where(known[:, None], density, 0.0), axis=0)
    total = logsumexp(weighted)
    state = _resampled(key, ParticleState(cloud.members, weighted - total))
    info = inform(forecast(noise, cloud), y, known)
    return state, info._replace(log_likelihood=total)


def moments(state: ParticleState) -> tuple[Float[Array, " rows"], Float[Array, "rows rows"]]:
    """Mean and covariance of z."""
    return _weighted(state.members, state.log_weights)


def members(state: ParticleState) -> Float[Array, "rows n"]:
    """Draws of z of equal weight, by their weights."""
    return state.members[:, systematic(jnp.exp(state.log_weights), jnp.asarray(0.5))]


def systematic(weights: Float[Array, " n"], offset: Float[Array, ""]) -> Int[Array, " n"]:
    """Which particles to keep, each about as often as its weight says; `offset` is in [0, 1)."""
    n = weights.shape[0]
    places = (jnp.arange(n) + offset).astype(weights.dtype) / n
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(weights), places), n - 1)


def _resampled(key: PRNGKeyArray, state: ParticleState) -> ParticleState:
    """With equal weights where too few particles count."""
    z, log_weights = state
    n = z.shape[1]
    few = -logsumexp(2.0 * log_weights) < jnp.log(_RESAMPLED_BELOW * n)
    chosen = systematic(jnp.exp(log_weights), jax.random.uniform(key, (), z.dtype))
    equal = jnp.full_like(log_weights, -jnp.log(float(n)))
    return ParticleState(
        z[:, jnp.where(few, chosen, jnp.arange(n))], jnp.where(few, equal, log_weights)
    )


def _weighted(
    z: Float[Array, "rows n"], log_weights: Float[Array, " n"]
) -> tuple[Float[Array, " rows"], Float[Array, "rows rows"]]:
    weights = jnp.exp(log_weights)
    mean = z @ weights
    apart = z - mean[:, None]
    return mean, (weights[None] * apart) @ apart.T
