"""A forecast: a mixture of Gaussians at every time step, in the units of the data.

Particle s says y[t] ~ N(particles[s, t], noise): what the state is uncertain about is spread
over the particles, and the sensor adds its noise.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import DataError, expected
from gpssm.base.extremes import in_unit, ordinary_unit
from gpssm.plots import plot_forecast

from . import mixture
from .metric import Sample
from .scores import Scores, score


@dataclass(frozen=True, eq=False)
class Forecast:
    """Mean, standard deviation, quantiles and samples of the outputs; and scores."""

    particles: Float[np.ndarray, "particles time outputs"]
    noise_std: Float[np.ndarray, " outputs"]
    seed: int = 0
    warmup: int = 0
    output_names: tuple[str, ...] = ()
    first_step: int = 0

    @cached_property
    def mean(self) -> Float[np.ndarray, "time outputs"]:
        """E y."""
        return self.particles.mean(axis=0)

    @cached_property
    def std(self) -> Float[np.ndarray, "time outputs"]:
        """√Var y: the spread of the particles and the noise of the sensor."""
        unit = ordinary_unit(self.noise_std[None])
        particles, noise = in_unit(self.particles, unit), in_unit(self.noise_std, unit)
        return unit * np.sqrt(particles.var(axis=0) + np.square(noise))

    @cached_property
    def samples(self) -> Float[np.ndarray, "particles time outputs"]:
        """One possible record of measurements per particle, sensor noise included."""
        count, steps, outputs = self.particles.shape
        shape = self.first_step + steps, count, outputs  # time first: a later start cuts it off
        noise = np.random.default_rng(self.seed).standard_normal(shape)[self.first_step :]
        return self.particles + self.noise_std * np.swapaxes(noise, 0, 1)

    def quantile(self, level: float) -> Float[np.ndarray, "time outputs"]:
        """The value below which y lies with probability `level`, by bisection on the mixture."""
        _check_level(level)
        return mixture.quantile(self.particles, self._noise, level)

    def probability_below(
        self, y: Float[np.ndarray, "time *outputs"]
    ) -> Float[np.ndarray, "time outputs"]:
        """P(Y < y) of the mixture: the probability integral transform of y."""
        return mixture.probability_below(self.particles, self._noise, self._as_outputs(y))

    def interval(
        self, level: float
    ) -> tuple[Float[np.ndarray, "time outputs"], Float[np.ndarray, "time outputs"]]:
        """The central prediction interval of probability `level`."""
        _check_level(level)
        return self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level)

    def after(self, steps: int) -> "Forecast":
        """The forecast without its first steps, for example without the warm-up."""
        if not 0 <= steps < len(self.mean):
            wanted = f"between 0 and {len(self.mean) - 1}, so that some steps remain"
            raise DataError(expected("steps", steps, wanted))
        warmup, first = max(self.warmup - steps, 0), self.first_step + steps
        return replace(self, particles=self.particles[:, steps:], warmup=warmup, first_step=first)

    def plot(
        self,
        y: Float[np.ndarray, "time *outputs"] | None = None,
        *,
        path: str | Path | None = None,
        title: str = "",
        units: tuple[str, ...] = (),
        sampling_time: float | None = None,
    ) -> Any:
        """A static figure: the forecast with its bands and, if given, the measurements."""
        y = None if y is None else self._as_outputs(y)
        return plot_forecast(
            self, y, path=path, title=title, units=units, sampling_time=sampling_time
        )

    # ------------------------------------------------------------------ scores

    def score(
        self,
        y: Float[np.ndarray, "time *outputs"],
        spread: Float[np.ndarray, " outputs"] | None = None,
    ) -> Scores:
        """Every metric against the measurements y; a missing y (NaN) is ignored.

        `spread`: of the outputs in training, in whose units they are pooled. Without it they are
        pooled in the units of the data.
        """
        return score([self.sample(y, spread)], self.output_names)

    def coverage(
        self, y: Float[np.ndarray, "time *outputs"], level: float = 0.95
    ) -> Float[np.ndarray, " outputs"]:
        """Share of the measurements of each output inside the central interval of this level."""
        _check_level(level)
        sample = self.sample(y)
        inside = np.abs(self.probability_below(y) - 0.5) <= 0.5 * level
        with np.errstate(invalid="ignore"):  # an output that was not measured has none
            return np.sum(inside & sample.known, axis=0) / np.sum(sample.known, axis=0)

    def sample(
        self,
        y: Float[np.ndarray, "time *outputs"],
        spread: Float[np.ndarray, " outputs"] | None = None,
    ) -> Sample:
        """The forecast with its measurements, as input of the metrics."""
        y = self._as_outputs(y)
        if np.isnan(y).all():
            raise DataError(expected("y", "missing values only", "at least one measurement"))
        one = np.ones((1, y.shape[1]))
        unit = one if spread is None else one * np.asarray(spread, dtype=np.float64)
        return Sample(self.particles, self._noise, y, ~np.isnan(y), unit, one)

    @property
    def _noise(self) -> Float[np.ndarray, "#time outputs"]:
        """The noise at every time step, or one row for all of them."""
        return np.broadcast_to(self.noise_std, (1, self.particles.shape[2]))

    def _as_outputs(
        self, y: Float[np.ndarray, "time *outputs"]
    ) -> Float[np.ndarray, "time outputs"]:
        """Values at all time steps of the forecast; [time] is one output."""
        y = np.asarray(y, dtype=np.float64)
        y = y[:, None] if y.ndim == 1 else y
        if y.shape != self.mean.shape:
            remedy = "Score a forecast against all of its time steps; NaN marks a missing value."
            wanted = f"shape {self.mean.shape} [time, outputs]"
            raise DataError(expected("y", f"shape {y.shape}", wanted, remedy))
        return y


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise DataError(expected("level", level, "a probability between 0 and 1"))
