"""One gradient step: (state, windows, key) → (state, info), a pure function."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from gpssm.data import Windows, batch
from gpssm.gp import Keys, make_keys
from gpssm.inference import Elbo, Sequences, System, Weights, elbo
from gpssm.inference.sequences import from_batch_first

from .devices import over_devices
from .settings import Training


class TrainingState(NamedTuple):
    """All that changes from step to step, and all that a restart needs."""

    system: System
    average: System
    optimiser: optax.OptState
    step: Int[Array, ""]
    skipped: Int[Array, ""]


class StepInfo(NamedTuple):
    """What one step tells: the terms of the ELBO, and how the step went."""

    elbo: Elbo
    gradient_norm: Float[Array, ""]
    learning_rate: Float[Array, ""]
    skipped: Bool[Array, ""]


def learning_rate_schedule(training: Training) -> optax.Schedule:
    """Linear warm-up, then constant or a cosine to zero."""
    rise = min(training.warmup_steps, max(training.steps - 1, 0))
    if training.schedule == "constant":
        constant = optax.constant_schedule(training.learning_rate)
        return optax.join_schedules(
            [optax.linear_schedule(0.0, training.learning_rate, rise), constant], [rise]
        )
    return optax.warmup_cosine_decay_schedule(0.0, training.learning_rate, rise, training.steps)


def make_optimiser(training: Training) -> optax.GradientTransformation:
    """Directions of Adam on clipped gradients; the step scales them by the learning rate.

    So the schedule follows the number of steps, also after one that was skipped.
    """
    return optax.chain(
        optax.clip_by_global_norm(training.clip_norm), optax.scale_by_adam(), optax.scale(-1.0)
    )


def start(system: System, training: Training) -> TrainingState:
    """The state before the first step."""
    zero = jnp.zeros((), jnp.int32)
    return TrainingState(system, system, make_optimiser(training).init(system), zero, zero)


def train_step(
    state: TrainingState,
    windows: Windows,
    key: PRNGKeyArray,
    training: Training,
    weights: Weights,
    mesh: Mesh,
) -> tuple[TrainingState, StepInfo]:
    """One step of Adam on the negative ELBO per time step of one batch.

    The batch and the noise are functions of (key, step). A step whose loss or gradient is not
    finite changes nothing but the counters.
    """
    key_batch, key_noise = jax.random.split(key)
    length = training.sequence_length
    u, y, mask = batch(windows, length, key_batch, state.step, training.batch_size)
    keys = make_keys(jax.random.fold_in(key_noise, state.step), training.batch_size)

    def loss(system: System, keys: Keys, sequences: Sequences) -> tuple[Array, Elbo]:
        terms = elbo(keys, system, sequences, weights)
        return -terms.total / length, terms

    def gradient_of(system: System, keys: Keys, sequences: Sequences) -> tuple[Elbo, System]:
        gradient, terms = jax.grad(loss, has_aux=True)(system, keys, sequences)
        return terms, gradient

    sequences = from_batch_first(u, y, mask)
    terms, gradient = over_devices(gradient_of, mesh)(state.system, keys, sequences)
    norm = optax.tree.norm(gradient)
    finite = jnp.isfinite(terms.total) & jnp.isfinite(norm)
    rate = jnp.asarray(learning_rate_schedule(training)(state.step))
    new_state = _move(state, gradient, rate, finite, training)
    return new_state, StepInfo(_per_time_step(terms, length), norm, rate, ~finite)


def _per_time_step(terms: Elbo, length: int) -> Elbo:
    """What sums over time becomes an average over it; the KL of the inducing values stays."""
    average = jax.tree.map(lambda term: term / length, terms)
    return average._replace(inducing_kl=terms.inducing_kl, smoother_kl=terms.smoother_kl)


def _move(
    state: TrainingState,
    gradient: System,
    rate: Float[Array, ""],
    finite: Bool[Array, ""],
    training: Training,
) -> TrainingState:
    """The state after a step, or the old one with another count where it was not finite."""
    direction, optimiser = make_optimiser(training).update(gradient, state.optimiser, state.system)
    system = jax.tree.map(lambda leaf, d: leaf + rate * d, state.system, direction)
    # A young average forgets its start: memory t/(t+10) until it reaches the one asked for.
    memory = jnp.minimum(training.average, state.step / (state.step + 10.0))
    average = jax.tree.map(lambda a, s: memory * a + (1.0 - memory) * s, state.average, system)
    moved = (system, average, optimiser)
    kept = (state.system, state.average, state.optimiser)
    system, average, optimiser = jax.tree.map(lambda a, b: jnp.where(finite, a, b), moved, kept)
    return TrainingState(
        system, average, optimiser, state.step + 1, state.skipped + (~finite).astype(jnp.int32)
    )
