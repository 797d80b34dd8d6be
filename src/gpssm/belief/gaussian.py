"""The linearised Gaussian filter (extended Kalman filter): mean and covariance of z = (x, d).

The mean moves by the mean step, the covariance by its derivative F:

    P ← F P Fᵀ + diag(Σx) + c (diag(Var f) + Jθ Jθᵀ)

Jθ is the derivative by the noise that uncertain parameters of the dynamics are made of, and c the
factor `FilterNoise.function`. Nothing is drawn, so that the likelihood of the outputs has a
derivative by all that it depends on.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .cloud import FARTHEST, settled
from .factored import Factored
from .innovation import forecast_outputs, gain, inform
from .state import (
    FilterNoise,
    GaussianPrediction,
    GaussianState,
    Info,
    OutputForecast,
    split,
)
from .symmetric import symmetric

_TOLD_APART = 1e-3  # least singular value: in a thousand rows the two make a difference


def start(key: PRNGKeyArray, model: Factored, noise: FilterNoise, n: int) -> GaussianState:
    """Before the first output."""
    del key, n
    mean = jnp.concatenate([model.mean, jnp.zeros_like(noise.sensor)])
    settled_mean = settled(model, mean[:, None], len(noise.sensor))[:, 0]
    return GaussianState(settled_mean, jnp.diag(noise.start(model.variance)))


def hold(state: GaussianState) -> GaussianPrediction:
    """The prediction for the first row: where it starts."""
    return GaussianPrediction(*state, jnp.eye(len(state.mean), dtype=state.mean.dtype))


def predict(
    key: PRNGKeyArray,
    model: Factored,
    noise: FilterNoise,
    state: GaussianState,
    u: Float[Array, " controls"],
) -> GaussianPrediction:
    """One step on with the input of the step before."""
    del key
    outputs = len(noise.sensor)
    x, d = split(state.mean, outputs)
    mean, slope, added = _linearised(model, x, u)
    F = jax.scipy.linalg.block_diag(slope, jnp.eye(outputs, dtype=x.dtype))
    added = noise.function * added
    Q = jnp.diag(noise.of_a_step) + jax.scipy.linalg.block_diag(added, jnp.zeros((outputs,) * 2))
    covariance = symmetric(F @ state.covariance @ F.T) + Q.astype(x.dtype)
    return GaussianPrediction(jnp.concatenate([mean, d]), _bounded(covariance), F)


def forecast(noise: FilterNoise, prediction: GaussianPrediction) -> OutputForecast:
    """The outputs, before they are seen."""
    return forecast_outputs(noise, prediction.mean, prediction.covariance)


def update(
    key: PRNGKeyArray,
    model: Factored,
    noise: FilterNoise,
    prediction: GaussianPrediction,
    y: Float[Array, " outputs"],
    known: Bool[Array, " outputs"],
) -> tuple[GaussianState, Info]:
    """Kalman's update with the outputs that are known, in Joseph form."""
    del key
    mean, P, _ = prediction
    ahead = forecast(noise, prediction)
    info, K = inform(ahead, y, known), gain(ahead, P, known)
    rest = jnp.eye(len(mean), dtype=mean.dtype) - K @ _sees(len(mean), len(y), mean.dtype)
    covariance = rest @ P @ rest.T + K @ (noise.sensor[:, None] * K.T)
    mean = settled(model, (mean + K @ info.innovation)[:, None], len(y))[:, 0]
    return GaussianState(mean, symmetric(covariance)), info


def moments(state: GaussianState) -> tuple[Float[Array, " rows"], Float[Array, "rows rows"]]:
    """Mean and covariance of z."""
    return state.mean, state.covariance


