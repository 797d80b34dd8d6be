"""What was learned: f along one axis at a time, the inducing inputs, the noise, in units."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from gpssm.gp import conditional
from gpssm.inference.elbo import factor_system
from gpssm.run import Run

_POINTS = 41
_BEYOND = 0.15  # how far a slice reaches beyond where the states have been


class Axis(NamedTuple):
    """One input of f: its name with the unit, and how a normalised value reads in it."""

    label: str
    mean: float
    std: float

    def in_units(self, values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """From normalised values."""
        return self.mean + self.std * values


@dataclass(frozen=True, eq=False)
class LearnedFunction:
    """f along every axis through one operating point, and f at the inducing inputs.

    All in units: grids and inducing inputs in those of their axis, f in that of its state.
    """

    axes: tuple[Axis, ...]
    states: int
    centre: Float[np.ndarray, " axes"]
    grids: Float[np.ndarray, "axes points"]
    mean: Float[np.ndarray, "states axes points"]
    std: Float[np.ndarray, "states axes points"]
    inducing: Float[np.ndarray, "m axes"]
    inducing_mean: Float[np.ndarray, "states m"]
    visited: Float[np.ndarray, "time axes"]


def learned_function(
    run: Run,
    visited: Float[np.ndarray, "time axes"],
    units: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
) -> LearnedFunction:
    """Slices through the median of the `visited` states and inputs (normalised)."""
    axes, dim_x = make_axes(run, *units), run.system.model.dim_x
    centre = np.median(visited, axis=0)
    low, high = visited.min(axis=0), visited.max(axis=0)
    margin = np.maximum(_BEYOND * (high - low), 1e-3)
    grids = np.linspace(low - margin, high + margin, _POINTS).T
    points = np.tile(centre[:, None, None], (1, len(axes), _POINTS))
    points[np.arange(len(axes)), np.arange(len(axes))] = grids
    z = np.asarray(run.system.model.transition.gp.inducing_inputs)
    mean, std = _evaluate(run, np.concatenate([points.reshape(len(axes), -1), z.T], axis=1))
    scale = np.array([axis.std for axis in axes[:dim_x]])[:, None]
    mean, std = scale * mean, scale * std
    on_grid, shape = len(axes) * _POINTS, (dim_x, len(axes), _POINTS)
    means, stds = (
        np.array([axis.mean for axis in axes]),
        np.array([axis.std for axis in axes]),
    )
    return LearnedFunction(
        axes,
        dim_x,
        means + stds * centre,
        means[:, None] + stds[:, None] * grids,
        mean[:, :on_grid].reshape(shape),
        std[:, :on_grid].reshape(shape),
        means + stds * z,
        mean[:, on_grid:],
        means + stds * visited,
    )


def make_axes(
    run: Run, input_units: tuple[str, ...] = (), output_units: tuple[str, ...] = ()
) -> tuple[Axis, ...]:
    """The states (outputs first, then hidden ones, which have no unit), then the inputs."""
    scaling, dim_y, dim_x = run.normalisation, run.system.model.dim_y, run.system.model.dim_x
    outputs = _labels(run.output_names, output_units, "y", dim_y)
    inputs = _labels(run.input_names, input_units, "u", len(scaling.u_mean))
    hidden = [Axis(f"hidden state {i + 1}", 0.0, 1.0) for i in range(dim_x - dim_y)]
    measured = zip(outputs, scaling.y_mean, scaling.y_std, strict=True)
    driven = zip(inputs, scaling.u_mean, scaling.u_std, strict=True)
    return (
        *(Axis(label, float(m), float(s)) for label, m, s in measured),
        *hidden,
        *(Axis(label, float(m), float(s)) for label, m, s in driven),
    )


def noise_levels(run: Run, output_units: tuple[str, ...] = ()) -> list[tuple[str, float, float]]:
    """(state, standard deviation of Σx per step, of Σy), in units; a hidden state has no sensor."""
    axes = make_axes(run, output_units=output_units)
    with jax.enable_x64(True):
        process = np.sqrt(np.asarray(run.system.model.transition.noise))
        sensor = np.sqrt(np.asarray(run.system.model.emission.noise))
    sensor = np.pad(sensor, (0, len(process) - len(sensor)), constant_values=np.nan)
    triples = zip(axes[: len(process)], process, sensor, strict=True)
    return [(axis.label, float(axis.std * p), float(axis.std * s)) for axis, p, s in triples]


def _labels(names: tuple[str, ...], units: tuple[str, ...], letter: str, count: int) -> list[str]:
    words = names or tuple(f"{letter}{i + 1}" for i in range(count))
    marks = units or ("",) * count
    return [f"{n} [{u}]" if u else n for n, u in zip(words, marks, strict=True)]


def _evaluate(
    run: Run, points: Float[np.ndarray, "axes n"]
) -> tuple[Float[np.ndarray, "states n"], Float[np.ndarray, "states n"]]:
    """Mean and standard deviation of f, normalised."""
    with jax.enable_x64(True):
        factor = factor_system(run.system, jnp.float64).forward
        mean, variance = conditional(factor, jnp.asarray(points, jnp.float64))
        return np.asarray(mean), np.sqrt(np.asarray(variance))
