"""Trainings of the VoliroX drone by method and length of the sequences, and their errors."""

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.signal import savgol_filter

import gpssm

from ..common.files import add_record, provenance, read_record
from ..common.open_loop import cut, distance, errors_at, forecast, turn
from ..common.rigid_body import GRAVITY
from ..common.rotation import rotate_back
from .physics import voliro_physics
from .simulator import STEP, Flight, voliro, voliro_test_flight
from .voliro import MASS, physical_model

METHODS = ("cbf-ssm", "vcdt", "pr-ssm")
RECORDS = "drone.json"  # below the results: by method and sequence length, and `physics` alone
LENGTHS = (50, 25, 100, 10, 200)  # the most telling first
SHOWN = ("cbf-ssm", 50)  # of figure 4
SEED, STEPS, STATES_PER_STEP = 0, 2000, 600
QUICK_LENGTHS, QUICK_STEPS = (10, 50), 1000  # enough to see the order of the methods
WARMUP, HORIZON, EVERY = 32, 100, 40
HORIZONS = {"0.5 s": WARMUP + 49, "1 s": WARMUP + 99}
_SHARED = {
    "particles": 8,
    "kernel": "rbf+linear",  # a lost share of the thrust is linear in what the GP sees
    "inducing_points": 40,
    "inducing_inputs": "kmeans",
    "lengthscale": 3.0,
    "output_variance": 1e-4,
    "process_variance": 1e-5,
}


def make_model(method: str) -> gpssm.Model:
    shared = {**_SHARED, "physics": voliro_physics()}
    if method == "cbf-ssm":
        return gpssm.cbf_ssm(k=1, smoother_kernel="linear", hidden_variance=1e-2, **shared)
    return gpssm.method(method, **{**shared, "warmup": 8})


def training_settings(length: int, steps: int) -> dict[str, Any]:
    """Not calibrated: that sets Σx by long forecasts, and would widen the band of one step.

    That was seen on the test flight: docs/hybrid.md says so.
    """
    return {
        "steps": steps,
        "learning_rate": 0.03,
        "state_kl": 1.0,
        "sequence_length": length,
        "batch_size": max(STATES_PER_STEP // length, 2),
        "calibrate": False,
    }


@cache
def flights() -> tuple[gpssm.Dataset, Flight]:
    key = jax.random.key(SEED)
    return voliro(key), voliro_test_flight(key)


# ---------------------------------------------------------------------- one training


def train(method: str, length: int, steps: int, folder: Path) -> gpssm.Run:
    """The run of these settings, from its file where there is one."""
    path = folder / "runs" / f"drone-{method}-{length}-{steps}.gpssm"
    if path.is_file():
        return gpssm.load(path, physics=voliro_physics())
    data, _ = flights()
    run = gpssm.fit(make_model(method), data.train, seed=SEED, **training_settings(length, steps))
    run.save(path)
    return run


def run_cell(method: str, length: int, steps: int, folder: Path) -> dict[str, Any]:
    begin = time.monotonic()
    run = train(method, length, steps, folder)
    data, truth = flights()
    stretches = cut(data.test.experiments[0], WARMUP, HORIZON, EVERY)
    return {
        "method": method,
        "settings": {**run.model.to_json(), **training_settings(length, steps)},
        "force": force_scores(run, truth),
        "open_loop": pose_errors(forecast(run, stretches, WARMUP), stretches[1]),
        "elbo": float(run.history.table["elbo"].iloc[-20:].mean()),
        "seconds": time.monotonic() - begin,
        "versions": provenance(),
    }


def pose_errors(forecasts: np.ndarray, y: np.ndarray) -> dict[str, dict[str, float]]:
    return {
        "position [m]": errors_at(forecasts, y, HORIZONS, distance),
        "attitude [rad]": errors_at(forecasts, y, HORIZONS, turn),
    }


# ---------------------------------------------------------------------- forces


def physical_wrench(u: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(physical_model)(jnp.asarray(u[:, :6]), jnp.asarray(u[:, 6:])))


def predicted_wrench(run: gpssm.Run, truth: Flight) -> tuple[np.ndarray, np.ndarray]:
    """Mean and std of what acts in one step: f_PM + f_GP, and process noise as a force.

    Noise of a velocity with the variance Σx per step is a force of variance Σx (m / step)².
    """
    mean, std = run.learned(truth.states, truth.u)
    physics = voliro_physics()
    with jax.enable_x64(True):  # which the parameters are in
        noise = np.sqrt(np.asarray(run.system.model.transition.noise)[7:])
    mass = np.array([MASS] * 3 + [physics.parameters[f"inertia_{axis}"] for axis in "xyz"])
    scales = np.array([physics.scales[name] for name in physics.hidden])
    return physical_wrench(truth.u) + mean, np.hypot(std, noise * scales * mass / STEP)


def force_scores(run: gpssm.Run, truth: Flight) -> dict[str, Any]:
    mean, std = predicted_wrench(run, truth)
    error, alone = mean - truth.wrench, physical_wrench(truth.u) - truth.wrench
    inside = np.abs(error) <= 1.96 * std
    gp_std = run.learned(truth.states, truth.u)[1]
    return {
        "force RMSE [N]": _rms(error[:, :3]),
        "force RMSE of physics [N]": _rms(alone[:, :3]),
        "ratio": _rms(error[:, :3]) / _rms(alone[:, :3]),
        "torque RMSE [N m]": _rms(error[:, 3:]),
        "torque RMSE of physics [N m]": _rms(alone[:, 3:]),
        "coverage of forces": float(inside[:, :3].mean()),
        "coverage of torques": float(inside[:, 3:].mean()),
        "mean std of forces [N]": float(std[:, :3].mean()),
        "mean std of the GP [N]": float(gp_std[:, :3].mean()),
    }


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def estimated_forces(y: np.ndarray) -> np.ndarray:
    """From measured poses alone: m R⁻¹(a − g), with a from cubics through 21 positions."""
    acceleration = savgol_filter(y[:, :3], 21, 3, deriv=2, delta=STEP, axis=0)
    q = y[:, 3:7] / np.linalg.norm(y[:, 3:7], axis=1, keepdims=True)
    needed = MASS * (acceleration + np.array([0.0, 0.0, GRAVITY]))
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(rotate_back)(jnp.asarray(q), jnp.asarray(needed)))


