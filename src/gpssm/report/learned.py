"""What was learned: f along one axis at a time, the inducing inputs, the noise, in units."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from gpssm.data import Dataset
from gpssm.data.channels import with_units
from gpssm.fitted.run import Run
from gpssm.gp import conditional
from gpssm.inference.terms import factor_system

_POINTS = 41
_BEYOND = 0.15  # how far a slice reaches beyond where the states have been


class Axis(NamedTuple):
    """One input of f: its name with the unit, and how a normalised value reads in it."""

    label: str
    mean: float
    std: float


@dataclass(frozen=True, eq=False)
class LearnedFunction:
    """f along every axis through one operating point, all in units; f in that of its state."""

    axes: tuple[Axis, ...]
    states: int
    grids: Float[np.ndarray, "axes points"]
    mean: Float[np.ndarray, "states axes points"]
    std: Float[np.ndarray, "states axes points"]
    inducing: Float[np.ndarray, "m axes"]
    visited: Float[np.ndarray, "time axes"]


def learned_function(
    run: Run, data: Dataset, visited: Float[np.ndarray, "time axes"]
) -> LearnedFunction:
    """Slices through the median of the `visited` states and inputs (normalised)."""
    axes, dim_x = make_axes(run, data), run.system.model.dim_x
    centre = np.median(visited, axis=0)
    low, high = visited.min(axis=0), visited.max(axis=0)
    margin = np.maximum(_BEYOND * (high - low), 1e-3)
    grids = np.linspace(low - margin, high + margin, _POINTS).T
    points = np.tile(centre[:, None, None], (1, len(axes), _POINTS))
    points[np.arange(len(axes)), np.arange(len(axes))] = grids
    z = np.asarray(run.system.model.transition.gp.inducing_inputs)
    mean, std = _evaluate(run, points.reshape(len(axes), -1))
    means, stds = np.array([axis[1:] for axis in axes]).T
    shape, scale = (dim_x, len(axes), _POINTS), stds[:dim_x, None, None]
    return LearnedFunction(
        axes,
        dim_x,
        grids=means[:, None] + stds[:, None] * grids,
        mean=scale * mean.reshape(shape),
        std=scale * std.reshape(shape),
        inducing=means + stds * z,
        visited=means + stds * visited,
    )


def make_axes(run: Run, data: Dataset) -> tuple[Axis, ...]:
    """The states (outputs first, then hidden ones, which have no unit), then the inputs."""
    scaling, dim_y, dim_x = run.normalisation, run.system.model.dim_y, run.system.model.dim_x
    outputs = with_units(data.output_names, data.output_units)
    inputs = with_units(data.input_names, data.input_units)
    hidden = [Axis(f"hidden state {i + 1}", 0.0, 1.0) for i in range(dim_x - dim_y)]
    measured = zip(outputs, scaling.y_mean, scaling.y_std, strict=True)
    driven = zip(inputs, scaling.u_mean, scaling.u_std, strict=True)
    return (
        *(Axis(label, m, s) for label, m, s in measured),
        *hidden,
        *(Axis(label, m, s) for label, m, s in driven),
    )


def noise_levels(run: Run, data: Dataset) -> list[tuple[str, float, float]]:
    """(state, standard deviation of Σx per step, of Σy), in units; a hidden state has no sensor."""
    axes = make_axes(run, data)
    with jax.enable_x64(True):
        process = np.sqrt(run.system.model.transition.noise)
        sensor = np.sqrt(run.system.model.emission.noise)
    sensor = np.pad(sensor, (0, len(process) - len(sensor)), constant_values=np.nan)
    triples = zip(axes[: len(process)], process, sensor, strict=True)
    return [(axis.label, axis.std * p, axis.std * s) for axis, p, s in triples]


def _evaluate(
    run: Run, points: Float[np.ndarray, "axes n"]
) -> tuple[Float[np.ndarray, "states n"], Float[np.ndarray, "states n"]]:
    """Mean and standard deviation of f, normalised."""
    with jax.enable_x64(True):
        factor = factor_system(run.system, jnp.float64).forward
        mean, variance = conditional(factor, jnp.asarray(points, jnp.float64))
        return np.asarray(mean), np.sqrt(variance)
