"""One of several processes that train together: `worker.py PROCESS PROCESSES PORT FOLDER STEPS`.

Without a port, which is 0, it finds the others by what a scheduler says in its environment.
Prints what came out, and how many rows of each batch it has read.
"""

import json
import sys
from pathlib import Path

import jax
import numpy as np

import gpssm
from gpssm.data.windows import Spool

SETTINGS = {
    "sequence_length": 8,
    "batch_size": 4,
    "validation": 0.2,
    "validate_steps": 100,
    "validation_warmup": 2,
    "calibrate": False,
    "checkpoint_steps": 100,
    "quiet": True,
}
WIDTHS = set()


def noted(self, first, length, read=Spool.read):
    """Reads windows, and notes how many of each batch were asked for."""
    if first.ndim == 3:
        WIDTHS.add(first.shape[2])
    return read(self, first, length)


def outcome(run: gpssm.Run) -> dict:
    numbers = np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(run.system)])
    return {"elbo": run.history.table["elbo"].tolist(), "parameters": numbers.tolist()}


if __name__ == "__main__":
    process, processes, port, folder, steps = *map(int, sys.argv[1:4]), *sys.argv[4:6]
    # Compiled once for all tests; the first process writes, and all read.
    gpssm.prepare(cores=1, cache=Path(folder).parent / "compiled")
    if processes > 1 and not port:
        gpssm.connect()
    elif processes > 1:
        gpssm.connect(f"127.0.0.1:{port}", processes, process)
    Spool.read = noted
    arrays = (np.load(Path(folder).parent / f"{name}.npy", mmap_mode="r") for name in "yu")
    print("ready", flush=True)
    data = gpssm.Dataset.from_arrays(*arrays)
    model = gpssm.vcdt(dim_x=1, recognition="output", inducing_points=4, particles=4, warmup=1)
    run = gpssm.fit(model, data, steps=int(steps), run_dir=folder, **SETTINGS)
    print(json.dumps({**outcome(run), "widths": sorted(WIDTHS)}), flush=True)
