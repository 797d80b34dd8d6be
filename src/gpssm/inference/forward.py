"""The forward pass: the model's prediction, conditioned at every step on a target."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from gpssm.gp import Factor, Keys
from gpssm.model import gaussian_kl

from .checkpointing import checkpointed
from .conditioning import soft_condition
from .family import Model, System
from .sequences import Sequences, repeat_particles

LEFT = 100.0  # spreads of the data: a trajectory out there has left them


class ForwardPass(NamedTuple):
    """x[1:T] for every particle, and Σt KL(q(x[t+1])‖p(x[t+1])) averaged over the particles."""

    x: Float[Array, "time states n"]
    state_kl: Float[Array, ""]


class Target(NamedTuple):
    """x̃[1:T] for every particle: the outputs, then the smoothed hidden components."""

    values: Float[Array, "time rows n"]
    known: Bool[Array, "time rows n"]


def make_target(
    sequences: Sequences, hidden: Float[Array, "time hidden n"], conditioned: int, config: Model
) -> Target:
    """The first `conditioned` steps are conditioned on; the rest is open loop.

    A hidden component counts where the backward pass has seen `lookahead` later outputs.
    """
    time = jnp.arange(sequences.length)[:, None, None]
    known = repeat_particles(sequences.mask & (time < conditioned), config.particles)
    trusted = min(conditioned, sequences.length - config.lookahead)
    hidden_known = jnp.broadcast_to(time < trusted, hidden.shape)
    return Target(
        jnp.concatenate([repeat_particles(sequences.y, config.particles), hidden], axis=1),
        jnp.concatenate([known, hidden_known], axis=1),
    )


def forward_pass(
    keys: Keys,
    system: System,
    factor: Factor,
    x1: Float[Array, "states n"],
    u: Float[Array, "time controls batch"],
    target: Target | None,
    part: Int[Array, ""] | None = None,
    bounded: bool = False,
) -> ForwardPass:
    """Run the dynamics from x[1] to the end; without a target, open loop on the prior.

    All parts of a long trajectory draw the same functions, and each has noise of its own. In
    training states are `bounded`: a trajectory that has left the data stops at the border, so that
    it costs nothing more and has no gradient, and long sequences can be used from the first step.
    """
    config = system.config
    keys_draw, keys_noise = keys.split(2)
    keys_noise = keys_noise if part is None else keys_noise.fold_in(part + 1)
    draw = config.draw.start(keys_draw, factor, config.particles)
    noise_dims = 1 if config.noise_draw == "shared" else x1.shape[0]
    noise = keys_noise.normal((u.shape[0] - 1, noise_dims), config.particles, x1.dtype)
    dynamics, process_noise = system.model.transition.dynamics, system.model.transition.noise
    parameters = dynamics.start(keys_draw, config.particles)
    target_noise = system.target_noise[:, None]

    def step(x: Array, inputs: tuple[Array, Target | None, Array]) -> tuple[Array, tuple]:
        u, goal, eps = inputs
        # prediction; for the black box m⁻ = x + E f, v⁻ = Var f + Σx
        u = repeat_particles(u, config.particles)
        f_moments = config.draw.evaluate(factor, draw, dynamics.seen(x, u))
        mean, variance = dynamics.moments(parameters, x, u, *f_moments)
        prior = mean, variance + process_noise[:, None]
        # conditioning on the target x̃[t+1]
        mean, variance = prior if goal is None else _condition(system, prior, goal, target_noise)
        there = jnp.all(jnp.abs(x) < LEFT, axis=0) if bounded else None
        x = dynamics.settle(mean + jnp.sqrt(variance) * eps)
        x = jnp.clip(x, -LEFT, LEFT) if bounded else x
        kl = jnp.zeros((), x.dtype) if goal is None else _mean_kl(mean, variance, prior, there)
        return x, (x, kl)

    goals = None if target is None else jax.tree.map(lambda leaf: leaf[1:], target)
    step = checkpointed(step, factor, u.shape[0] * x1.shape[1])
    _, (rest, kl) = jax.lax.scan(step, x1, (u[:-1], goals, noise))
    return ForwardPass(jnp.concatenate([x1[None], rest]), jnp.sum(kl))


def _condition(
    system: System, prior: tuple[Array, Array], goal: Target, noise: Array
) -> tuple[Array, Array]:
    """Soft conditioning; with no backward pass only the observed components are corrected."""
    rows, config = goal.values.shape[0], system.config
    mean, variance = (moment[:rows] for moment in prior)
    settings = config.k, config.inflate_noise
    mean, variance = soft_condition(mean, variance, goal.values, noise, goal.known, *settings)
    if rows == prior[0].shape[0]:
        return mean, variance
    return jnp.concatenate([mean, prior[0][rows:]]), jnp.concatenate([variance, prior[1][rows:]])


def _mean_kl(
    mean: Array, variance: Array, prior: tuple[Array, Array], there: Array | None
) -> Float[Array, ""]:
    """KL(q(x[t+1])‖p(x[t+1])), summed over the states, averaged over the particles.

    Those that have left the data count as zero.
    """
    kl = jnp.sum(gaussian_kl(mean, variance, *prior), axis=0)
    return jnp.mean(kl if there is None else jnp.where(there, kl, 0.0))
