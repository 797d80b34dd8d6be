"""The training loop: many gradient steps per dispatch, several seeds at once, one compilation."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, Key

from gpssm.data import Windows
from gpssm.inference import System, Weights

from .checkpoints import Checkpoints, Saved
from .devices import make_mesh
from .history import History
from .progress import ProgressFactory, silent
from .settings import Training
from .signals import StopRequest, stop, watch_signals
from .step import StepInfo, TrainingState, start, train_step

CHUNK = 25  # gradient steps per dispatch: enough to hide its cost, few enough for a lively bar


class TrainingResult(NamedTuple):
    """The averaged parameters, the last ones, and how training went."""

    average: System
    last: System
    history: History


def train(
    keys: Key[Array, " seeds"],
    systems: Sequence[System],
    windows: Windows,
    training: Training,
    progress: ProgressFactory = silent,
    devices: Sequence[jax.Device] | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[TrainingResult]:
    """Maximises the ELBO over the windows, from each of the systems, with the key of its own.

    With `checkpoints` it goes on from the newest one, and saves before a signal ends it.
    """
    config = systems[0].config
    weights = training.weights(config, windows.y.shape[0])
    mesh = make_mesh(training.batch_size, devices)
    state = _stack([start(system, training) for system in systems])
    saved = checkpoints.newest(state) if checkpoints else None
    state, infos = (saved.state, [saved.steps]) if saved else (state, [])
    with progress(config.name, training.steps) as shown, _watch(checkpoints) as request:
        while (done := int(state.step[0])) < training.steps:
            count = min(CHUNK, training.steps - done)
            state, info = run_chunk(
                state, windows, keys, jnp.asarray(count), training, weights, mesh
            )
            infos.append(jax.tree.map(lambda leaf, n=count: np.asarray(leaf)[:n], info))
            shown.update(done + count, _recent(infos[-1]))
            if checkpoints:
                _keep(checkpoints, state, infos, request, done + count == training.steps)
    steps = _concatenate(infos)
    return [_result(state, steps, i) for i in range(len(systems))]


def _watch(checkpoints: Checkpoints | None) -> AbstractContextManager[StopRequest]:
    """Without checkpoints there is nothing to save: signals act as usual."""
    return watch_signals() if checkpoints else nullcontext(StopRequest())


def _keep(
    checkpoints: Checkpoints,
    state: TrainingState,
    infos: list[StepInfo],
    request: StopRequest,
    finished: bool,
) -> None:
    """A checkpoint where one is due, at the end, and before a signal ends the training."""
    step = int(state.step[0])
    if finished or request.number is not None or checkpoints.due(step):
        checkpoints.save(step, Saved(state, _concatenate(infos)))
    if request.number is not None and not finished:
        stop(request.number, step, checkpoints.run_dir)


@eqx.filter_jit
def run_chunk(
    state: TrainingState,
    windows: Windows,
    keys: Key[Array, " seeds"],
    count: Int[Array, ""],
    training: Training,
    weights: Weights,
    mesh: Mesh,
) -> tuple[TrainingState, StepInfo]:
    """`count` steps, at most CHUNK of them. The count is data: a shorter chunk is not compiled."""
    one = partial(train_step, training=training, weights=weights, mesh=mesh)
    seeds = jax.vmap(one, in_axes=(0, None, 0))
    step = lambda state: seeds(state, windows, keys)  # noqa: E731
    shapes = jax.eval_shape(step, state)[1]
    blank = jax.tree.map(lambda leaf: jnp.zeros((CHUNK, *leaf.shape), leaf.dtype), shapes)

    def body(i: Array, carry: tuple[TrainingState, StepInfo]) -> tuple[TrainingState, StepInfo]:
        state, infos = carry
        state, info = step(state)
        return state, jax.tree.map(lambda all, one: all.at[i].set(one), infos, info)

    return jax.lax.fori_loop(0, count, body, (state, blank))


def _concatenate(infos: Sequence[StepInfo]) -> StepInfo:
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *infos)


def _stack(states: Sequence[TrainingState]) -> TrainingState:
    """Several seeds along a new first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def _result(state: TrainingState, steps: StepInfo, seed: int) -> TrainingResult:
    mine = jax.tree.map(lambda leaf: leaf[seed], state)
    history = History.of(jax.tree.map(lambda leaf: leaf[:, seed], steps))
    return TrainingResult(mine.average, mine.system, history)


def _recent(info: StepInfo) -> dict[str, float]:
    """Averages over a chunk and all seeds, for the eye."""
    terms = info.elbo
    return {
        "elbo": float(np.mean(terms.total)),
        "fit": float(np.mean(terms.log_likelihood)),
        "kl_x": float(np.mean(terms.state_kl)),
        "kl_u": float(np.mean(terms.inducing_kl + terms.smoother_kl)),
    }
