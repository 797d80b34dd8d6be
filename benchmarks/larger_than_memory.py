"""Memory and cost per step of training on data that stays on disk: a table in Markdown.

    python benchmarks/larger_than_memory.py --rows 10000000

Writes a Parquet file (seeded, block by block) into a temporary folder. A process of its own then
reads it with `on_disk` and fits, and tells its peak of resident memory. After that the same
training runs from memory, from disk, and from disk with the system's file cache emptied first, in
turns in one process: the ratios of their times per step are what counts. Seconds of the processor
are told beside those of the clock: they count the thread that reads, and no other program.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.signal import lfilter
from workloads import WORKLOADS, configure

import gpssm
from gpssm.inference import build
from gpssm.inference.sequences import from_batch_first
from gpssm.training import make_phases, train
from gpssm.training.batches import CHUNK

BLOCK = 1 << 18
CHANNELS = ("u", "y")
MODEL, TRAINING = configure(WORKLOADS["small"], "cbf-ssm-50")


def write_log(path: Path, rows: int) -> None:
    """A filter of two states behind a soft limit, driven by noise; one output in 50 is missing."""
    rng, memory = np.random.default_rng(0), np.zeros(2)
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in CHANNELS])) as file:
        for first in range(0, rows, BLOCK):
            u = rng.standard_normal(min(BLOCK, rows - first))
            x, memory = lfilter([0.0, 0.3], [1.0, -1.6, 0.7], u, zi=memory)
            y = np.tanh(x) + 0.05 * rng.standard_normal(len(u))
            y[rng.random(len(u)) < 0.02] = np.nan
            file.write(pa.table({"u": u, "y": y}))


def read(path: Path, on_disk: bool) -> gpssm.Dataset:
    return gpssm.read(path, inputs="u", outputs="y", on_disk=on_disk and path.parent / "arrays")


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_memory(path: Path, steps: int) -> None:
    """What a user does, and the peak after each part of it."""
    begin = time.perf_counter()

    def tell(what: str) -> None:
        print(
            f"| {what} | {time.perf_counter() - begin:.0f} | {peak_megabytes():.0f} |", flush=True
        )

    tell("Python, JAX and gpssm loaded")
    data = read(path, on_disk=True).split(train=0.9)
    tell("Parquet converted to arrays, once")
    settings = {"batch_size": 10, "sequence_length": 50, "quiet": True}
    gpssm.fit(MODEL, data.train, steps=steps, run_dir=path.parent / "run", **settings)
    tell(f"fit of {steps} steps, calibration and checkpoints included")


class Clock:
    """A progress that notes when each chunk of steps has ended."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []
        self.update(0, {})

    def update(self, step: int, terms: dict[str, float]) -> None:
        del step, terms
        self.times.append((time.perf_counter(), time.process_time()))


def seconds_per_chunk(phases, system) -> list[list[float]]:
    """[clock, processor] of one training, without its first chunk, which nobody has read ahead."""
    clock = Clock()

    @contextmanager
    def progress(title: str, total: int):
        del title, total
        yield clock

    train(jax.random.key(1)[None], [system], phases, progress, jax.devices()[:1])
    return np.diff(clock.times, axis=0)[1:].tolist()


def empty_file_cache(folder: Path) -> None:
    for file in folder.rglob("*.npy"):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def measure_cost(path: Path, rounds: int, steps: int) -> None:
    """The same training from all three places, one after the other, several times."""
    here, there = (read(path, on_disk) for on_disk in (False, True))
    normalisation = gpssm.Normalisation.of(there)
    training = TRAINING.replace(steps=steps)
    with jax.enable_x64(True):
        phases = {
            "in memory": make_phases(here, normalisation, training),
            "on disk": make_phases(there, normalisation, training),
        }
        phases["on disk, file cache emptied first"] = phases["on disk"]
        windows = phases["in memory"][0].windows
        examples = windows.read(windows.starts[:64], training.sequence_length)
        system = build(jax.random.key(0), MODEL, from_batch_first(*examples))
        times: dict[str, list[list[float]]] = {place: [] for place in phases}
        for round_ in range(rounds + 1):
            for place, each in phases.items():
                if "emptied" in place:
                    empty_file_cache(path.parent)
                found = seconds_per_chunk(each, system)
                times[place] += found if round_ else []  # the first one compiles
    print(
        "\n| data | ms per step | ratio | ms of the processor | ratio |\n|---|---:|---:|---:|---:|"
    )
    medians = {place: np.median(each, axis=0) / CHUNK * 1e3 for place, each in times.items()}
    for place, median in medians.items():
        cells = np.stack([median, median / medians["in memory"]], axis=1).ravel()
        print(f"| {place} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--steps", type=int, default=100, help="of each fit")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="in place of a temporary one")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        measure_memory(arguments.memory_of, arguments.steps)
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "log.parquet"
        write_log(path, arguments.rows)
        size = path.stat().st_size / 1e6
        print(f"{arguments.rows} rows, {len(CHANNELS)} channels, a file of {size:.0f} MB\n")
        print("| | seconds | peak MB |\n|---|---:|---:|", flush=True)
        command = [sys.executable, __file__, "--memory-of", str(path)]
        subprocess.run([*command, "--steps", str(arguments.steps)], check=True)
        measure_cost(path, arguments.rounds, arguments.steps)


if __name__ == "__main__":
    main()
