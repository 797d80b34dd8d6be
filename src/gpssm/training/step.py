"""One gradient step: (state, batch, key) → (state, info), a pure function."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from gpssm.data import Rows
from gpssm.gp import Keys, make_keys
from gpssm.inference import Elbo, Sequences, System, Weights, elbo
from gpssm.inference.sequences import from_batch_first

from .devices import over_devices
from .flat import Flat
from .groups import scale_groups
from .recovery import Recovery, Snapshot, choose, fresh_recovery, recover
from .settings import Training


class TrainingState(NamedTuple):
    """All that changes from step to step, and all that a restart needs."""

    system: System
    average: System
    optimiser: optax.OptState
    step: Int[Array, ""]
    skipped: Int[Array, ""]
    recovery: Recovery


class StepInfo(NamedTuple):
    """Info of one step: the terms of the ELBO, and whether it was accepted."""

    elbo: Elbo
    gradient_norm: Float[Array, ""]
    learning_rate: Float[Array, ""]
    rate_scale: Float[Array, ""]
    skipped: Bool[Array, ""]
    rolled_back: Bool[Array, ""]


class BatchedSettings(NamedTuple):
    """Settings of one run as arrays: runs that differ only in them train in one program."""

    learning_rate: Float[Array, ""]
    inducing_kl: Float[Array, ""]

    @classmethod
    def of(cls, training: Training) -> "BatchedSettings":
        """The values that `training` has for them."""
        return cls(*(jnp.asarray(getattr(training, name), float) for name in cls._fields))

    def scale(self, weights: Weights) -> Weights:
        """Scale the weights of a program to those of this run."""
        return weights._replace(inducing_kl=self.inducing_kl * weights.inducing_kl)


def without_batched(training: Training) -> Training:
    """Set the batched settings to one: a program is compiled for the others only."""
    return training.replace(**dict.fromkeys(BatchedSettings._fields, 1.0))


# What a step reads of its settings; the weights of the ELBO have the others that matter to it.
READ_BY_A_STEP = (
    "steps", "batch_size", "sequence_length", "rate_factors", "schedule", "warmup_steps",
    "clip_norm", "average", "kl_warmup_steps",
)  # fmt: skip


def read_by_a_step(training: Training) -> Training:
    """Leave all else at its default: trainings that differ in it share a program."""
    return Training(**{name: getattr(training, name) for name in READ_BY_A_STEP})


def no_steps(seeds: int) -> StepInfo:
    """The infos of all seeds before the first step: columns without rows."""
    number: Any = np.zeros((0, seeds))
    flag: Any = np.zeros((0, seeds), bool)
    elbo = Elbo(*[number] * len(Elbo._fields))
    return StepInfo(elbo, number, number, number, flag, flag)


def rate_schedule(training: Training) -> optax.Schedule:
    """Linear warm-up to 1, then constant or a cosine to zero: the share of the learning rate."""
    rise = min(training.warmup_steps, max(training.steps - 1, 0))
    if training.schedule == "constant":
        constant = optax.constant_schedule(1.0)
        return optax.join_schedules([optax.linear_schedule(0.0, 1.0, rise), constant], [rise])
    return optax.warmup_cosine_decay_schedule(0.0, 1.0, rise, training.steps)


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
    snapshot = Snapshot(system, system, make_optimiser(training).init(system))
    return TrainingState(*snapshot, zero, zero, fresh_recovery(snapshot))


def train_step(
    state: TrainingState,
    batch: Rows,
    key: PRNGKeyArray,
    batched: BatchedSettings,
    training: Training,
    weights: Weights,
    mesh: Mesh,
) -> tuple[TrainingState, StepInfo]:
    """One step of Adam on the negative ELBO per time step of one batch, the systems flat.

    The noise is a function of (key, step), as the batch was. A step whose loss or gradient is not
    finite changes nothing but the counters; many in a row lead back to an earlier state.
    """
    parameters: Any = state.system  # a Flat: see `run_chunk`
    terms, slopes = batch_gradient(
        parameters.system(), state.step, batch, key, training, batched.scale(weights), mesh
    )
    gradient = parameters.like(slopes)
    norm = optax.tree.norm(gradient)
    finite = jnp.isfinite(terms.total) & jnp.isfinite(norm)
    share = rate_schedule(training)(state.step) * state.recovery.rate_scale
    rate = batched.learning_rate * share
    moved = _move(state, gradient, rate, finite, training)
    recovery, now, back = recover(state.recovery, moved, finite, state.step)
    skipped = state.skipped + (~finite).astype(jnp.int32)
    per_step = _per_time_step(terms, training.sequence_length)
    info = StepInfo(per_step, norm, rate, state.recovery.rate_scale, ~finite, back)
    return TrainingState(*now, state.step + 1, skipped, recovery), info


def batch_gradient(
    system: System,
    step: Int[Array, ""],
    batch: Rows,
    key: PRNGKeyArray,
    training: Training,
    weights: Weights,
    mesh: Mesh,
) -> tuple[Elbo, System]:
    """The terms of the ELBO of one batch, and the gradient of its negative per time step."""
    key_noise = jax.random.split(key)[1]  # the first one draws the batches: see `batch_key`
    length = training.sequence_length
    keys = make_keys(jax.random.fold_in(key_noise, step), training.batch_size)

    def loss(
        system: System, keys: Keys, sequences: Sequences, weights: Weights
    ) -> tuple[Array, Elbo]:
        terms = elbo(keys, system, sequences, weights._replace(entropy=entropy))
        return -terms.total / length, terms

    sequences, share = from_batch_first(*batch), kl_share(step, training)
    entropy = weights.entropy  # not traced: without it there is nothing to compute
    now = weights._replace(
        state_kl=share * weights.state_kl, inducing_kl=share * weights.inducing_kl
    )
    gradient_of = over_devices(jax.grad(loss, has_aux=True), mesh)
    gradient, terms = gradient_of(system, keys, sequences, now)
    frozen = {name: factor for name, factor in training.rate_factors.items() if factor == 0}
    return terms, scale_groups(gradient, frozen)


def kl_share(step: Int[Array, ""], training: Training) -> Float[Array, ""]:
    """1/n, 2/n, …, 1: the share of their weights that the KLs have while they warm up."""
    return jnp.minimum((step + 1).astype(float) / max(training.kl_warmup_steps, 1), 1.0)


def _per_time_step(terms: Elbo, length: int) -> Elbo:
    """What sums over time becomes an average over it; the KLs of what is learned once stay."""
    average = jax.tree.map(lambda term: term / length, terms)
    once = ("inducing_kl", "smoother_kl", "parameter_kl")
    return average._replace(**{name: getattr(terms, name) for name in once})


def _move(
    state: TrainingState,
    gradient: Flat,
    rate: Float[Array, ""],
    finite: Bool[Array, ""],
    training: Training,
) -> Snapshot:
    """The state after a step; unchanged if the step is not finite or training has failed."""
    direction, optimiser = make_optimiser(training).update(gradient, state.optimiser, state.system)
    if training.rate_factors:
        direction = direction.like(scale_groups(direction.system(), training.rate_factors))
    system = jax.tree.map(lambda leaf, d: leaf + rate * d, state.system, direction)
    # A young average forgets its start: memory t/(t+10) until it reaches the one asked for.
    memory = jnp.minimum(training.average, state.step / (state.step + 10.0))
    # In this form the average of a parameter that never moves stays exactly as it is.
    average = jax.tree.map(lambda a, s: a + (1.0 - memory) * (s - a), state.average, system)
    kept = Snapshot(state.system, state.average, state.optimiser)
    moves = finite & (state.recovery.failed_at < 0)
    return choose(moves, Snapshot(system, average, optimiser), kept)
