"""The training loop: many gradient steps per dispatch, one compilation."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from gpssm.data import Windows
from gpssm.inference import System, Weights

from .history import History
from .progress import ProgressFactory, silent
from .settings import Training
from .step import StepInfo, TrainingState, start, train_step

CHUNK = 25  # gradient steps per dispatch: enough to hide its cost, few enough for a lively bar


class TrainingResult(NamedTuple):
    """The averaged parameters, the last ones, and how training went."""

    average: System
    last: System
    history: History


def train(
    key: PRNGKeyArray,
    system: System,
    windows: Windows,
    training: Training,
    progress: ProgressFactory = silent,
) -> TrainingResult:
    """Maximises the ELBO over the windows, starting from `system`."""
    weights = training.weights(system.config, windows.y.shape[0])
    state, history = start(system, training), History.empty()
    with progress(system.config.name, training.steps) as shown:
        while (done := int(state.step)) < training.steps:
            count = min(CHUNK, training.steps - done)
            state, info = run_chunk(state, windows, key, jnp.asarray(count), training, weights)
            info = jax.tree.map(lambda leaf, n=count: np.asarray(leaf)[:n], info)
            history = history.extended(info)
            shown.update(done + count, _recent(info))
    return TrainingResult(state.average, state.system, history)


@eqx.filter_jit
def run_chunk(
    state: TrainingState,
    windows: Windows,
    key: PRNGKeyArray,
    count: Int[Array, ""],
    training: Training,
    weights: Weights,
) -> tuple[TrainingState, StepInfo]:
    """`count` steps, at most CHUNK of them. The count is data: a shorter chunk is not compiled."""
    step = partial(train_step, windows=windows, key=key, training=training, weights=weights)
    shapes = jax.eval_shape(step, state)[1]
    blank = jax.tree.map(lambda leaf: jnp.zeros((CHUNK, *leaf.shape), leaf.dtype), shapes)

    def body(i: Array, carry: tuple[TrainingState, StepInfo]) -> tuple[TrainingState, StepInfo]:
        state, infos = carry
        state, info = step(state)
        return state, jax.tree.map(lambda all, one: all.at[i].set(one), infos, info)

    return jax.lax.fori_loop(0, count, body, (state, blank))


def _recent(info: StepInfo) -> dict[str, float]:
    """Averages over a chunk, for the eye."""
    terms = info.elbo
    return {
        "elbo": float(np.mean(terms.total)),
        "fit": float(np.mean(terms.log_likelihood)),
        "kl_x": float(np.mean(terms.state_kl)),
        "kl_u": float(np.mean(terms.inducing_kl + terms.smoother_kl)),
    }
