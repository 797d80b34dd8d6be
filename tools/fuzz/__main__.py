"""`make fuzz`: run many cases in watched processes, keep those that fail, and report.

python -m tools.fuzz --cases 100000 --seed 0
python -m tools.fuzz --replay .fuzz/0-123
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tools import pages

from . import cases

ROOT = Path(__file__).parents[2]
FAULTS = ROOT / ".fuzz"
RESULT = ROOT / "results" / "fuzz.json"
HANG = 30.0  # seconds of one case, some hundred times what it needs
START = 180.0  # seconds until a process is ready
MOST_FAULTS = 200  # after which a process gives up


class Worker:
    """A process that runs cases, read line by line with a time limit."""

    def __init__(self, *numbers: int) -> None:
        command = [sys.executable, "-m", "tools.fuzz.worker", *map(str, numbers)]
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "JAX_NUM_CPU_DEVICES": "1"}
        quick = {"XLA_FLAGS": "--xla_backend_optimization_level=0", "JAX_PLATFORMS": "cpu"}
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**threads, **quick, **os.environ}, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)
        self.lines.put("")

    def line(self, seconds: float) -> dict[str, Any] | str:
        """What it says next, or why it says nothing."""
        try:
            text = self.lines.get(timeout=seconds)
        except queue.Empty:
            return "hang"
        return json.loads(text) if text else f"dead, exit code {self.process.wait()}"

    def stop(self) -> None:
        """End the process, if it has not ended."""
        self.process.kill()
        self.process.wait()


def watch(seed: int, first: int, end: int, step: int, until: float) -> Iterator[dict[str, Any]]:
    """How each case of a worker ended; a process that dies or hangs is replaced."""
    faults, stops = 0, None
    while first < end and faults < MOST_FAULTS and time.monotonic() < until:
        worker, wait = Worker(seed, first, end, step), START
        try:
            while first < end and time.monotonic() < until:
                said = worker.line(wait)
                if isinstance(said, str):  # between two cases: the next one is to blame, or none
                    stops = {"number": first, "kind": "?", "end": "fault", "error": said}
                    break
                if "end" not in said:
                    first, wait, stops = said["number"], HANG, None
                    continue
                faults += said["end"] == "fault"
                first = said["number"] + step
                yield said
        finally:
            worker.stop()
        if stops is not None:
            stops["kind"] = cases.draw(seed, first).kind
            yield stops
            faults, first, stops = faults + 1, first + step, None


def keep(seed: int, found: dict[str, Any]) -> Path:
    """Write the files of a fault to a folder, for `--replay`."""
    folder = FAULTS / f"{seed}-{found['number']}"
    cases.draw(seed, found["number"]).write(folder / "files")
    (folder / "case.json").write_text(json.dumps(found, indent=1))
    return folder


def replay(folder: Path) -> int:
    """Run a case that was kept in this process; an exception shows its traceback."""
    kind = json.loads((folder / "case.json").read_text())["kind"]
    files = sorted((folder / "files").iterdir())
    print(cases.run(kind, folder / "files" if kind == "folder" else files[0]))
    return 0


def summary(found: dict[str, Any]) -> str:
    """The section of the documentation."""
    counts = found["cases"]
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    ends = found["ends"]
    return (
        f'`make fuzz ARGS="--seed {found["seed"]}"` read {sum(counts.values())} damaged or made-up '
        f"files in {found['minutes']:.0f} minutes, in processes with a limit of 2 GB ({kinds}). "
        f"{ends.get('read', 0)} could be read and {ends.get('refused', 0)} were refused with a "
        f"message. {ends.get('fault', 0)} ended otherwise: in another exception, an abort, or no "
        f"end within {HANG:.0f} seconds."
    )


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Run the cases in several processes and count how they ended."""
    begun, until = time.monotonic(), time.monotonic() + 60.0 * asked.minutes
    ends: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    faults: list[dict[str, Any]] = []
    seconds: Counter[str] = Counter()

    def work(first: int) -> None:
        for found in watch(asked.seed, first, asked.cases, asked.workers, until):
            ends[found["end"]] += 1
            kinds[found["kind"]] += 1
            seconds[found["kind"]] += found.get("seconds", HANG)
            if found["end"] == "fault":
                kept = keep(asked.seed, found)
                print(f"{found['kind']}: {found['error']}\n  {kept}", flush=True)
                faults.append({key: found[key] for key in ("number", "kind", "error")})

    with ThreadPoolExecutor(asked.workers) as pool:
        list(pool.map(work, range(asked.workers)))
    for kind, total in seconds.most_common():
        print(f"{kind}: {kinds[kind]} cases, {1000 * total / kinds[kind]:.1f} ms each")
    return {
        "seed": asked.seed,
        "minutes": round((time.monotonic() - begun) / 60.0, 1),
        "cases": dict(kinds),
        "ends": dict(ends),
        "faults": faults,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run, or replay; 1 if a case ended in a fault or was left over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replay", type=Path, help="a folder of a fault")
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args(arguments)
    if asked.replay:
        return replay(asked.replay)
    found = measure(asked)
    asked.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(summary(found))
    if asked.out == RESULT:
        pages.update("fuzzing", summary(found))
    return int(bool(found["faults"]) or sum(found["cases"].values()) < asked.cases)


if __name__ == "__main__":
    sys.exit(main())
