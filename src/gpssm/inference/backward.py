"""The backward pass: a second sparse GP f_b estimates the hidden components from the future.

    h[t] = h[t+1] + f_b(h[t+1], y[t+1], y[t], u[t])        x̃[t] = (y[t], h[t])

With equations of motion, these run backwards take the place of h[t+1] (see `look_back`).
It begins at the end of a sequence from N(μ1, Σ1). With a `lag` it runs in windows that do not
depend on each other, side by side: each begins `lag` steps ahead of the part that it delivers
(or at the end of the sequence), so the depth is about 2 · lag and not T.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.gp import Factor, Keys

from .checkpointing import checkpointed
from .family import System
from .sequences import Sequences, repeat_particles

_LOG_2_PI_E = math.log(2.0 * math.pi * math.e)


class BackwardPass(NamedTuple):
    """h[1:T] for every particle, and Σt H[h[t] given h[t+1]] averaged over the particles."""

    hidden: Float[Array, "time hidden n"]
    entropy: Float[Array, ""]


class WindowPlan(NamedTuple):
    """Window w begins at `begins[w]`, runs `depth` steps back, and delivers `chunk` of them.

    The last window begins at the end of the sequence and delivers all of its steps.
    """

    begins: np.ndarray
    depth: int
    chunk: int

    @property
    def windows(self) -> int:
        """Number of windows side by side."""
        return len(self.begins)


def plan_windows(length: int, lag: int | None) -> WindowPlan:
    """Windows of equal depth, near 2 · lag: none idles, and few steps are computed twice."""
    if lag is None or length <= 2 * lag:
        return WindowPlan(np.array([length - 1]), length, length)
    chunk = math.ceil((length - lag) / max(1, round(length / lag - 1.0)))
    count = math.ceil((length - lag) / chunk)
    begins = np.minimum((np.arange(count) + 1) * chunk + lag, length) - 1
    return WindowPlan(begins, chunk + lag, chunk)


def backward_pass(keys: Keys, system: System, factor: Factor, sequences: Sequences) -> BackwardPass:
    """Runs f_b from the end to the start of every sequence."""
    config, particles = system.config, system.config.particles
    dynamics = system.model.transition.dynamics
    plan = plan_windows(sequences.length, config.lag)
    keys_draw, keys_begin, keys_noise = keys.split(3)
    draw = config.draw.start(keys_draw, factor, particles).tile(plan.windows)
    begin = _begin(keys_begin, system, plan.windows)
    signals = _window_signals(sequences, plan, config.smoother_sees_next_output)
    noise_dims = 1 if config.noise_draw == "shared" else begin.shape[0]
    noise = keys_noise.normal((plan.depth - 1, noise_dims, plan.windows), particles, begin.dtype)
    noise = noise.reshape(plan.depth - 1, noise_dims, begin.shape[1])

    def step(h: Array, inputs: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        signal, eps = inputs
        before, seen = dynamics.look_back(h, repeat_particles(signal, particles))
        mean, variance = dynamics.moments_back(before, *config.draw.evaluate(factor, draw, seen))
        # The variance of a pathwise draw is zero, where the square root has no derivative.
        variance = jnp.maximum(variance, jnp.finfo(variance.dtype).tiny)
        h = mean + jnp.sqrt(variance) * eps
        return h, (h, _entropy(variance))

    step = checkpointed(step, factor, plan.depth * begin.shape[1])
    _, (rest, entropies) = jax.lax.scan(step, begin, (signals, noise))
    hidden = jnp.concatenate([begin[None], rest])
    begin_variance = jnp.broadcast_to(_begin_variance(system)[:, None], begin.shape)
    entropies = jnp.concatenate([_entropy(begin_variance)[None], entropies])
    delivered = _deliver(entropies[:, None], plan, sequences.length)
    smoothed = _deliver(hidden, plan, sequences.length)
    return BackwardPass(smoothed, jnp.sum(jnp.mean(delivered, axis=-1)))


def _entropy(variance: Float[Array, "hidden n"]) -> Float[Array, " n"]:
    """Σ ½ log(2πe v); none for a draw of f that leaves nothing random."""
    random = variance > jnp.finfo(variance.dtype).tiny
    return 0.5 * jnp.sum(jnp.where(random, _LOG_2_PI_E + jnp.log(variance), 0.0), axis=0)


def _begin_variance(system: System) -> Float[Array, " hidden"]:
    return system.model.initial.variance[system.model.dim_y :]


def _begin(keys: Keys, system: System, windows: int) -> Float[Array, "hidden n"]:
    """The hidden components of N(μ1, Σ1), for every window."""
    mean = system.model.initial.mean[system.model.dim_y :, None]
    std = jnp.sqrt(_begin_variance(system))[:, None]
    noise = keys.normal((mean.shape[0], windows), system.config.particles, mean.dtype)
    return mean + std * noise.reshape(mean.shape[0], -1)


def _window_signals(
    sequences: Sequences, plan: WindowPlan, sees_next_output: bool
) -> Float[Array, "steps signals windows_batch"]:
    """(y[t+1], y[t], u[t]) at the steps of every window, windows and batch along the last axis."""
    t = plan.begins[None, :] - 1 - np.arange(plan.depth - 1)[:, None]
    parts = [sequences.y[t], sequences.u[t]]
    if sees_next_output:
        parts.insert(0, sequences.y[t + 1])
    signals = jnp.swapaxes(jnp.concatenate(parts, axis=2), 1, 2)
    # The size by name: a sequence of one step has no signals, and 0 · -1 could be anything.
    return signals.reshape(*signals.shape[:2], plan.windows * sequences.y.shape[2])


def _deliver(values: Array, plan: WindowPlan, length: int) -> Array:
    """[depth, D, windows · n] in the order of each window → [time, D, n]."""
    depth, dim = values.shape[:2]
    windows = values.reshape(depth, dim, plan.windows, -1)
    inner_steps = (plan.windows - 1) * plan.chunk
    last = windows[: length - inner_steps, :, -1][::-1]
    # An inner window delivers its last `chunk` steps; time runs against the window.
    inner = windows[depth - plan.chunk :, :, :-1][::-1] if plan.windows > 1 else windows[:0, :, :0]
    inner = jnp.moveaxis(inner, 2, 0).reshape(inner_steps, dim, last.shape[-1])
    return jnp.concatenate([inner, last])
