"""Open-loop forecasts from many starts of one experiment, all in one program."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import gpssm
from gpssm.data import Experiment
from gpssm.inference import System
from gpssm.inference.rollout import predict
from gpssm.inference.sequences import from_batch_first

Stretches = tuple[np.ndarray, np.ndarray]  # u and y, [starts, warmup + horizon, channels]


def cut(experiment: Experiment, warmup: int, horizon: int, every: int) -> Stretches:
    """Stretches of a warm-up and a horizon, `every` so many rows."""
    length = warmup + horizon
    starts = np.arange(0, len(experiment) - length + 1, every)
    rows = starts[:, None] + np.arange(length)[None]
    return experiment.u[rows], experiment.y[rows]


def forecast(run: gpssm.Run, stretches: Stretches, warmup: int, particles: int = 16) -> np.ndarray:
    """Means of the outputs [starts, warmup + horizon, outputs] that see the warm-up alone."""
    u, y = stretches
    dtype, config = run.training.dtype, run.model.replace(particles=particles)
    with jax.enable_x64(True):
        system = System(run.system.model, run.system.posterior, config)
        inputs = jnp.asarray(run.normalisation.u(u), dtype)
        seen = jnp.asarray(run.normalisation.y(y[:, :warmup]), dtype)
        first = from_batch_first(inputs[:, :warmup], seen, jnp.ones(seen.shape, bool))
        inputs = jnp.transpose(inputs, (1, 2, 0))
        x = np.asarray(predict(jax.random.key(0), system, inputs, first, warmup), np.float64)
    outputs = x[:, : y.shape[-1]].reshape(x.shape[0], y.shape[-1], len(u), particles)
    return np.asarray(run.normalisation.y_mean_back(outputs.mean(axis=-1).transpose(2, 0, 1)))


def errors_at(
    forecasts: np.ndarray,
    truth: np.ndarray,
    rows: dict[str, int],
    size: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> dict[str, float]:
    """Root mean square over the starts of `size(forecast, truth)`, at some rows by name."""
    return {
        name: float(np.sqrt(np.mean(np.square(size(forecasts[:, row], truth[:, row])))))
        for name, row in rows.items()
    }


def distance(forecasts: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Between positions, the first three channels."""
    return np.linalg.norm(forecasts[:, :3] - truth[:, :3], axis=1)


def turn(forecasts: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Angle between attitudes, quaternions in the channels 3 to 6."""
    p, q = (
        each[:, 3:7] / np.linalg.norm(each[:, 3:7], axis=1)[:, None] for each in (forecasts, truth)
    )
    return 2.0 * np.arccos(np.clip(np.abs(np.sum(p * q, axis=1)), 0.0, 1.0))
