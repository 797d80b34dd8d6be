"""Runs cases one after the other in a process of its own, and says how each one ended."""

import json
import resource
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import jax

from . import cases, models

_MEMORY = 2 * 2**30  # bytes
_MANY_MAPPINGS = 30_000  # compiled programs are mappings, of which a process may have 65 530


def limit_memory() -> None:
    """No more than 2 GB for this process.

    JAX reserves a large address space that it does not use. So the limit is set on what can still
    be asked for: 2 GB less what is resident now.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    reserved, resident = (int(status[key].split()[0]) * 1024 for key in ("VmData", "VmRSS"))
    most = reserved + _MEMORY - resident
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def outcome(case: cases.Case, folder: Path) -> dict[str, Any]:
    """How a case ends: read, refused, or a fault with its traceback."""
    begun = time.monotonic()
    try:
        found = {"end": cases.run(case.kind, case.write(folder)).split(":")[0]}
    except BaseException as error:  # whatever it is: that is the question
        found = {"end": "fault", "error": f"{type(error).__name__}: {str(error)[:300]}"}
        found["traceback"] = "".join(traceback.format_exception(error))[-6000:]
    shutil.rmtree(folder)
    return {**found, "kind": case.kind, "seconds": round(time.monotonic() - begun, 3)}


def few_programs() -> None:
    """Forget compiled programs before there are too many for a process."""
    if Path("/proc/self/maps").read_bytes().count(b"\n") > _MANY_MAPPINGS:
        jax.clear_caches()


def main(seed: int, first: int, end: int, step: int) -> None:
    """Run every `step`-th case and print its number before, and how it ended after."""
    answers, sys.stdout = sys.stdout, sys.stderr
    models.sound_folder()
    for content in models.stored():  # compile what loads them, before the limit and the clock
        with tempfile.TemporaryDirectory() as folder:
            cases.run("model", cases.Case("model", {"m.gpssm": content}).write(Path(folder)))
    limit_memory()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        for number in range(first, end, step):
            case = cases.draw(seed, number)
            print(json.dumps({"number": number, "kind": case.kind}), file=answers, flush=True)
            found = {"number": number, **outcome(case, Path(place) / "case")}
            print(json.dumps(found), file=answers, flush=True)
            if number // step % 100 == 0:
                few_programs()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
