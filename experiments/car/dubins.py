"""The Dubins car: stretches of the test part, scores of open-loop forecasts, two reference lines.

Every stretch is a warm-up of 50 observed steps and 300 steps of open loop. Errors are in the units
of the position, over both coordinates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from gpssm.data import Dataset, Experiment
from gpssm.data.benchmarks.simulators import (
    CAR_OBSERVATION_VARIANCE,
    CAR_PROCESS_VARIANCE,
    dubins_step,
)
from gpssm.metrics import Forecast

from ..common.scores import LEVELS, number

WARMUP, HORIZON, STRETCHES = 50, 300, 20
HORIZONS = (25, 50, 100, 300)
HEADINGS = 7200  # hypotheses of the floor: a twentieth of a degree

Predict = Callable[[np.ndarray, np.ndarray], Forecast]  # u, outputs of the warm-up


def cut_stretches(data: Dataset, count: int = STRETCHES) -> list[Experiment]:
    """Evenly spaced over the test part; neighbours overlap where it is too short for all."""
    test, length = data.test[0], WARMUP + HORIZON
    starts = np.linspace(0, len(test) - length, count).astype(int)
    return [test.cut(int(start), int(start) + length, "test") for start in starts]


@dataclass(frozen=True)
class Scored:
    """Forecasts of all stretches, after their warm-up."""

    forecasts: Sequence[Forecast]
    truth: Sequence[np.ndarray]

    @classmethod
    def of(cls, predict: Predict, stretches: Sequence[Experiment]) -> "Scored":
        whole = [predict(each.u, each.y[:WARMUP]) for each in stretches]
        return cls([each.after(WARMUP) for each in whole], [each.y[WARMUP:] for each in stretches])

    def to_json(self) -> dict[str, Any]:
        """All scores of the position, which are the first two outputs."""
        with np.errstate(over="ignore", invalid="ignore"):  # a model that diverged has no score
            return {
                **errors([f.mean for f in self.forecasts], self.truth),
                "log_likelihood": number(
                    self._mean(lambda f, y: f.score(y).pooled["log_likelihood"])
                ),
                "gaussian_log_likelihood": number(self._mean(gaussian_log_likelihood)),
                "coverage": {
                    f"{level:.0%}": number(
                        self._mean(lambda f, y, p=level: float(np.mean(f.coverage(y, p))))
                    )
                    for level in LEVELS
                },
            }

    def _mean(self, score: Callable[[Forecast, np.ndarray], float]) -> float:
        pairs = zip(self.forecasts, self.truth, strict=True)
        return float(np.mean([score(forecast, y) for forecast, y in pairs]))


def gaussian_log_likelihood(forecast: Forecast, y: np.ndarray) -> float:
    """log p(y[t]) of a Gaussian with the moments of the forecast, averaged over the time steps.

    A mixture of some ten particles, each as narrow as the sensor's noise, has holes between them
    into which nearly every measurement falls once the cloud is metres wide.
    """
    return float(np.mean(np.sum(norm.logpdf(y, forecast.mean, forecast.std), axis=-1)))


def errors(means: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> dict[str, Any]:
    """RMSE of the position over all steps, and at some of them."""
    squared = np.square(np.stack(means)[..., :2] - np.stack(truth)[..., :2])
    at = {str(h): number(float(np.sqrt(squared[:, h - 1].mean()))) for h in HORIZONS}
    return {"rmse": number(float(np.sqrt(squared.mean()))), "rmse_at": at}


# ---------------------------------------------------------------------- reference lines


def references(stretches: Sequence[Experiment]) -> dict[str, Any]:
    """What holding the last position gives, and what knowing the equations gives."""
    truth = [each.y[WARMUP:] for each in stretches]
    held = [
        np.broadcast_to(each.y[WARMUP - 1], y.shape)
        for each, y in zip(stretches, truth, strict=True)
    ]
    known = [floor(each.u, each.y[:WARMUP, :2])[WARMUP:] for each in stretches]
    return {"hold the last position": errors(held, truth), "true equations": errors(known, truth)}


def floor(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The mean position at every step, given the true equations and the outputs of the warm-up.

    The heading has no noise: given the first one, the position is a random walk along a known
    path, for which a Kalman filter is exact. A grid of first headings, weighted by their
    likelihood, is therefore the exact filter up to the width of the grid.
    """
    steps = known_steps(u, np.linspace(0.0, 2.0 * np.pi, HEADINGS, endpoint=False))
    position = np.broadcast_to(y[0], steps.shape[1:])
    variance, log_weight = CAR_OBSERVATION_VARIANCE, np.zeros(HEADINGS)
    for t in range(1, len(y)):
        position, variance = position + steps[t - 1], variance + CAR_PROCESS_VARIANCE
        innovation, spread = y[t] - position, variance + CAR_OBSERVATION_VARIANCE
        log_weight -= 0.5 * np.sum(np.square(innovation), axis=1) / spread
        position = position + variance / spread * innovation
        variance *= CAR_OBSERVATION_VARIANCE / spread
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    ahead = np.cumsum(weight @ steps[len(y) - 1 : -1], axis=0)
    return np.concatenate([y, weight @ position + ahead])


def known_steps(u: np.ndarray, headings: np.ndarray) -> np.ndarray:
    """[time, headings, 2]: the step of the position at every time, for every first heading."""

    def one(heading: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = jnp.stack([jnp.zeros(()), jnp.zeros(()), heading])
        after = dubins_step(x, u[0], u[1])
        return after[2], after[:2]

    path = jax.vmap(lambda heading: jax.lax.scan(one, heading, jnp.asarray(u))[1], out_axes=1)
    with jax.enable_x64(True):
        return np.asarray(jax.jit(path)(jnp.asarray(headings)))
