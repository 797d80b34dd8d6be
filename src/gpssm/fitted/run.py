"""A fitted model: `predict` with it, look at what it has learned, `save` and `load` it."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.base.errors import ConfigError, DataError, GpssmWarning, expected
from gpssm.belief import Belief, Filtered, FilterNoise, FittedModel, Smoothed
from gpssm.belief.functions import Rollout, Step, rollout_function, step_function
from gpssm.belief.logs import filter_log, smooth_log
from gpssm.belief.tuning import tuned_noise
from gpssm.data import Dataset, Normalisation
from gpssm.data.alignment import aligned
from gpssm.data.channels import check_units
from gpssm.data.io.timing import is_same_step
from gpssm.gp import conditional, factorise
from gpssm.gp.sparse import inducing_cholesky
from gpssm.inference import Model, System
from gpssm.inference.sequences import Sequences, from_batch_first
from gpssm.metrics import Forecast
from gpssm.model import Hybrid, Physics
from gpssm.plots import plot_history
from gpssm.prediction import Outlook, predict
from gpssm.prediction.outlook import Piece, check_levels, pieces
from gpssm.training import History, Training

from . import modelfile
from .memory import check_forecast


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model with all that a forecast in the units of the data needs.

    `sampling_time` is that of the training data in seconds; None: not known. `filter_noise` is that
    of its beliefs; None: the noises of the model.
    """

    system: System
    normalisation: Normalisation
    training: Training
    seed: int
    history: History
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    sampling_time: float | None = None
    input_units: tuple[str, ...] = ()
    output_units: tuple[str, ...] = ()
    filter_noise: FilterNoise | None = None

    @property
    def model(self) -> Model:
        """The settings of the model."""
        return self.system.config

    def predict(
        self,
        u: Float[np.ndarray, "time *inputs"] | None,
        y_warmup: Float[np.ndarray, "warmup *outputs"],
        *,
        steps: int | None = None,
        conditioned: int | None = None,
        particles: int | None = None,
        seed: int = 0,
        sampling_time: float | None = None,
    ) -> Forecast:
        """Forecast all time steps of the inputs `u` from the first outputs, in their units.

        The steps of `y_warmup` are conditioned on (NaN marks a missing value), the rest is open
        loop. `conditioned` ends the conditioning earlier than the warm-up: the backward pass
        still sees all of it. A system without inputs takes `u=None` and the number of `steps`.
        With the `sampling_time` of the arrays it is compared with that of the training data.
        """
        self.check_step(sampling_time)
        y = self._warmup(y_warmup)
        u = self._inputs(u, steps)
        conditioned = len(y) if conditioned is None else conditioned
        self._check_warmup(len(u), len(y), conditioned)
        x = self._rollout(u[None], y[None], conditioned, self._particles(particles), seed)
        return self._forecast(x[:, :, 0], seed, len(y))

    def outlook(
        self,
        u: Float[np.ndarray, "*scenarios time inputs"] | None,
        y_warmup: Float[np.ndarray, "warmup *outputs"],
        *,
        steps: int | None = None,
        levels: Sequence[float] = (0.025, 0.5, 0.975),
        particles: int | None = None,
        seed: int = 0,
        sampling_time: float | None = None,
    ) -> Outlook:
        """A long forecast, or many at once, as moments and quantiles: the particles are not kept.

        With `u` of [scenarios, time, inputs] all scenarios start from the same warm-up. What is
        at work at a time is bounded: 10⁵ steps need no more of it than 10³. A system without inputs
        takes `u=None` and the number of `steps`.
        """
        self.check_step(sampling_time)
        y = self._warmup(y_warmup)
        alone = u is None or np.ndim(u) != 3
        given: Sequence[Any] = [u] if alone else list(np.asarray(u))
        if not given:
            raise DataError(expected("u", "no scenario", "at least one"))
        scenarios = np.stack([self._inputs(each, steps) for each in given])
        self._check_warmup(scenarios.shape[1], len(y), len(y))
        check_levels(levels)
        with jax.enable_x64(True):
            repeated = np.broadcast_to(y, (len(scenarios), *y.shape))
            prepared = self._prepared(scenarios, repeated, self._particles(particles))
            found = pieces(jax.random.key(seed), *prepared, levels)
            mean, variance, *quantiles = _joined(found, len(levels))
        shape = 0 if alone else slice(None)
        to_units = self.normalisation.y_mean_back
        return Outlook(
            np.asarray(to_units(mean))[shape],
            np.asarray(self.normalisation.y_std_back(np.sqrt(variance)))[shape],
            {
                level: np.asarray(to_units(each))[shape]
                for level, each in zip(levels, quantiles, strict=True)
            },
        )

    def states(
        self,
        u: Float[np.ndarray, "time *inputs"] | None,
        y_warmup: Float[np.ndarray, "warmup *outputs"],
        *,
        steps: int | None = None,
        particles: int | None = None,
        seed: int = 0,
        sampling_time: float | None = None,
    ) -> Float[np.ndarray, "particles time states"]:
        """The states behind a forecast, in normalised units; the outputs come first."""
        self.check_step(sampling_time)
        y, u = self._warmup(y_warmup), self._inputs(u, steps)
        self._check_warmup(len(u), len(y), len(y))
        x = self._rollout(u[None], y[None], len(y), self._particles(particles), seed)
        return np.moveaxis(x[:, :, 0], -1, 0).astype(np.float64)

    def belief(
        self,
        kind: str = "ensemble",
        *,
        particles: int = 200,
        seed: int = 0,
        plants: int | None = None,
        noise: FilterNoise | None = None,
        sampling_time: float | None = None,
    ) -> Belief:
        """What is known of the state, before the first row: `Belief.update` takes in rows.

        `kind`: `ensemble` (Kalman filter), `particle` (bootstrap filter), or `gaussian` (linearised
        Kalman filter). `noise`: of the filter, normalised; None: `filter_noise`, which suits
        forecasts of the next steps. For long ones give `FilterNoise.of(run.system)`. With the
        `sampling_time` of the rows it is compared with that of the training data.
        """
        self.check_step(sampling_time)
        return Belief(self._fitted, kind, particles, seed, plants, noise or self.filter_noise)

    def tune_filter(self, data: Dataset) -> "Run":
        """The same model with the `filter_noise` under which these data are most likely.

        `fit` does so with the training data. Few data leave the noise as it is.
        """
        self.check_data(data)
        return replace(self, filter_noise=tuned_noise(self._fitted, data) or self.filter_noise)

    def load_belief(self, path: str | Path) -> Belief:
        """Read a belief in this model that `Belief.save` wrote."""
        return Belief.restored(path, self._fitted)

    def filter(
        self,
        u: Float[np.ndarray, "time *inputs"] | None,
        y: Float[np.ndarray, "time *outputs"],
        **settings: Any,
    ) -> Filtered:
        """Take in a whole log, as a belief with these `settings` does: forecasts of every row."""
        u = None if u is None else _columns("u", u, len(self.normalisation.u_mean))
        return filter_log(self.belief(**settings), u, _columns("y", y, self.system.model.dim_y))

    def smooth(
        self,
        u: Float[np.ndarray, "time *inputs"] | None,
        y: Float[np.ndarray, "time *outputs"],
        *,
        noise: FilterNoise | None = None,
        sampling_time: float | None = None,
    ) -> Smoothed:
        """States of a log given all of it, by a linearised Kalman smoother."""
        self.check_step(sampling_time)
        u = None if u is None else _columns("u", u, len(self.normalisation.u_mean))
        y = _columns("y", y, self.system.model.dim_y)
        return smooth_log(self._fitted, u, y, noise or self.filter_noise)

    def step_function(self) -> Step:
        """A pure function (x, u) → x one step later, without noise, that JAX can differentiate.

        x are normalised states, u the inputs in the units of the data that act on this step: with
        `input_delays` each channel is the input of `delay − 1` rows before, and of the next row
        where the delay is 0.
        """
        return step_function(self._fitted)

    def rollout_function(self) -> Rollout:
        """A pure function (x, u of [time, inputs]) → the outputs after each row of u, as above."""
        return rollout_function(self._fitted)

    @cached_property
    def _fitted(self) -> FittedModel:
        dtype = jnp.dtype(self.training.dtype).name
        return FittedModel(self.system, self.normalisation, dtype, self.output_names)

    def check_step(self, sampling_time: float | None) -> None:
        """Raise if data have another sampling time than those that the model was trained on."""
        known = self.sampling_time
        if known is None or sampling_time is None or is_same_step(sampling_time, known):
            return
        remedy = f"Give data with a step of {known:.6g} s: resample them."
        given, wanted = f"a step of {sampling_time:.6g} s", f"{known:.6g} s, as in training"
        raise DataError(expected("sampling_time", given, wanted, remedy))

    def check_data(self, data: Dataset) -> None:
        """Raise unless data have the channels, units and sampling time of the training data."""
        known = self.normalisation
        ours, theirs = (len(known.u_mean), len(known.y_mean)), (data.dim_u, data.dim_y)
        if ours != theirs:
            given, wanted = (f"{u} inputs and {y} outputs" for u, y in (theirs, ours))
            remedy = "Give data with the channels of the training data."
            raise DataError(expected("data", given, f"{wanted}, those of the runs", remedy))
        check_units(self.input_names, self.input_units, data.input_units)
        check_units(self.output_names, self.output_units, data.output_units)
        self.check_step(data.sampling_time)

    def plot(self, *, path: str | Path | None = None, title: str = "") -> Any:
        """A static figure of how training went: the terms of the ELBO over the steps."""
        return plot_history(self.history, path=path, title=title or self.model.name)

    def learned(
        self, x: Float[np.ndarray, "time states"], u: Float[np.ndarray, "time inputs"]
    ) -> tuple[Float[np.ndarray, "time yields"], Float[np.ndarray, "time yields"]]:
        """Mean and standard deviation of what the GP yields at these states and inputs.

        All in physical units; the states in the order of the physics.
        """
        dynamics = self.system.model.transition.dynamics
        if not isinstance(dynamics, Hybrid):
            raise ConfigError(expected("learned", "a black box", "a model with physics"))
        x = _columns("x", x, len(dynamics.physics.states))
        u = _columns("u", u, len(self.normalisation.u_mean))
        with jax.enable_x64(True):
            normal_x = dynamics.units.normal(jnp.asarray(x.T))
            seen = dynamics.seen(normal_x, jnp.asarray(self.normalisation.u(u)).T)
            gp = self.system.model.transition.gp
            factor = factorise(gp, inducing_cholesky(gp, "float64"), "float64")
            mean, variance = conditional(factor, seen)
            std = dynamics.force(jnp.sqrt(variance))
            return np.asarray(dynamics.force(mean)).T, np.asarray(std).T

    def save(self, path: str | Path) -> Path:
        """Write the run to one file: safetensors and JSON, nothing that can run code."""
        content = (getattr(self, field) for field in modelfile.Content._fields)
        return modelfile.save(path, modelfile.Content(*content))

    def _rollout(
        self,
        u: Float[np.ndarray, "batch time inputs"],
        y: Float[np.ndarray, "batch warmup outputs"],
        conditioned: int,
        particles: int,
        seed: int,
    ) -> Float[np.ndarray, "time states batch particles"]:
        """The particles of all states, normalised."""
        check_forecast(self.model, len(u) * u.shape[1], particles, y.shape[2])
        with jax.enable_x64(True):
            system, inputs, warmup = self._prepared(u, y, particles)
            x = np.asarray(predict(jax.random.key(seed), system, inputs, warmup, conditioned))
        return x.reshape(*x.shape[:2], len(u), particles)

    def _prepared(
        self,
        u: Float[np.ndarray, "batch time inputs"],
        y: Float[np.ndarray, "batch warmup outputs"],
        particles: int,
    ) -> tuple[System, Float[Array, "time inputs batch"], Sequences]:
        """System, inputs and warm-up of a rollout, normalised and in its layout."""
        dtype, mask = self.training.dtype, ~np.isnan(y)
        normal_u = jnp.asarray(self.normalisation.u(u), dtype)
        normal_y = jnp.asarray(np.where(mask, self.normalisation.y(y), 0.0), dtype)
        warmup = from_batch_first(normal_u[:, : y.shape[1]], normal_y, jnp.asarray(mask))
        inputs = jnp.transpose(normal_u, (1, 2, 0))
        return self.system.with_particles(particles), inputs, warmup

    def _forecast(
        self, x: Float[np.ndarray, "time states particles"], seed: int, warmup: int
    ) -> Forecast:
        """The outputs among the states, in the units of the data."""
        with jax.enable_x64(True):
            noise = np.sqrt(np.asarray(self.system.model.emission.noise))
        outputs = np.moveaxis(x[:, : len(noise)].astype(np.float64), -1, 0)
        y = np.asarray(self.normalisation.y_mean_back(outputs))
        std = np.asarray(self.normalisation.y_std_back(noise))
        return Forecast(y, std, seed, warmup, self.output_names)

    def _measured(self, field: str, y: Any) -> np.ndarray:
        """Outputs as a matrix; NaN marks a missing value."""
        y = _columns(field, y, self.system.model.dim_y)
        if np.isinf(y).any():
            row = int(np.argwhere(np.isinf(y))[0, 0])
            wanted = "finite values, or NaN for a missing one"
            raise DataError(expected(field, f"{y[row]} at row {row}", wanted))
        return y

    def _warmup(self, y: Any) -> np.ndarray:
        """The first outputs; warn if they are too few for the state, raise if there are none."""
        y = self._measured("y_warmup", y)
        known, states = int(np.sum(~np.isnan(y))), self.model.dim_x
        wanted = f"at least {states}, one for each state"
        if known == 0:
            remedy = "Begin where outputs were measured."
            raise DataError(expected("y_warmup", "no measurement", wanted, remedy))
        if known < states:
            given = f"{known} measurement{'s' if known > 1 else ''}"
            remedy = "The prediction interval leaves out how little is known of the first state."
            message = str(expected("y_warmup", given, wanted, remedy))
            warnings.warn(message, GpssmWarning, stacklevel=3)
        return y

    def _particles(self, given: int | None) -> int:
        if given is not None and given < 1:
            raise DataError(expected("particles", given, "at least 1, or None"))
        return given or self.model.particles

    def _inputs(self, u: Any, steps: int | None) -> np.ndarray:
        dim_u = len(self.normalisation.u_mean)
        if u is None:
            if dim_u:
                raise DataError(expected("u", "nothing", f"an array [time, {dim_u}]"))
            if steps is None or steps < 1:
                given = "nothing" if steps is None else steps
                raise DataError(expected("steps", given, "the number of steps, at least 1"))
            return np.zeros((steps, 0))
        if steps is not None:
            remedy = "The inputs say how many steps there are."
            raise DataError(expected("steps", f"{steps} together with u", "one of them", remedy))
        u = _columns("u", u, dim_u)
        if not np.isfinite(u).all():
            row = int(np.argwhere(~np.isfinite(u))[0, 0])
            remedy = "An input must be known at every step of a forecast."
            raise DataError(expected("u", f"{u[row]} at row {row}", "finite values", remedy))
        return u if self.model.input_delays is None else aligned(u, self.model.input_delays)

    def _check_warmup(self, steps: int, warmup: int, conditioned: int) -> None:
        needed = self.model.shortest_warmup
        if not needed <= warmup <= steps:
            wanted = f"between {needed} (for this recognition) and {steps} steps (those of u)"
            raise DataError(expected("y_warmup", f"{warmup} steps", wanted))
        if not 1 <= conditioned <= warmup:
            wanted = f"between 1 and the {warmup} steps of the warm-up"
            raise DataError(expected("conditioned", conditioned, wanted))


def load(path: str | Path, physics: Physics | None = None) -> Run:
    """Read a run that `Run.save` wrote.

    A model file holds no code: a run with equations of motion needs the same `physics` again.
    """
    return Run(*modelfile.load(path, physics))


def _joined(
    found: Iterable[Piece], levels: int
) -> list[Float[np.ndarray, "scenarios time outputs"]]:
    """Mean, variance and each quantile of all pieces, one after the other in time."""
    parts: list[list[np.ndarray]] = [[] for _ in range(2 + levels)]
    for piece in found:
        values = [piece.mean, piece.variance, *piece.quantiles]
        for part, value in zip(parts, values, strict=True):
            part.append(np.asarray(value, dtype=np.float64))
    return [np.moveaxis(np.concatenate(part), -1, 0) for part in parts]


def _columns(field: str, values: Any, channels: int) -> np.ndarray:
    """[time] or [time, channels] as a float64 matrix with the channels of the training data."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(expected(field, f"no numbers ({error})", "an array of numbers")) from error
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] != channels or len(array) == 0:
        wanted = f"[time, {channels}], the channels that the model was trained on"
        raise DataError(expected(field, f"shape {np.shape(values)}", wanted))
    return array