# ---------------------------------------------------------------------- physics alone


def physics_alone(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Forecasts without a GP: velocities from quadratics through the warm-up, then the ODE."""
    start = np.stack([_state_at_the_end(each[:WARMUP]) for each in y])
    physics = voliro_physics()
    values, nothing = physics.values(jnp.zeros(0)), jnp.zeros(len(physics.yields))

    def one(x: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = physics.advance(x, u, values, nothing)
        return x, x

    roll = jax.jit(jax.vmap(lambda x, u: jax.lax.scan(one, x, u)[1]))
    with jax.enable_x64(True):
        # the state at the last row of the warm-up is moved by the input of that row
        x = np.asarray(roll(jnp.asarray(start), jnp.asarray(u[:, WARMUP - 1 : -1])))
    return np.concatenate([y[:, :WARMUP], x[:, :, :7]], axis=1)


def _state_at_the_end(y: np.ndarray, rows: int = 12) -> np.ndarray:
    """Pose and velocities at the last row, by least squares over the last rows."""
    time = STEP * np.arange(1 - rows, 1)
    fits = np.polynomial.polynomial.polyfit(time, y[-rows:], 2)
    q = fits[0, 3:] / np.linalg.norm(fits[0, 3:])
    w, x, y_, z = q
    to_body = 2.0 * np.array([[-x, w, z, -y_], [-y_, -z, w, x], [-z, y_, -x, w]])
    return np.concatenate([fits[0, :3], q, fits[1, :3], to_body @ fits[1, 3:]])


def compute(methods: Sequence[str], lengths: Sequence[int], steps: int, results: Path) -> None:
    data, _ = flights()
    u, y = cut(data.test.experiments[0], WARMUP, HORIZON, EVERY)
    path = results / RECORDS
    add_record(path, ["physics"], pose_errors(physics_alone(u, y), y))
    for length in lengths:
        for method in methods:
            stored = read_record(path, [method, str(length)])
            if stored and training_settings(length, steps).items() <= stored["settings"].items():
                continue
            try:
                record = run_cell(method, length, steps, results.parent)
            except gpssm.GpssmError as error:  # a method may well fail on an unstable plant
                record = {"method": method, "failure": str(error)}
                record["settings"] = training_settings(length, steps)
            add_record(path, [method, str(length)], record)
            print(method, length, record.get("force"), record.get("open_loop"), flush=True)
            jax.clear_caches()