def gaussian_log_likelihood(
    model: Factored,
    noise: FilterNoise,
    u: Float[Array, "time controls"],
    y: Float[Array, "time outputs"],
    mask: Bool[Array, "time outputs"],
) -> Float[Array, ""]:
    """Σt log p(y[t] given the outputs before it); differentiable by the noise and the model.

    Row t of u leads from x[t] to x[t+1]. Outputs outside the mask are missing; give any number.
    """
    key = jax.random.key(0)  # nothing is drawn

    def step(state: GaussianState, row: tuple[Array, Array, Array]) -> tuple[GaussianState, Array]:
        u_before, y_now, known = row
        prediction = predict(key, model, noise, state, u_before)
        state, info = update(key, model, noise, prediction, y_now, known)
        return state, info.log_likelihood

    y = jnp.where(mask, y, 0.0)
    first = hold(start(key, model, noise, 1))
    state, info = update(key, model, noise, first, y[0], mask[0])
    _, rest = jax.lax.scan(jax.checkpoint(step), state, (u[:-1], y[1:], mask[1:]))
    return info.log_likelihood + jnp.sum(rest)


def observable_disturbances(
    model: Factored, inputs: int, outputs: int
) -> Bool[np.ndarray, " outputs"]:
    """For which outputs the data can tell a constant d from a constant error of the states.

    Not where the plant integrates into that output: no x ≠ 0 may have F x = x and C x = d. F is the
    derivative of a step from the mean of the training data.
    """
    F = np.asarray(_slope(model, jnp.zeros(inputs, model.mean.dtype)))
    rest = np.concatenate([F - np.eye(len(F)), np.eye(outputs, len(F))])
    found = []
    for output in np.eye(outputs):
        column = np.concatenate([np.zeros(len(F)), output])[:, None]
        sizes = np.linalg.svd(np.hstack([rest, column]), compute_uv=False)
        found.append(bool(sizes[-1] > _TOLD_APART))
    return np.array(found)


@jax.jit
def _slope(model: Factored, u: Float[Array, " controls"]) -> Float[Array, "states states"]:
    return _linearised(model, model.mean, u)[1]


def _linearised(
    model: Factored, x: Float[Array, " states"], u: Float[Array, " controls"]
) -> tuple[Float[Array, " states"], Float[Array, "states states"], Float[Array, "states states"]]:
    """Mean of x[t+1], its derivative by x[t], and the covariance of f and of the parameters.

    Columns do not depend on each other: in column i one reverse pass finds the derivative of the
    state i. (Kernels have no forward derivative.)
    """
    states = len(x)

    def step(x: Array, eps: Array) -> tuple[Array, Array]:
        parameters = model.dynamics.parameters(eps)
        mean, variance = model.moments(parameters, x, _columns(u, states))
        return jnp.clip(model.dynamics.settle(mean), -FARTHEST, FARTHEST), variance

    blank = jnp.zeros((*model.dynamics.noise_shape, states), x.dtype)
    mean, pull, variance = jax.vjp(step, _columns(x, states), blank, has_aux=True)
    by_x, by_noise = pull(jnp.eye(states, dtype=x.dtype))
    by_noise = by_noise.reshape(-1, states)
    return mean[:, 0], by_x.T, jnp.diag(variance[:, 0]) + by_noise.T @ by_noise


def _bounded(P: Float[Array, "rows rows"]) -> Float[Array, "rows rows"]:
    """With standard deviations that stay finite, however long an unstable model runs unseen."""
    variance = jnp.diagonal(P)
    shrunk = FARTHEST / jnp.sqrt(jnp.maximum(variance, FARTHEST**2))
    return P * (shrunk[:, None] * shrunk[None])


def _columns(values: Float[Array, " rows"], n: int) -> Float[Array, "rows n"]:
    return jnp.broadcast_to(values[:, None], (len(values), n))


def _sees(rows: int, outputs: int, dtype: jnp.dtype) -> Float[Array, "outputs rows"]:
    """H = (C I)."""
    eye = jnp.eye(outputs, rows - outputs, dtype=dtype)
    return jnp.concatenate([eye, jnp.eye(outputs, dtype=dtype)], axis=1)
