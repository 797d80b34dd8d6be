"""`make torture`: kill a real `gpssm fit` again and again, and compare what it leaves in the end.

A trial is one run folder. Its process is killed several times: in the first second, while it claims
the folder, in training, in the calibration folds, in scoring and in the report. After each kill
every file must be whole. Then the same command runs to its end, and its files must be those of a
run that nobody disturbed, to the last byte.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpssm.base.sealing import is_sealed
from tools import pages

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "results" / "torture.json"
LOG = ROOT / "examples" / "two_tank.csv"
PROGRAM = "from gpssm.cli import main; main()"
PATIENCE = 600.0  # seconds in which a process ends, or something else is wrong
KILLS_PER_TRIAL = 5
SIGNALS = (signal.SIGKILL,) * 8 + (signal.SIGTERM, signal.SIGINT)
CONFIG = """
seeds = 2
calibration_folds = 2

[forecast]
particles = 20

[model]
dim_x = 2
inducing_points = 5
particles = 4
lag = 4
warmup = 4

[training]
steps = 75
sequence_length = 20
batch_size = 4
checkpoint_seconds = 0.0
validation_warmup = 4
"""


@dataclass(frozen=True)
class Moment:
    """When to kill: at most `spread` seconds after a file is new, or after the start."""

    name: str
    file: str | None  # a pattern in the run folder; None: the start of the process
    spread: float


MOMENTS = (  # in the order in which a run gets there
    Moment("first second", None, 1.0),
    Moment("claim", ".*", 0.15),
    Moment("claim", ".gpssm-run", 0.15),
    Moment("start of training", "run.json", 4.0),
    Moment("training", "checkpoints/*", 2.0),
    Moment("models", "seed-*.gpssm", 1.0),
    Moment("calibration", "folds-2/fold-*", 4.0),
    Moment("calibration", "folds-2/fold-1/checkpoints/*", 4.0),
    Moment("scoring", "folds-2/fold-1/seed-0.gpssm", 5.0),
    Moment("report", "scores.json", 3.0),
)


@dataclass
class Kill:
    """One signal: at which moment it came, and how long the process had run."""

    moment: str
    signal: str
    seconds: float


@dataclass
class Trial:
    """What happened in one run folder."""

    number: int
    kills: list[Kill] = field(default_factory=list)
    ended: int = 0  # processes that ended before their signal
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Torturer:
    """Starts the runs of one session, which share what was compiled."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, folder / "torture.toml"
        self.config.write_text(CONFIG)
        self.usual = 20.0  # seconds of a whole run
        shared = {"XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "120"}
        source = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        self._around = {**os.environ, **shared, "PYTHONPATH": source}

    def start(self, run: Path) -> subprocess.Popen[str]:
        """The command that is killed, and that goes on."""
        words = ["fit", LOG, "--inputs", "pump", "--outputs", "level", "--time", "time"]
        words += ["--config", self.config, "--cores", "1", "--out", run]
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, words)],
            env=self._around,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, run: Path) -> str:
        """Run it to its end; return what is wrong, or nothing."""
        _, said = (process := self.start(run)).communicate(timeout=PATIENCE)
        return "" if process.returncode == 0 else f"exit code {process.returncode}: {said[-500:]}"

    def run_trial(self, number: int, seed: int, whole: dict[str, bytes]) -> Trial:
        """Several kills in a folder, then the command once more, to its end."""
        trial, random_ = Trial(number), random.Random(1000 * seed + number)
        run, begun = self.folder / f"trial-{number}" / "run", time.monotonic()
        for moment in sorted(random_.choices(MOMENTS, k=KILLS_PER_TRIAL), key=MOMENTS.index):
            self._kill(run, moment, random_, trial)
            trial.faults += [f"after {moment.name}: {fault}" for fault in damaged(run)]
        if fault := self.finish(run):
            trial.faults.append(fault)
        trial.faults += differences(whole, content(run))
        trial.seconds = time.monotonic() - begun
        if not trial.faults:
            shutil.rmtree(run.parent)
        return trial

    def _kill(self, run: Path, moment: Moment, random_: random.Random, trial: Trial) -> None:
        number, delay = random_.choice(SIGNALS), random_.uniform(0.0, moment.spread)
        before, begun = files_of(run, moment), time.monotonic()
        # The run may be beyond that moment since the last kill: then anywhere.
        latest = begun + random_.uniform(0.2, 1.0) * self.usual
        process, name = self.start(run), moment.name
        while process.poll() is None and not _arrived(run, moment, before):
            time.sleep(0.002)
            if time.monotonic() > latest:
                name, delay = "anywhere", 0.0
                break
        _wait(process, delay)
        if process.poll() is not None:
            trial.ended += 1
            process.communicate()
            return
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
        trial.kills.append(Kill(name, number.name, round(time.monotonic() - begun, 2)))
        # Before the program's first line Python itself speaks.
        if "Traceback" in said and moment.file is not None:
            trial.faults.append(f"{number.name} in {name}: {said[-500:]}")


def files_of(run: Path, moment: Moment) -> set[tuple[str, int]]:
    """The files of a moment, each with the time when it was written."""
    found = run.glob(moment.file) if moment.file else ()
    return {(str(path), each.st_mtime_ns) for path in found if (each := _stat(path))}


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:  # renamed meanwhile
        return None


