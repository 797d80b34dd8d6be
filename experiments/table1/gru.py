"""A GRU state-space model: the black box that one would try first.

    y[t] ~ N(readout(h[t]), σ²)        h[t+1] = GRU(h[t], (u[t], v[t]))        h[1] = start(y[1])

v[t] is the measured y[t] during the warm-up and the model's own prediction after it, in training
as in the forecast. It sees the same windows as the Gaussian processes.
"""

from collections.abc import Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from pydantic import Field

from gpssm.base.settings import Settings
from gpssm.data import Dataset, Normalisation, Windows, batch, make_windows
from gpssm.metrics import Forecast
from gpssm.training.progress import ProgressFactory, silent

_CHUNK = 50  # gradient steps per dispatch


class GruSettings(Settings):
    """The network, its training, and the windows that it sees."""

    width: int = Field(12, ge=1, description="size of h")
    steps: int = Field(2000, ge=1, description="gradient steps")
    learning_rate: float = Field(0.01, gt=0, description="highest learning rate of Adam")
    clip_norm: float = Field(1.0, gt=0, description="largest norm of a gradient")
    warmup: int = Field(16, ge=1, description="outputs that are read before the open loop")
    batch_size: int = Field(10, ge=1, description="sequences per step")
    sequence_length: int = Field(50, ge=2, description="time steps per sequence")
    stride: int = Field(1, ge=1, description="rows between the starts of two sequences")


class Gru(eqx.Module):
    start: eqx.nn.Linear
    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear
    log_std: Float[Array, " outputs"]


def make_gru(key: PRNGKeyArray, dim_u: int, dim_y: int, width: int) -> Gru:
    keys = jax.random.split(key, 3)
    gru = Gru(
        eqx.nn.Linear(dim_y, width, key=keys[0]),
        eqx.nn.GRUCell(dim_u + dim_y, width, key=keys[1]),
        eqx.nn.Linear(width, dim_y, key=keys[2]),
        jnp.zeros(dim_y),
    )
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), gru)


def width_for(parameters: int, dim_u: int, dim_y: int) -> int:
    """The width whose number of parameters is nearest to the one given."""

    def count(width: int) -> int:
        return 3 * width * (dim_u + dim_y + width) + 4 * width + width + 2 * width * dim_y

    return min(range(1, 512), key=lambda width: abs(count(width) + 2 * dim_y - parameters))


