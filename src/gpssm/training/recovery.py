"""Recovery from steps that are not finite: skip, roll back, reduce the step, stop.

All of it is part of the compiled step, for each seed alone, and of the checkpoints.
"""

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from gpssm.inference import System

Tree = TypeVar("Tree")

IN_A_ROW = 10  # steps that are not finite, after which training goes back
ROLLBACKS = 3  # after which training fails
_PROVEN = 25  # finite steps that must follow a snapshot before training goes back to it
_SMALLER = 0.1  # factor on the learning rate at each roll-back


class Snapshot(NamedTuple):
    """All that a gradient step moves."""

    system: System
    average: System
    optimiser: optax.OptState


class Recovery(NamedTuple):
    """Snapshots of one seed, and its number of roll-backs."""

    good: Snapshot
    candidate: Snapshot  # becomes the good one when enough finite steps have followed it
    finite_since: Int[Array, ""]
    in_a_row: Int[Array, ""]
    rollbacks: Int[Array, ""]
    rate_scale: Float[Array, ""]
    failed_at: Int[Array, ""]  # the step at which it failed; -1: it has not


def fresh_recovery(snapshot: Snapshot) -> Recovery:
    """Before the first step."""
    zero, one = jnp.zeros((), jnp.int32), jnp.ones(())
    return Recovery(snapshot, snapshot, zero, zero, zero, one, zero - 1)


def recover(
    recovery: Recovery, now: Snapshot, finite: Bool[Array, ""], step: Int[Array, ""]
) -> tuple[Recovery, Snapshot, Bool[Array, ""]]:
    """Update after a step: new recovery, new snapshot, and whether it was rolled back.

    After a failure the state stays as it is, so that its gradient can be examined.
    """
    in_a_row = jnp.where(finite, 0, recovery.in_a_row + 1)
    lost = in_a_row >= IN_A_ROW
    back, give_up = lost & (recovery.rollbacks < ROLLBACKS), lost & (recovery.failed_at < 0)
    # After a failure nothing changes: later finite batches prove nothing.
    finite_since = recovery.finite_since + (finite & (recovery.failed_at < 0))
    proven = finite_since >= _PROVEN
    good = choose(proven, recovery.candidate, recovery.good)
    now = choose(back, good, now)
    renewed = proven | back
    after = Recovery(
        good,
        choose(renewed, now, recovery.candidate),
        jnp.where(renewed, 0, finite_since),
        jnp.where(back, 0, in_a_row),
        recovery.rollbacks + back,
        jnp.where(back, _SMALLER * recovery.rate_scale, recovery.rate_scale),
        jnp.where(give_up & ~back, step, recovery.failed_at),
    )
    return after, now, back


def choose(condition: Bool[Array, ""], yes: Tree, no: Tree) -> Tree:
    """One of two trees of the same shape."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