def _arrived(run: Path, moment: Moment, before: set[tuple[str, int]]) -> bool:
    """Whether something new is there."""
    return moment.file is None or bool(files_of(run, moment) - before)


def _wait(process: "subprocess.Popen[str]", seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


# ---------------------------------------------------------------------- what must hold


def _files(run: Path) -> Iterator[Path]:
    """All that gpssm itself writes; the checkpoints are Orbax's, which go on from any of them."""
    for path in sorted(run.rglob("*")):
        if path.is_file() and "checkpoints" not in path.relative_to(run).parts:
            yield path


def content(run: Path) -> dict[str, bytes]:
    """Every file but the locks, by its name; the path of the folder itself does not count."""
    kept, own = (path for path in _files(run) if path.name != ".lock"), str(run).encode()
    return {str(path.relative_to(run)): path.read_bytes().replace(own, b"RUN") for path in kept}


def differences(whole: dict[str, bytes], found: dict[str, bytes]) -> list[str]:
    """In which files a run differs from the undisturbed one."""
    names = sorted(whole.keys() | found.keys())
    return [f"{name} differs" for name in names if whole.get(name) != found.get(name)]


def damaged(run: Path) -> list[str]:
    """Files that are there under their name, but are not whole."""
    return [f"{path.name} is not whole" for path in _files(run) if not _is_whole(path)]


def _is_whole(path: Path) -> bool:
    check = _CHECKS.get(path.suffix)
    try:
        return check is None or check(path.read_bytes())
    except ValueError:
        return False


_CHECKS = {  # by the end of the name; temporary files have another one
    ".json": lambda data: bool(json.loads(data)),
    ".toml": lambda data: bool(tomllib.loads(data.decode())),
    ".gpssm": is_sealed,
    ".html": lambda data: data.rstrip().endswith(b"</html>"),
    ".csv": lambda data: data.endswith(b"\n"),
}


# ---------------------------------------------------------------------- the whole session


def torture(kills: int, seed: int, workers: int, folder: Path) -> dict[str, Any]:
    """At least so many kills; all that was seen."""
    begun, torturer = time.monotonic(), Torturer(folder)
    for name in ("undisturbed", "again"):  # the second one with all programs compiled
        started = time.monotonic()
        if fault := torturer.finish(folder / name / "run"):
            raise SystemExit(f"the undisturbed run failed: {fault}")
    torturer.usual = time.monotonic() - started
    whole, again = (content(folder / name / "run") for name in ("undisturbed", "again"))
    trials = [Trial(0, faults=[f"undisturbed: {each}" for each in differences(whole, again)])]
    with ThreadPoolExecutor(workers) as pool:
        while (done := sum(len(trial.kills) for trial in trials)) < kills:
            count = max(-(-(kills - done) // KILLS_PER_TRIAL), 1)
            numbers = range(len(trials), len(trials) + count)
            for trial in pool.map(lambda number: torturer.run_trial(number, seed, whole), numbers):
                trials.append(trial)
                state = "; ".join(trial.faults) or "the same bytes"
                print(f"trial {trial.number}: {len(trial.kills)} kills, {state}", flush=True)
    return summary(trials, seed, time.monotonic() - begun, len(whole))


def summary(trials: Sequence[Trial], seed: int, seconds: float, files: int) -> dict[str, Any]:
    """The results file."""
    kills = [kill for trial in trials for kill in trial.kills]
    return {
        "seed": seed,
        "kills": len(kills),
        "runs": len(trials) - 1,
        "minutes": round(seconds / 60, 1),
        "files_compared": files,
        "by_moment": dict(Counter(kill.moment for kill in kills)),
        "by_signal": dict(Counter(kill.signal for kill in kills)),
        "faults": [f"trial {trial.number}: {each}" for trial in trials for each in trial.faults],
        "trials": [asdict(trial) for trial in trials[1:]],
    }


def page_of(found: dict[str, Any]) -> str:
    """The section of the documentation."""
    moments = "\n".join(f"| {name} | {count} |" for name, count in found["by_moment"].items())
    signals = ", ".join(f"{count} × {name}" for name, count in found["by_signal"].items())
    outcome = "all of them equal to those of an undisturbed run, byte by byte"
    if found["faults"]:
        outcome = f"with {len(found['faults'])} faults: {'; '.join(found['faults'])}"
    return f"""
`make torture` starts a real `gpssm fit` (two seeds, two calibration folds, a report), kills it at
random moments, and runs the same command again until it ends. After each kill every file must be
whole. In the end it compares models, scores, report, data, configuration and histories.

{found["kills"]} kills ({signals}) in {found["runs"]} run folders, in {found["minutes"]} minutes:
{found["files_compared"]} files in each folder, {outcome}.

| killed in | kills |
|---|---|
{moments}
"""


def main() -> None:
    """Parse, run, write the results, and fail if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="run folders at the same time")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gpssm-torture-"))
    found = torture(asked.kills, asked.seed, asked.workers, folder)
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    pages.update("kills", page_of(found))
    print(f"{found['kills']} kills, {len(found['faults'])} faults, {found['minutes']} minutes")
    if found["faults"]:
        raise SystemExit("\n".join([*found["faults"], f"The folders are in {folder}."]))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
