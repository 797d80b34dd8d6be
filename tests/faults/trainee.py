"""A small training run for the fault tests to disturb: `trainee.py RUN_DIR STEPS COMPILED`."""

import hashlib
import sys
from pathlib import Path

import jax
import numpy as np

import gpssm

MODEL = gpssm.cbf_ssm(dim_x=2, inducing_points=5, particles=4, lag=4)

SETTINGS = {
    "sequence_length": 12,
    "batch_size": 4,
    "checkpoint_seconds": 0.0,
    "validation": 0.2,
    "calibrate": False,
    "validate_steps": 20,
}
STAGES = [gpssm.Stage(steps=310, sequence_length=8)]


def record() -> tuple[np.ndarray, np.ndarray]:
    """A stable linear system with one hidden state."""
    rng = np.random.default_rng(0)
    u, x, y = rng.standard_normal((300, 1)), np.zeros(2), []
    for now in u:
        y.append(x[0] + 0.05 * rng.standard_normal())
        x = np.array([0.9 * x[0] + 0.3 * x[1], 0.7 * x[1] + 0.5 * now[0]])
    return u, np.array(y)[:, None]


def fit(run_dir: Path | str, steps: int, **settings) -> gpssm.Run:
    u, y = record()
    settings = {**SETTINGS, "steps": steps, "run_dir": run_dir, **settings}
    return gpssm.fit(MODEL, u=u, y=y, quiet=True, **settings)


def fingerprint(run: gpssm.Run) -> str:
    """Of every parameter and every row of the history, bit by bit."""
    leaves = [*jax.tree.leaves(run.system), *run.history.columns().values()]
    return hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in leaves)).hexdigest()


if __name__ == "__main__":
    # What is compiled once need not be compiled after every kill.
    jax.config.update("jax_compilation_cache_dir", sys.argv[3])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    print("ready", flush=True)
    run = fit(sys.argv[1], int(sys.argv[2]), stages=STAGES, validate_steps=110)
    print(fingerprint(run), flush=True)
