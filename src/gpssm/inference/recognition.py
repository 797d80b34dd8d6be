"""q(x[1] given y[1:t'], u[1:t']): a Gaussian over the first state from a warm-up.

All kinds start from what `output` says, x[1] = (y[1], μ1), and the networks learn a correction.
`smoother` is not here: it takes x̃[1] of the backward pass and needs no network.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.model import StateSpaceModel

from .sequences import Sequences

Kind = Literal["output", "mlp", "conv", "gru"]
_WIDTH = 32
_KERNEL_SIZE = 4


class Recognition(eqx.Module):
    """The network of a recognition model (none for `output`) and the linear read-out behind it."""

    encoder: eqx.Module | None
    readout: eqx.nn.Linear | None
    kind: Kind = eqx.field(static=True)
    warmup: int = eqx.field(static=True)


def make_recognition(
    key: PRNGKeyArray, kind: Kind, warmup: int, channels: int, dim_x: int
) -> Recognition:
    """A recognition model for `channels` = Du + Dy signals over `warmup` steps."""
    key_encoder, key_readout = jax.random.split(key)
    encoder: eqx.Module | None = None
    if kind == "mlp":
        encoder = eqx.nn.Linear(warmup * channels, _WIDTH, key=key_encoder)
    elif kind == "conv":
        size = min(_KERNEL_SIZE, warmup)
        encoder = eqx.nn.Conv1d(channels, _WIDTH, size, key=key_encoder)
    elif kind == "gru":
        encoder = eqx.nn.GRUCell(channels, _WIDTH, key=key_encoder)
    if encoder is None:
        return Recognition(None, None, kind, warmup)
    readout = eqx.nn.Linear(_WIDTH, 2 * dim_x, key=key_readout)
    # A small read-out: training starts from what `output` says.
    readout = jax.tree.map(lambda leaf: 0.1 * leaf, readout)
    return Recognition(encoder, readout, kind, warmup)


def _encode(recognition: Recognition, signals: Float[Array, "warmup channels"]) -> Array:
    encoder = recognition.encoder
    if recognition.kind == "mlp":
        return jnp.tanh(encoder(signals.ravel()))  # type: ignore[operator,misc]
    if recognition.kind == "conv":
        return jnp.mean(jnp.tanh(encoder(signals.T)), axis=1)  # type: ignore[operator,misc]
    # Backwards in time: what is nearest to x[1] is read last.
    start = jnp.zeros((_WIDTH,), signals.dtype)
    step = lambda carry, row: (encoder(row, carry), None)  # type: ignore[operator,misc]  # noqa: E731
    return jax.lax.scan(step, start, signals, reverse=True)[0]


def recognise(
    recognition: Recognition, model: StateSpaceModel, sequences: Sequences
) -> tuple[Float[Array, "states batch"], Float[Array, "states batch"]]:
    """Mean and variance of q(x[1])."""
    batch, dim_y = sequences.batch, model.dim_y
    hidden_mean = jnp.broadcast_to(model.initial.mean[dim_y:, None], (model.dim_hidden, batch))
    mean = jnp.concatenate([sequences.y[0], hidden_mean])
    variance = jnp.concatenate([model.emission.noise, model.initial.variance[dim_y:]])[:, None]
    variance = jnp.broadcast_to(variance, mean.shape)
    if recognition.readout is None:
        return mean, variance
    warmup = sequences.first(recognition.warmup)
    signals = jnp.concatenate([model.transition.dynamics.readable(warmup.y), warmup.u], axis=1)
    encoded = jax.vmap(lambda s: _encode(recognition, s), in_axes=-1, out_axes=-1)(signals)
    shift, log_scale = jnp.split(jax.vmap(recognition.readout, -1, -1)(encoded), 2)
    return mean + shift, variance * jnp.exp(log_scale)