def roll(
    gru: Gru,
    u: Float[Array, "time inputs"],
    y: Float[Array, "time outputs"],
    seen: Bool[Array, "time outputs"],
) -> Float[Array, "time outputs"]:
    """E y[t]; where an output is not seen, the model goes on from its own prediction."""

    def step(h: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        u, y, seen = row
        mean = gru.readout(h)
        return gru.cell(jnp.concatenate([u, jnp.where(seen, y, mean)]), h), mean

    return jax.lax.scan(step, jnp.tanh(gru.start(y[0])), (u, y, seen))[1]


_compiled_roll = eqx.filter_jit(roll)


def negative_log_likelihood(gru: Gru, u: Array, y: Array, mask: Array, warmup: int) -> Array:
    """Per measured output of one sequence, the warm-up included."""
    seen = mask & (jnp.arange(len(y)) < warmup)[:, None]
    scaled = (y - roll(gru, u, y, seen)) * jnp.exp(-gru.log_std)[None, :]
    density = -0.5 * scaled**2 - gru.log_std[None, :] - 0.5 * jnp.log(2.0 * jnp.pi)
    return -jnp.sum(jnp.where(mask, density, 0.0)) / jnp.maximum(jnp.sum(mask), 1)


class FittedGru:
    """One trained network with the units of its data."""

    def __init__(self, gru: Gru, normalisation: Normalisation) -> None:
        self.gru, self.normalisation = gru, normalisation

    @property
    def parameters(self) -> int:
        return sum(leaf.size for leaf in jax.tree.leaves(self.gru))

    def predict(self, u: np.ndarray, y_warmup: np.ndarray) -> Forecast:
        y = np.full((len(u), y_warmup.shape[1]), np.nan)
        y[: len(y_warmup)] = self.normalisation.y(y_warmup)
        seen = ~np.isnan(y)
        inputs = jnp.asarray(self.normalisation.u(u), jnp.float32)
        known = jnp.asarray(np.where(seen, y, 0.0), jnp.float32)
        mean = np.asarray(_compiled_roll(self.gru, inputs, known, jnp.asarray(seen)), np.float64)
        back, std = self.normalisation, np.exp(np.asarray(self.gru.log_std, np.float64))
        return Forecast(
            np.asarray(back.y_mean_back(mean[None])),
            np.asarray(back.y_std_back(std)),
            warmup=len(y_warmup),
        )


def fit_gru(
    data: Dataset,
    settings: GruSettings,
    seeds: Sequence[int],
    progress: ProgressFactory = silent,
) -> list[FittedGru]:
    """One network per seed, all trained in one program."""
    normalisation = Normalisation.of(data)
    windows = make_windows(
        data, normalisation, settings.sequence_length, settings.stride, jnp.float32
    )
    keys = jnp.stack([jax.random.split(jax.random.key(seed)) for seed in seeds])
    make = partial(make_gru, dim_u=data.dim_u, dim_y=data.dim_y, width=settings.width)
    networks = eqx.filter_vmap(make)(keys[:, 0])
    state = networks, eqx.filter_vmap(_optimiser(settings).init)(networks)
    with progress("gru", settings.steps) as shown:
        for done in range(0, settings.steps, _CHUNK):
            count = min(_CHUNK, settings.steps - done)
            # Arrays, not numbers: those would be compiled in.
            span = jnp.asarray(done), jnp.asarray(count)
            state, loss = _train(state, windows, keys[:, 1], *span, settings)
            shown.update(done + count, {"loss": float(loss.mean())})
    each = [jax.tree.map(lambda leaf, i=i: leaf[i], state[0]) for i in range(len(seeds))]
    return [FittedGru(gru, normalisation) for gru in each]


def _optimiser(settings: GruSettings) -> optax.GradientTransformation:
    rate = optax.cosine_decay_schedule(settings.learning_rate, settings.steps)
    return optax.chain(optax.clip_by_global_norm(settings.clip_norm), optax.adam(rate))


@eqx.filter_jit
def _train(
    state: tuple[Gru, optax.OptState],
    windows: Windows,
    keys: Array,
    first: Array,
    count: Array,
    settings: GruSettings,
) -> tuple[tuple[Gru, optax.OptState], Array]:
    """`count` steps of every seed; the losses are those of the last one."""
    one = jax.vmap(partial(_step, settings=settings), in_axes=(0, None, 0, None))

    def body(i: Array, carry: tuple) -> tuple:
        return one(carry[0], windows, keys, first + i)

    blank = jnp.zeros(keys.shape, jnp.float32)
    return jax.lax.fori_loop(0, count, body, (state, blank))


def _step(
    state: tuple[Gru, optax.OptState],
    windows: Windows,
    key: PRNGKeyArray,
    step: Array,
    settings: GruSettings,
) -> tuple[tuple[Gru, optax.OptState], Array]:
    gru, optimiser = state
    rows = batch(windows, settings.sequence_length, key, step, settings.batch_size)

    def loss(gru: Gru) -> Array:
        each = jax.vmap(negative_log_likelihood, in_axes=(None, 0, 0, 0, None))
        return jnp.mean(each(gru, *rows, settings.warmup))

    value, gradient = jax.value_and_grad(loss)(gru)
    update, optimiser = _optimiser(settings).update(gradient, optimiser, gru)
    return (optax.apply_updates(gru, update), optimiser), value
