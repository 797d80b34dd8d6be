"""The training loop: many gradient steps per dispatch, several seeds at once, one compilation."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, Key

from gpssm.data import Rows
from gpssm.inference import Model, System, Weights

from .batches import CHUNK, Chunk, Reader
from .checkpoints import Checkpoints
from .devices import brought_home, everywhere, kept_everywhere, make_mesh
from .flat import flatten_systems, restore_systems
from .groups import groups_not_finite
from .history import History
from .loop_state import Track, histories
from .phases import Phase, phase_at
from .processes import are_several, largest, lost_processes_explained, wait_for_all
from .progress import ProgressFactory, guarded, silent
from .settings import Training
from .signals import StopRequest, stop, stops_told, watch_signals
from .step import (
    BatchedSettings,
    StepInfo,
    TrainingState,
    batch_gradient,
    read_by_a_step,
    train_step,
    without_batched,
)
from .validation import Stretches

Tree = TypeVar("Tree")
Devices = Sequence[jax.Device] | None


class Failure(NamedTuple):
    """The step at which a seed failed, and the groups of parameters without finite gradient."""

    step: int
    groups: tuple[str, ...]


class TrainingResult(NamedTuple):
    """The averaged parameters (with validation the best ones), the last, and how it went."""

    average: System
    last: System
    history: History
    failure: Failure | None


def train(
    keys: Key[Array, " seeds"],
    systems: Sequence[System],
    phases: Sequence[Phase],
    progress: ProgressFactory = silent,
    devices: Devices = None,
    checkpoints: Checkpoints | None = None,
    stretches: Stretches | None = None,
    batched: Sequence[BatchedSettings] | None = None,
) -> list[TrainingResult]:
    """Maximises the ELBO over the windows, from each of the systems, with the key of its own.

    Each may have `batched` settings of its own; by default all have those of the phases.
    With `checkpoints` it goes on from the newest one, and saves before a signal ends it. With
    `stretches` of validation data it keeps the best parameters, and may end early.
    """
    training = phases[-1].training
    batched = batched or [BatchedSettings.of(training)] * len(systems)
    runs = Runs(keys, jax.tree.map(lambda *each: jnp.stack(each), *batched))
    track = Track.begin(systems, training)
    saved = checkpoints.newest(track.saved()) if checkpoints else None
    track = Track.resume(saved) if saved else track
    config = systems[0].config
    with (
        stops_told(),
        guarded(progress, config.name, training.steps) as shown,
        # Without checkpoints there is nothing to save: signals act as usual.
        watch_signals() if checkpoints else nullcontext(StopRequest()) as request,
        Reader(runs.keys, partial(_chunk, config, phases, devices)) as reader,
        lost_processes_explained(),
    ):
        run = Together() if are_several() else run_chunk
        while not track.ended(training):
            _advance(track, phases, runs, devices, stretches, reader, run)
            shown.update(track.step, track.shown)
            if checkpoints:
                _keep(checkpoints, track, request, track.ended(training))
        return _results(track, phases, runs, devices, reader)


class Runs(NamedTuple):
    """Settings in which runs differ, one entry per run."""

    keys: Key[Array, " runs"]
    batched: BatchedSettings


def _advance(
    track: Track,
    phases: Sequence[Phase],
    runs: Runs,
    devices: Devices,
    stretches: Stretches | None,
    reader: Reader,
    run: Callable[..., tuple[TrainingState, StepInfo]],
) -> None:
    """A chunk of steps, which ends where a phase does or a validation is due."""
    done, every = track.step, phases[-1].training.validate_steps
    phase = phase_at(phases, done)
    count = min(CHUNK, phase.until - done)
    if stretches is not None:
        count = min(count, every - done % every)
    arguments = _arguments(track.state.system.config, phase, devices)
    batches = reader.take(done)
    if done + count < phases[-1].until:
        reader.expect(done + count)
    state = everywhere(track.state, arguments[-1])
    state, info = run(state, batches, runs, jnp.asarray(count), *arguments)
    track.advance(state, jax.tree.map(lambda leaf: np.asarray(leaf)[:count], info))
    last = track.step == phases[-1].until
    if stretches is not None and (last or track.step % every == 0):
        track.validate(stretches, phases[-1].training)


def _arguments(config: Model, phase: Phase, devices: Devices) -> tuple[Training, Weights, Mesh]:
    """What a chunk of this phase is compiled for."""
    training = without_batched(phase.training)
    weights = _with_rows_as_data(training.weights(config, phase.rows))
    mesh = make_mesh(training.batch_size, config.particles, devices)
    return read_by_a_step(training), weights, mesh


def _with_rows_as_data(weights: Weights) -> Weights:
    """Those that depend on the number of rows as arrays: folds of all sizes share a program."""
    return weights._replace(
        inducing_kl=jnp.asarray(weights.inducing_kl), parameter_kl=jnp.asarray(weights.parameter_kl)
    )


def _chunk(config: Model, phases: Sequence[Phase], devices: Devices, step: int) -> Chunk:
    """What to read for the steps from this one on."""
    phase = phase_at(phases, step)
    training, _, mesh = _arguments(config, phase, devices)
    length = training.sequence_length
    return Chunk(phase.windows, training.batch_size, length, mesh, phase.recency)


def _keep(checkpoints: Checkpoints, track: Track, request: StopRequest, finished: bool) -> None:
    """A checkpoint where one is due, at the end, and before a signal ends the training.

    A signal to one of several processes ends them all, at the same step.
    """
    signal = largest(request.number or 0)
    if finished or signal or checkpoints.due(track.step):
        checkpoints.save(track.step, track.saved())
    if signal:  # also after the last step: other fits may be about to follow
        stop(signal, track.step, checkpoints.run_dir)


@eqx.filter_jit
def run_chunk(
    state: TrainingState,
    batches: Rows,
    runs: Runs,
    count: Int[Array, ""],
    training: Training,
    weights: Weights,
    mesh: Mesh,
) -> tuple[TrainingState, StepInfo]:
    """`count` steps, at most CHUNK of them. The count is data: a shorter chunk is not compiled."""
    one = partial(train_step, training=training, weights=weights, mesh=mesh)
    step = lambda state, i: _each_run(one, state, _step_of(batches, i), runs)  # noqa: E731
    state = jax.vmap(flatten_systems)(state)
    shapes = jax.eval_shape(step, state, 0)[1]
    blank = jax.tree.map(lambda leaf: jnp.zeros((CHUNK, *leaf.shape), leaf.dtype), shapes)

    def body(i: Array, carry: tuple[TrainingState, StepInfo]) -> tuple[TrainingState, StepInfo]:
        state, infos = carry
        state, info = step(state, i)
        return state, jax.tree.map(lambda all, one: all.at[i].set(one), infos, info)

    state, infos = jax.lax.fori_loop(0, count, body, (state, blank))
    return kept_everywhere((jax.vmap(restore_systems)(state), infos), mesh)


class Together:
    """`run_chunk` for several processes: each compiles it, and they begin when all have done so.

    One of them may take much longer to compile than gloo waits for it.
    """

    def __init__(self) -> None:
        self._compiled: dict[str, Callable[..., tuple[TrainingState, StepInfo]]] = {}

    def __call__(self, *arguments: Any) -> tuple[TrainingState, StepInfo]:
        """The same arguments; what follows the first four is what a program is compiled for."""
        fixed = repr(arguments[4:])
        if fixed not in self._compiled:
            program: Any = run_chunk  # whose type does not know that it can be lowered
            self._compiled[fixed] = program.lower(*arguments).compile()
        wait_for_all()
        return self._compiled[fixed](*arguments)


def _each_run(
    step: Callable[..., tuple[TrainingState, StepInfo]],
    state: TrainingState,
    batches: Rows,
    runs: Runs,
) -> tuple[TrainingState, StepInfo]:
    """All runs side by side. A single one goes alone: an axis of one costs a fifth in speed."""
    one = lambda state, batch, run: step(state, batch, run.keys, run.batched)  # noqa: E731
    if runs.keys.shape[0] > 1:
        return jax.vmap(one)(state, batches, runs)
    alone = one(*(_seed(each, 0) for each in (state, batches, runs)))
    return jax.tree.map(lambda leaf: leaf[None], alone)


def _step_of(batches: Rows, i: Array | int) -> Rows:
    """The batches [runs, batch, time, channels] of one of the steps of a chunk."""
    return jax.tree.map(lambda leaf: leaf[:, i], batches)


def _results(
    track: Track, phases: Sequence[Phase], runs: Runs, devices: Devices, reader: Reader
) -> list[TrainingResult]:
    chosen, kept_histories = brought_home(track.chosen()), histories(track.saved())
    last = brought_home(track.state.system)
    lost = track.lost(phases[-1].training.starts)
    failures = [
        _failure(track, i, phases, runs, devices, reader, bool(lost[i])) if failed else None
        for i, failed in enumerate(track.failed)
    ]
    return [
        TrainingResult(_seed(chosen, i), _seed(last, i), history, failure)
        for i, (history, failure) in enumerate(zip(kept_histories, failures, strict=True))
    ]


def _seed(stacked: Tree, seed: int) -> Tree:
    return jax.tree.map(lambda leaf: leaf[seed], stacked)


def _failure(
    track: Track,
    seed: int,
    phases: Sequence[Phase],
    runs: Runs,
    devices: Devices,
    reader: Reader,
    look: bool,
) -> Failure:
    """Compute the gradient of the step at which this run failed, to name the groups."""
    step = track.state.recovery.failed_at[seed]
    if not look:
        return Failure(int(step), ())
    phase = phase_at(phases, int(step))
    system = _seed(track.state.system, seed)
    key, batched = _seed(runs, seed)
    training, weights, mesh = _arguments(system.config, phase, devices)
    batch = _seed(_step_of(reader.take(int(step)), 0), seed)
    again = eqx.filter_jit(batch_gradient)
    _, gradient = again(system, step, batch, key, training, batched.scale(weights), mesh)
    return Failure(int(step), groups_not_finite(gradient))
