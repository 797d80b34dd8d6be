"""Forecasts from where a belief is, open loop with the model's own noises."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from gpssm.base.memory import check_memory
from gpssm.inference import System
from gpssm.inference.rollout import go_on
from gpssm.metrics import Forecast

from .fitted_model import FittedModel

_SHORTEST = 16  # rows of a rollout: shorter ones are cut from it
_BYTES_OF_A_STATE = 4.0
_BYTES = 4.0 + 8.0  # of a number in a rollout, and of an output that is kept


def forecasts(
    model: FittedModel,
    z: Float[np.ndarray, "plants rows n"],
    u: Float[np.ndarray, "plants time inputs"],
    seed: int,
) -> tuple[Forecast, ...]:
    """The outputs after each row of u, which acts on z first; the same draws for every plant."""
    (plants, steps, _), n = u.shape, z.shape[-1]
    _check(plants, _length(steps), n, model.dim_x)
    inputs = np.zeros((plants, _length(steps) + 1, u.shape[-1]))
    inputs[:, :steps] = u
    x, d = z[:, : model.dim_x], z[:, model.dim_x :]
    with jax.enable_x64(True):
        system = model.system.with_particles(n)
        arrays = (jnp.asarray(each, model.dtype) for each in (x, inputs))
        paths = np.asarray(_rollouts(jax.random.key(seed), system, *arrays))
        noise = np.sqrt(np.asarray(model.system.model.emission.noise))
    outputs = paths[:, 1 : steps + 1, : model.dim_y].astype(np.float64) + d[:, None]
    y = np.asarray(model.normalisation.y_mean_back(np.moveaxis(outputs, -1, 1)))
    std = np.asarray(model.normalisation.y_std_back(noise))
    return tuple(Forecast(each, std, seed, 0, model.output_names) for each in y)


@eqx.filter_jit
def _rollouts(
    key: Array,
    system: System,
    x: Float[Array, "plants states n"],
    u: Float[Array, "plants time controls"],
) -> Float[Array, "plants time states n"]:
    part = jnp.zeros((), jnp.int32)

    def one(plant: tuple[Array, Array]) -> Array:
        start, inputs = plant
        return go_on(key, system, start, inputs[..., None], part)

    return jax.lax.map(one, (x, u))


def gaussian_draws(
    rng: np.random.Generator, mean: np.ndarray, covariance: np.ndarray, count: int
) -> Float[np.ndarray, "*plants rows count"]:
    """From N(mean, covariance), whose covariance may have no full rank."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    return mean[..., None] + root @ rng.standard_normal((mean.shape[-1], count))


def even_choice(rng: np.random.Generator, members: int, count: int) -> Int[np.ndarray, " count"]:
    """Every member about equally often, in random order."""
    chosen = np.resize(rng.permutation(members), count)
    return rng.permutation(chosen)


def check_state(plants: int, particles: int, rows: int) -> None:
    """Raise if the members of all plants do not fit into memory, before and after a row."""
    what = f"{plants} plants × {particles} particles × {rows} states and outputs"
    remedy = "Reduce particles, or hold fewer plants in one belief."
    check_memory(2 * _BYTES_OF_A_STATE * plants * particles * rows, what, remedy)


def _length(steps: int) -> int:
    """The next power of two: so few lengths have a compiled program of their own."""
    return max(_SHORTEST, 1 << (steps - 1).bit_length())


def _check(plants: int, steps: int, particles: int, states: int) -> None:
    what = f"a forecast of {plants} plants × {particles} particles × {steps} steps"
    needed = _BYTES * plants * particles * steps * states
    check_memory(needed, what, "Reduce particles, or forecast fewer steps or plants at a time.")
