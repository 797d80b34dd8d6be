"""Simulated linear plants with known poles and step responses: oracles of the linear model."""

from dataclasses import dataclass

import numpy as np

from gpssm.data import Dataset
from gpssm.linear import LinearModel

BEFORE, AFTER = 30, 60  # rows before a step of the input, and after it


@dataclass(frozen=True, eq=False)
class Plant:
    """x[t+1] = A x[t] + B u[t−dead_time] + w, y[t] = C x[t] + D u[t] + v; u = excitation − F y."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: float = 0.0
    dead_time: int = 0
    feedback: float = 0.0
    process: float = 0.01
    sensor: float = 0.05

    def run(self, rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and outputs of an experiment that starts at rest."""
        x, u, y = np.zeros(len(self.A)), np.zeros(rows), np.zeros(rows)
        excitation = np.repeat(rng.standard_normal(-(-rows // 3)), 3)[:rows]
        for t in range(rows):
            clean = self.C @ x
            u[t] = excitation[t] - self.feedback * (clean + self.sensor * rng.standard_normal())
            y[t] = clean + self.D * u[t] + self.sensor * rng.standard_normal()
            old = u[t - self.dead_time] if t >= self.dead_time else 0.0
            x = self.A @ x + self.B * old + self.process * rng.standard_normal(len(x))
        return u, y

    def data(self, seed: int, rows: int = 500, experiments: int = 1, gaps: float = 0.0) -> Dataset:
        rng = np.random.default_rng(seed)
        runs = [self.run(rng, rows) for _ in range(experiments)]
        outputs = [np.where(rng.random(rows) < gaps, np.nan, y) for _, y in runs]
        return Dataset.from_arrays(outputs, [u for u, _ in runs])

    @property
    def poles(self) -> np.ndarray:
        return np.linalg.eigvals(self.A)

    def step_response(self) -> np.ndarray:
        """The output of the first rows after a step of the input."""
        x, found = np.zeros(len(self.A)), []
        for t in range(AFTER):
            found.append(self.C @ x + self.D)
            x = self.A @ x + self.B * float(t >= self.dead_time)
        return np.array(found)


def step_response(model: LinearModel) -> np.ndarray:
    """What a step of the input changes in a forecast."""
    still, step = np.zeros((BEFORE + AFTER, 1)), np.zeros((BEFORE + AFTER, 1))
    step[BEFORE:] = 1.0
    seen = np.zeros((BEFORE - 1, 1))
    changed = model.predict_mean(step, seen) - model.predict_mean(still, seen)
    return changed[BEFORE:, 0]


def pole_error(model: LinearModel, plant: Plant) -> float:
    """The largest distance of a pole of the plant from the nearest one of the model."""
    return float(max(np.abs(model.poles - pole).min() for pole in plant.poles))


def _rotation(radius: float, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return radius * np.array([[c, s], [-s, c]])


PLANTS = {
    "second order": Plant(_rotation(0.9, 0.3), np.array([0.3, 0.4]), np.array([1.0, 0.0])),
    "integrator": Plant(
        np.array([[1.0, 0.2], [0.0, 0.8]]), np.array([0.0, 0.3]), np.array([1.0, 0.0]), process=0.0
    ),
    "lightly damped": Plant(
        _rotation(0.995, 0.4), np.array([0.1, 0.2]), np.array([1.0, 0.0]), process=0.0
    ),
    "feedthrough": Plant(np.array([[0.8]]), np.array([0.3]), np.array([1.0]), D=0.7),
    "dead time": Plant(np.array([[0.8]]), np.array([0.4]), np.array([1.0]), dead_time=5),
    "unstable": Plant(
        np.array([[1.06]]), np.array([0.3]), np.array([1.0]), feedback=0.6, sensor=0.02
    ),
}
