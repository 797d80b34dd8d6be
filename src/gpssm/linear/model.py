"""A linear model in innovation form, in normalised units, and its forecasts.

    x[t+1] = A x[t] + B u[t] + K e[t]
    y[t]   = C x[t] + D u[t] + e[t]          e[t] ~ N(0, R)

The last entry of u[t] is a constant one: what a system does at rest is part of B and D. While
outputs are seen, e[t] is their distance from the prediction; after that it is drawn. A model with
an alignment sees u[t+1−delay] in place of u[t], with a delay for each input.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from gpssm.data import Normalisation
from gpssm.data.alignment import Alignment, aligned
from gpssm.metrics.forecast import Forecast

from .states import Noise

_SETTLED, _TENFOLD = 0.05, 10.0
_ON_THE_CIRCLE = 1e-9  # of a radius: neither decays nor grows


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The matrices, the covariance of x[1], and the units of the data.

    `noise` is that of states and sensors from which K and R follow, where it is known.
    """

    A: Float[np.ndarray, "states states"]
    B: Float[np.ndarray, "states inputs_and_one"]
    C: Float[np.ndarray, "outputs states"]
    D: Float[np.ndarray, "outputs inputs_and_one"]
    K: Float[np.ndarray, "states outputs"]
    R: Float[np.ndarray, "outputs outputs"]
    initial: Float[np.ndarray, "states states"]
    normalisation: Normalisation
    description: str = ""
    alignment: Alignment | None = None
    noise: Noise | None = None

    @property
    def poles(self) -> Complex[np.ndarray, " states"]:
        """The eigenvalues of A, the slowest first."""
        values = np.linalg.eigvals(self.A).astype(complex)
        return values[np.argsort(-np.abs(values))]

    @property
    def settling_time(self) -> float:
        """Steps until the slowest mode has decayed to 5 %; infinite for an integrator.

        With modes outside of the unit circle: until an error has grown tenfold in the fastest one.
        """
        radius = float(np.abs(self.poles[0]))
        if abs(radius - 1.0) < _ON_THE_CIRCLE:
            return float("inf")
        share = _TENFOLD if radius > 1.0 else _SETTLED
        return float(np.log(share) / np.log(radius)) if radius > 0 else 0.0

    def predict(
        self,
        u: Float[np.ndarray, "time inputs"],
        y_warmup: Float[np.ndarray, "warmup outputs"],
        *,
        particles: int = 500,
        seed: int = 0,
    ) -> Forecast:
        """Forecast all time steps of `u`: one step ahead in the warm-up, then open loop.

        The noise comes in pairs of opposite sign: the mean of the particles is exact.
        """
        shape = -(-particles // 2), len(u), len(self.R)
        noise = np.random.default_rng(seed).standard_normal(shape) @ _root(self.R).T
        means = self._means(u, y_warmup, np.concatenate([noise, -noise])[:particles])
        back = self.normalisation
        mean, std = back.y_mean_back(means), back.y_std_back(np.sqrt(np.diag(self.R)))
        return Forecast(np.asarray(mean), np.asarray(std), seed, len(y_warmup))

    def predict_mean(
        self, u: Float[np.ndarray, "time inputs"], y_warmup: Float[np.ndarray, "warmup outputs"]
    ) -> Float[np.ndarray, "time outputs"]:
        """The mean of the forecast alone."""
        means = self._means(u, y_warmup, np.zeros((1, len(u), len(self.R))))
        return np.asarray(self.normalisation.y_mean_back(means[0]))

    def predict_one_step(
        self,
        u: Float[np.ndarray, "time inputs"],
        y: Float[np.ndarray, "time outputs"],
        warmup: int = 16,
    ) -> Float[np.ndarray, "time outputs"]:
        """Every output from all before it; the state begins where the warm-up says."""
        back, normal_y = self.normalisation, np.asarray(self.normalisation.y(y))
        normal_u = self._driving(u)
        x = self._first_state(normal_u[:warmup], normal_y[:warmup])[None]
        means = self._roll(x, normal_u, normal_y, np.zeros((1, *y.shape)))
        return np.asarray(back.y_mean_back(means[0]))

    def _means(
        self, u: np.ndarray, y_warmup: np.ndarray, noise: Float[np.ndarray, "n time outputs"]
    ) -> Float[np.ndarray, "n time outputs"]:
        """E y[t] given the noise before t, for every row of noise, normalised."""
        warmup = len(y_warmup)
        y = np.full(noise.shape[1:], np.nan)
        y[:warmup] = self.normalisation.y(y_warmup)
        driving = self._driving(u)
        x = np.tile(self._first_state(driving[:warmup], y[:warmup]), (len(noise), 1))
        return self._roll(x, driving, y, noise)

    def _driving(
        self, u: Float[np.ndarray, "time inputs"]
    ) -> Float[np.ndarray, "time inputs_and_one"]:
        """What stands beside each output: the aligned inputs, normalised, and a one."""
        normal = np.asarray(self.normalisation.u(u))
        return with_one(normal if self.alignment is None else aligned(normal, self.alignment))

    def _roll(
        self,
        x: Float[np.ndarray, "n states"],
        u: Float[np.ndarray, "time inputs_and_one"],
        y: Float[np.ndarray, "time outputs"],
        noise: Float[np.ndarray, "n time outputs"],
    ) -> Float[np.ndarray, "n time outputs"]:
        """E y[t] along the recursion; NaN marks an output that is not known."""
        means = np.empty_like(noise)
        with np.errstate(over="ignore", invalid="ignore"):  # an unstable model may well diverge
            for t in range(len(u)):
                means[:, t] = x @ self.C.T + self.D @ u[t]
                e = np.where(np.isnan(y[t]), noise[:, t], y[t] - means[:, t])
                x = x @ self.A.T + self.B @ u[t] + e @ self.K.T
        return means

    def _first_state(self, u: np.ndarray, y: np.ndarray) -> Float[np.ndarray, " states"]:
        """E x[1] given the warm-up, under x[1] ~ N(0, initial).

        The innovations are linear in x[1], so rolling out zero and every unit vector gives
        all that the Gaussian conditional needs, gaps in the warm-up included.
        """
        states, known = len(self.A), ~np.isnan(y)
        starts = np.concatenate([np.zeros((1, states)), np.eye(states)])
        means = self._roll(starts, u, y, np.zeros((states + 1, *y.shape)))
        effect = (means[1:] - means[0])[:, known].T
        rest = (y - means[0])[known]
        R = np.kron(np.eye(len(y)), self.R)[np.ix_(known.ravel(), known.ravel())]
        gain = self.initial @ effect.T
        return gain @ np.linalg.lstsq(effect @ gain + R, rest, rcond=None)[0]


def with_one(u: Float[np.ndarray, "time inputs"]) -> Float[np.ndarray, "time inputs_and_one"]:
    """The inputs and, as the last column, a constant one."""
    return np.concatenate([u, np.ones((len(u), 1))], axis=1)


def _root(covariance: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """A square root, also of a covariance without full rank."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))
