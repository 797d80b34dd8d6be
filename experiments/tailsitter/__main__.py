"""Measured hover flights of a tail-sitter: rigid-body kinematics, accelerations from a GP.

    python -m experiments.tailsitter            results/tailsitter.json and results/tailsitter.md
    python -m experiments.tailsitter --quick    few steps, into runs/quick
    python -m experiments.tailsitter --validate --steps 1000 --set k=1 learning_rate=0.02
                                                how settings are chosen, into runs/validation

Flights at 25 Hz. Trained on four of them, tested on two: open-loop pose error from a warm-up,
beside the last velocity held, a linear ARX and a black-box CBF-SSM. With --validate the fourth
flight takes the place of the test flights, and the other three are trained on.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gpssm
from gpssm.data import Dataset
from gpssm.linear import arx
from gpssm.linear.arx import ArxOrder

from ..common.files import ROOT, provenance, read_json, write_json, write_text
from ..common.open_loop import Stretches, cut, distance, errors_at, forecast
from ..common.pages import MISSING, publish
from ..common.rotation import euler_rates
from ..common.tables import markdown_table

HYBRID = ROOT / "docs" / "hybrid.md"

FACTOR, STEP = 4, 0.04  # of the 100 Hz of the files
WARMUP, HORIZON, EVERY = 16, 50, 15
HORIZONS = {f"{s:g} s": WARMUP - 1 + round(s / STEP) for s in (0.5, 1.0, 2.0)}
POSE = ("px", "py", "pz", "roll", "pitch", "yaw")
VELOCITY = ("vx", "vy", "vz", "wx", "wy", "wz")
CONTROLS = ("roll control", "pitch control", "yaw control", "thrust")
ORDERS = tuple(ArxOrder(o, i, r) for o in (1, 2, 4, 8) for i in (1, 4) for r in (1e-6, 1e-3))
METHODS = ("hybrid CBF-SSM", "black-box CBF-SSM")
_SHARED = {"particles": 8, "inducing_points": 40, "inducing_inputs": "kmeans", "lookahead": 4}
_TRAINING = {"sequence_length": 50, "batch_size": 12, "state_kl": 1.0}
_OWN_TRAINING = {
    METHODS[0]: {"steps": 6000, "learning_rate": 0.02},
    METHODS[1]: {"steps": 3000, "learning_rate": 0.03},  # at rest after a thousand
}


def kinematics(x: jax.Array, u: jax.Array, parameters: dict, f: jax.Array) -> jax.Array:
    """Position and Euler angles from velocities; all accelerations come from the GP."""
    del u, parameters
    return jnp.concatenate([x[6:9], euler_rates(x[3:6], x[9:]), f])


@cache
def tailsitter_physics() -> gpssm.Physics:
    return gpssm.Physics(
        rates=kinematics,
        step=STEP,
        states=(*POSE, *VELOCITY),
        observed=POSE,
        scales={**dict.fromkeys(VELOCITY[:3], 0.4), **dict.fromkeys(VELOCITY[3:], 0.2)},
        inputs=CONTROLS,
        yields={**dict.fromkeys(("ax", "ay", "az"), 1.0), **dict.fromkeys(("dx", "dy", "dz"), 1.0)},
        sees=(*POSE[3:], *VELOCITY, *CONTROLS),
        name="tail-sitter",
    )


def models() -> dict[str, gpssm.Model]:
    """The hybrid, and the black box: each with what was best on the last training flight."""
    hybrid, black_box = METHODS
    return {
        hybrid: gpssm.cbf_ssm(
            k=5,
            physics=tailsitter_physics(),
            kernel="rbf+linear",
            smoother_kernel="linear",
            output_variance=1e-3,
            process_variance=1e-4,
            hidden_variance=0.1,
            **_SHARED,
        ),
        black_box: gpssm.cbf_ssm(
            k=1,
            dim_x=12,
            start="linear",
            smoother_sees_steps=True,
            hidden_variance=0.1,
            **_SHARED,
        ),
    }


@cache
def flights(validate: bool = False) -> tuple[Dataset, Dataset]:
    """To train on, and to score on."""
    data = gpssm.load_dataset("tailsitter").decimate(FACTOR, average_inputs=True)
    if not validate:
        return data.train, data.test
    *others, last = data.train.experiments
    return replace(data.train, experiments=others), replace(data.train, experiments=[last])


# ---------------------------------------------------------------------- forecasts


def hold_velocity(u: np.ndarray, y: np.ndarray, rows: int = 4) -> np.ndarray:
    """The pose goes on from its last measurement as a line through the last rows says."""
    del u
    time = np.arange(1 - rows, 1)
    slope = np.einsum("t,bty->by", time - time.mean(), y[:, WARMUP - rows : WARMUP])
    slope = slope / np.sum(np.square(time - time.mean()))
    ahead = np.arange(1, y.shape[1] - WARMUP + 1)[None, :, None]
    rest = y[:, WARMUP - 1 : WARMUP] + ahead * slope[:, None]
    return np.concatenate([y[:, :WARMUP], rest], axis=1)


def linear(train: Dataset) -> tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], str]:
    model = arx(train, ORDERS)

    def predict(u: np.ndarray, y: np.ndarray) -> np.ndarray:
        pairs = zip(u, y, strict=True)
        return np.stack([model.predict_mean(a, b[:WARMUP]) for a, b in pairs])

    return predict, model.description


def attitude(forecasts: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.linalg.norm(forecasts[:, 3:] - truth[:, 3:], axis=1)


def scores(forecasts: Sequence[np.ndarray], stretches: Sequence[Stretches]) -> dict[str, Any]:
    """Over all starts of all test flights together, and of each flight."""
    truth = [y for _, y in stretches]

    def both(f: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        return {
            "position [m]": errors_at(f, y, HORIZONS, distance),
            "attitude [rad]": errors_at(f, y, HORIZONS, attitude),
        }

    flights_apart = [both(f, y) for f, y in zip(forecasts, truth, strict=True)]
    return {**both(np.concatenate(forecasts), np.concatenate(truth)), "flights": flights_apart}


# ---------------------------------------------------------------------- the command


def compute(
    steps: int | None, results: Path, names: Sequence[str], validate: bool, changes: dict[str, Any]
) -> None:
    path = results / "tailsitter.json"
    train, test = flights(validate)
    stretches = [cut(each, WARMUP, HORIZON, EVERY) for each in test.experiments]
    record = read_json(path) or {"methods": {}}
    found = record["methods"]
    found["last velocity held"] = scores([hold_velocity(*each) for each in stretches], stretches)
    if "linear ARX" not in found:
        predict, chosen = linear(train)
        found["linear ARX"] = scores([predict(*each) for each in stretches], stretches)
        found["linear ARX"]["chosen"] = chosen
    write_json(path, record)
    fields = gpssm.Training.model_fields
    of_model = {k: v for k, v in changes.items() if k not in fields}
    for name, model in models().items():
        training = _TRAINING | _OWN_TRAINING[name] | ({"steps": steps} if steps else {})
        training |= {k: v for k, v in changes.items() if k in fields}
        label = name + "".join(f", {k}={v}" for k, v in changes.items())
        label += f", {training['steps']} steps" if validate else ""
        if name not in names or found.get(label, {}).get("training") == training:
            continue
        begin = time.monotonic()
        run = gpssm.fit(model.replace(**of_model), train, **training)
        run.save(results.parent / "runs" / f"tailsitter-{label.replace(' ', '-')}.gpssm")
        found[label] = scores([forecast(run, each, WARMUP) for each in stretches], stretches)
        found[label] |= {"training": training, "seconds": time.monotonic() - begin}
        record |= {
            "test flights": [each.name for each in test.experiments],
            "starts": [len(u) for u, _ in stretches],
            "versions": provenance(),
        }
        write_json(path, record)
        print(label, {k: v for k, v in found[label].items() if k != "flights"}, flush=True)
        jax.clear_caches()


def changed(assignments: Sequence[str]) -> dict[str, Any]:
    """`key=value` of the command line, the values as in JSON or plain text."""
    found = {}
    for key, _, text in (each.partition("=") for each in assignments):
        try:
            found[key] = json.loads(text)
        except json.JSONDecodeError:
            found[key] = text
    return found


def page(record: dict[str, Any]) -> str:
    """A row for every model; of a fitted one, how long it was trained."""
    position, attitude = "position [m]", "attitude [rad]"
    heads = [f"{q} at {h}" for q in (position, attitude) for h in HORIZONS]
    rows, by_flight = [], []
    for name, each in record["methods"].items():
        cells = [f"{each[q][h]:.3f}" for q in (position, attitude) for h in HORIZONS]
        rows.append([name, str(each.get("training", {}).get("steps", MISSING)), *cells])
        cells = [f"{flight[position][h]:.3f}" for flight in each["flights"] for h in HORIZONS]
        by_flight.append([name, *cells])
    flights = record["test flights"]
    return "\n\n".join([
        f"Open-loop RMSE over starts all along the flights {' and '.join(flights)}, one seed.",
        markdown_table(["model", "steps", *heads], rows),
        "The position of each flight alone:",
        markdown_table(["model", *(f"{f} at {h}" for f in flights for h in HORIZONS)], by_flight),
    ])  # fmt: skip


def write_pages(results: Path) -> list[Path]:
    path, body = results / "tailsitter.md", page(read_json(results / "tailsitter.json"))
    write_text(path, f"# Tail-sitter, unseen flights\n\n{body}\n")
    return [path, *publish(results, HYBRID, body, "tailsitter")]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.tailsitter", description=__doc__)
    parser.add_argument("--steps", type=int, help="default: as chosen for each model")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--results", type=Path, help="default: see above")
    parser.add_argument("--quick", action="store_true", help="20 steps")
    parser.add_argument("--validate", action="store_true", help="on the last training flight")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="other settings")
    options = parser.parse_args(arguments)
    if options.set and not options.validate:
        parser.error("--set: settings are chosen with --validate, and then written into models()")
    gpssm.prepare(cores=1)
    folder = "runs/quick/results" if options.quick else "results"
    results = options.results or ROOT / ("runs/validation/results" if options.validate else folder)
    steps = 20 if options.quick else options.steps
    compute(steps, results, options.methods, options.validate, changed(options.set))
    for path in write_pages(results):
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
