"""How the outputs of a fitted model answer a step of one input, around an operating point.

Each draw is one whole function f of the posterior, rolled out without noise. All inputs are held
at their mean in training until the states have settled. Then one input goes up by half a step in
one copy of the draw and down by half a step in another: the difference of their outputs is the
response. The spread over the draws is what is not known of f.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, PRNGKeyArray

from gpssm.data import Dataset
from gpssm.data.alignment import aligned
from gpssm.gp import FUNCTION_DRAWS, make_keys
from gpssm.inference import System
from gpssm.inference.rollout import predict
from gpssm.inference.sequences import Sequences, from_batch_first
from gpssm.inference.terms import cast, factor_system

from .stability import Fitted

HORIZONS = (300, 1500)  # steps: the second where the first is too short to settle
_LAST, _MOVES = 0.2, 0.05  # settled: over its last part it moves by less than this share
_UNBOUNDED = 1e3  # standard deviations of an output, after a step of one of an input


@dataclass(frozen=True, eq=False)
class StepResponse:
    """Answers to a step of one standard deviation of one input at a time, in units of the data."""

    draws: Float[np.ndarray, "draws inputs time outputs"]
    step: Float[np.ndarray, " inputs"]  # its size
    spread: Float[np.ndarray, " outputs"]  # of the outputs in training

    @cached_property
    def median(self) -> Float[np.ndarray, "inputs time outputs"]:
        """The middle draw at each time: single draws that diverge do not move it."""
        return np.median(self.draws, axis=0)

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The central part of the draws with this share of them."""
        return central(self.draws, level)

    @property
    def diverges(self) -> Bool[np.ndarray, "inputs outputs"]:
        """Whether the outputs go far beyond all that training has seen."""
        return ~(np.abs(self.median / self.spread).max(axis=1) < _UNBOUNDED)

    @property
    def settles(self) -> Bool[np.ndarray, "inputs outputs"]:
        """Whether the response comes to rest within the horizon."""
        last = int((1.0 - _LAST) * self.median.shape[1])
        with np.errstate(invalid="ignore"):  # where it diverges
            moved = np.ptp(self.median[:, last:], axis=1)
        return ~self.diverges & (moved <= _MOVES * np.abs(self.median).max(axis=1))

    def frequency_response(
        self, frequencies: Float[np.ndarray, " frequencies"]
    ) -> Complex[np.ndarray, "draws inputs frequencies outputs"]:
        """Σt h[t] exp(−2πift) of each draw; h are the steps of its response, f cycles per step.

        It holds where the response settles: what comes after the horizon counts as zero.
        """
        h = np.diff(self.draws, axis=2, prepend=0.0) / self.step[:, None, None]
        waves = np.exp(-2j * np.pi * frequencies[:, None] * np.arange(h.shape[2]))
        return np.einsum("ft,pitd->pifd", waves, h, optimize=True)


def central(draws: Float[np.ndarray, "draws *rest"], level: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the central part of the draws with this share of them."""
    low, high = np.quantile(draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
    return low, high


def step_response(
    run: Fitted,
    data: Dataset,
    *,
    inputs: Sequence[int],
    horizon: int,
    draws: int = 200,
    seed: int = 0,
) -> StepResponse:
    """Responses of all outputs to these inputs, `horizon` steps long.

    The states begin where a warm-up on `data` leaves them, and have another horizon to settle.
    """
    system, scaling = run.system.with_particles(draws), run.normalisation
    key_first, key_draw = jax.random.split(jax.random.key(seed))
    with jax.enable_x64(True):
        warmup = _warmup(run, data)
        first = predict(key_first, system, warmup.u, warmup, warmup.length)[-1]
        held = np.moveaxis(_held(inputs, data.dim_u, horizon), -1, 0)
        seen = aligned(held, system.config.input_delays or (1,) * data.dim_u)
        u = jnp.asarray(np.moveaxis(seen, 0, -1))
        path = _without_noise(key_draw, system, first, u)
        y = np.asarray(path[horizon:, : data.dim_y])
    up, down = np.split(y.reshape(*y.shape[:2], 2 * len(inputs), draws), 2, axis=2)
    with np.errstate(invalid="ignore"):  # of draws that diverge
        answers = np.transpose(up - down, (3, 2, 0, 1)) * scaling.y_std
    answers[np.isnan(answers)] = np.inf
    return StepResponse(answers, scaling.u_std[list(inputs)], scaling.y_std)


def _warmup(run: Fitted, data: Dataset) -> Sequences:
    """The first rows of the longest experiment, normalised."""
    config, longest = run.system.config, max(data.experiments, key=len)
    rows = max(config.shortest_warmup, config.warmup)
    y, u = run.normalisation.y(longest.y[:rows]), np.asarray(run.normalisation.u(longest.u[:rows]))
    u = aligned(u, config.input_delays or (1,) * data.dim_u)
    return from_batch_first(u[None], y[None], np.isfinite(y)[None])


def _held(inputs: Sequence[int], dim_u: int, horizon: int) -> Float[np.ndarray, "time u copies"]:
    """Normalised inputs: at their mean, then half a step up or down; all ups come first."""
    u = np.zeros((2 * horizon, dim_u, 2 * len(inputs)))
    for place, j in enumerate(inputs):
        u[horizon:, j, place] = 0.5
        u[horizon:, j, len(inputs) + place] = -0.5
    return u


@eqx.filter_jit
def _without_noise(
    key: PRNGKeyArray,
    system: System,
    x: Float[Array, "states draws"],
    u: Float[Array, "time controls copies"],
) -> Float[Array, "time_and_one states n"]:
    """x and what follows it, for every copy of every draw of f; the copies lie side by side."""
    factor = factor_system(system, u.dtype).forward
    dynamics = cast(system, u.dtype).model.transition.dynamics
    copies, draws = u.shape[-1], x.shape[1]
    keys, draw = make_keys(key, 1), FUNCTION_DRAWS["pathwise"]
    functions = draw.start(keys, factor, draws).tile(copies)
    parameters = jnp.tile(dynamics.start(keys, draws), copies)

    def step(x: Array, u: Array) -> tuple[Array, Array]:
        u = jnp.repeat(u, draws, axis=1)
        f = draw.evaluate(factor, functions, dynamics.seen(x, u))
        x = dynamics.settle(dynamics.moments(parameters, x, u, *f)[0])
        return x, x

    first = jnp.tile(x.astype(u.dtype), copies)
    return jnp.concatenate([first[None], jax.lax.scan(step, first, u)[1]])
