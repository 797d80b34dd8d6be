"""A forecast: a mixture of Gaussians at every time step, in the units of the data.

Particle s says y[t] ~ N(particles[s, t], noise): what the state is uncertain about is spread
over the particles, and the sensor adds its noise.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import logsumexp, ndtr

from gpssm.errors import DataError, expected

_BISECTIONS = 50


@dataclass(frozen=True, eq=False)
class Forecast:
    """Mean, spread, quantiles and samples of the outputs; and scores against what came true."""

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
        return np.sqrt(self.particles.var(axis=0) + np.square(self.noise_std))

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
        reach = 10.0 * self.noise_std
        low, high = self.particles.min(axis=0) - reach, self.particles.max(axis=0) + reach
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.probability_below(middle) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    def probability_below(
        self, y: Float[np.ndarray, "time *outputs"]
    ) -> Float[np.ndarray, "time outputs"]:
        """P(Y < y) of the mixture: the probability integral transform of what came true."""
        y = self._as_outputs(y)
        return ndtr((y - self.particles) / self.noise_std).mean(axis=0)

    def interval(
        self, level: float
    ) -> tuple[Float[np.ndarray, "time outputs"], Float[np.ndarray, "time outputs"]]:
        """The central band that holds y with probability `level`."""
        _check_level(level)
        return self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level)

    def after(self, steps: int) -> "Forecast":
        """The forecast without its first steps, for example without the warm-up."""
        if not 0 <= steps < len(self.mean):
            wanted = f"between 0 and {len(self.mean) - 1}, so that some steps remain"
            raise DataError(expected("steps", steps, wanted))
        return Forecast(
            self.particles[:, steps:],
            self.noise_std,
            self.seed,
            max(self.warmup - steps, 0),
            self.output_names,
            self.first_step + steps,
        )

    def plot(
        self,
        y: Float[np.ndarray, "time *outputs"] | None = None,
        *,
        path: str | Path | None = None,
        title: str = "",
        units: tuple[str, ...] = (),
        sampling_time: float | None = None,
    ) -> Any:
        """A static figure: the forecast with its bands and, where it is known, what came true."""
        from gpssm.report import plot_forecast  # here: a program that never plots need not load it

        y = None if y is None else self._as_outputs(y)
        return plot_forecast(
            self, y, path=path, title=title, units=units, sampling_time=sampling_time
        )

    # ------------------------------------------------------------------ scores

    def rmse(self, y: Float[np.ndarray, "time *outputs"]) -> float:
        """Root mean square error of the mean, in the units of the data; missing y do not count."""
        y, known = self._truth(y)
        return float(np.sqrt(np.mean(np.square(self.mean - y)[known])))

    def log_likelihood(self, y: Float[np.ndarray, "time *outputs"]) -> float:
        """log p(y[t]) of the mixture, averaged over the time steps, in the units of the data."""
        y, known = self._truth(y)
        scaled = (np.where(known, y, 0.0) - self.particles) / self.noise_std
        density = -0.5 * np.square(scaled) - np.log(np.sqrt(2.0 * np.pi) * self.noise_std)
        per_particle = np.sum(np.where(known, density, 0.0), axis=-1)
        mixture = logsumexp(per_particle, axis=0) - np.log(len(self.particles))
        return float(np.mean(mixture[known.any(axis=-1)]))

    def coverage(self, y: Float[np.ndarray, "time *outputs"], level: float = 0.95) -> float:
        """Share of the measurements inside the central band of this level."""
        _check_level(level)
        y, known = self._truth(y)
        below = self.probability_below(y)
        inside = np.abs(below - 0.5) <= 0.5 * level
        return float(np.mean(inside[known]))

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

    def _truth(
        self, y: Float[np.ndarray, "time *outputs"]
    ) -> tuple[Float[np.ndarray, "time outputs"], Bool[np.ndarray, "time outputs"]]:
        y = self._as_outputs(y)
        known = ~np.isnan(y)
        if not known.any():
            raise DataError(expected("y", "missing values only", "at least one measurement"))
        return y, known


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise DataError(expected("level", level, "a probability between 0 and 1"))
