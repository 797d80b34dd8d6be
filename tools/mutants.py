"""`make mutants`: small changes of the source, drawn at random, and whether a test notices them.

Each change is made in a copy of the project. The tests that touch the file run there, those of the
same room and those that mention the function first, until one fails. That test must pass without
the change. A test that hangs has noticed it, too.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

from tools import pages
from tools.mutations import Mutation, draw, find_mutations

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "results" / "mutants.json"
ROOMS = ("data", "inference", "prediction", "report", "cli")
SLOW = ("experiments", "multidevice", "faults", "study", "docs", "tools", "base", "gp")
# Tests of other rooms that exist to check this one, beyond what their words show.
BESIDES = {
    "inference": ("equivalence", "fitted"),
    "prediction": ("fitted",),
    "report": ("cli",),
    "cli": ("workflow",),
}
BUDGET = 240.0  # seconds of tests for each change
HANG = 60.0  # seconds of one test
WORKERS = 2


@dataclass
class Place:
    """A copy of the project, in which one change at a time is made."""

    root: Path
    passing: set[str] = field(default_factory=set)

    def tests(self, names: Iterable[str], seconds: float) -> tuple[str, str]:
        """`passed`, `failed`, `hung` or `out of time`, and by which test."""
        command = [
            sys.executable, "-m", "pytest", "-x", "-v", "--no-header",
            "-p", "no:cacheprovider", "-o", f"faulthandler_timeout={HANG}",
            "-o", "faulthandler_exit_on_timeout=true",
            *names,
        ]  # fmt: skip
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment = {**os.environ, **threads, "PYTHONPATH": str(self.root / "src")}
        log = self.root / "tests.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return "out of time", ""
        return verdict(code, log.read_text(encoding="utf-8", errors="replace"))

    def passes(self, test: str) -> bool:
        """Whether the test passes here without any change."""
        if test not in self.passing and self.tests([test], 2 * BUDGET)[0] == "passed":
            self.passing.add(test)
        return test in self.passing


def verdict(code: int, log: str) -> tuple[str, str]:
    """What a run of pytest says: its result, and the test that failed first."""
    if code in (0, 5):
        return "passed", ""
    if found := re.search(r"^(?:FAILED|ERROR) (\S+::.*?|\S+)(?: - .*)?$", log, re.M):
        return "failed", found[1]
    begun = re.findall(
        r"^(\S+\.py::.*?)(?: (?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|Timeout).*)?$", log, re.M
    )
    if "Timeout" in log and begun:
        return "hung", begun[-1].rstrip()
    return "failed", begun[-1].rstrip() if begun and code < 0 else ""


def copy_project(root: Path, to: Path) -> Place:
    """A copy without what git ignores; compiled programs are shared."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    (root / ".pytest_cache").mkdir(exist_ok=True)
    (to / ".pytest_cache").symlink_to(root / ".pytest_cache")
    return Place(to)


def enclosing(path: Path, line: int) -> list[str]:
    """Names of the functions and classes around a line, the innermost first."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    around = [n for n in ast.walk(tree) if isinstance(n, kinds) and n.lineno <= line <= _end(n)]
    return [node.name for node in sorted(around, key=lambda n: -n.lineno)]


def _end(node: ast.AST) -> int:
    return getattr(node, "end_lineno", 0) or 0


def public_names(path: Path) -> list[str]:
    """What a module defines for others."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = [n.name for n in tree.body if isinstance(n, kinds)]
    return [name for name in names if not name.startswith("_")] or [path.stem]


def touching_tests(mutation: Mutation, root: Path = ROOT) -> list[str]:
    """Test files, the likeliest to notice first: by the words in them and by their room."""
    room = mutation.path.relative_to(root / "src" / "gpssm").parts[0]
    near = (room, *BESIDES.get(room, ()))
    around, public = enclosing(mutation.path, mutation.line), public_names(mutation.path)
    stem = mutation.path.stem

    def rank(test: Path) -> tuple[bool, ...] | None:
        text, place = test.read_text(encoding="utf-8"), test.relative_to(root / "tests").parts[0]
        mentions = _mentions(text, public) or bool(re.search(rf"\bimport .*\b{stem}\b", text))
        if place not in near and (place in SLOW or not mentions):
            return None
        own = stem in test.stem or f".{stem} import" in text
        return (
            place != room,
            place not in near,
            not _mentions(text, around),
            not own,
            not mentions,
        )

    ranked = [(rank(test), test) for test in sorted((root / "tests").rglob("test_*.py"))]
    found = sorted((each, str(test)) for each, test in ranked if each is not None)
    return [str(Path(test).relative_to(root)) for _, test in found]


def _mentions(text: str, names: Iterable[str]) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)


def try_one(
    mutation: Mutation, place: Place, budget: float = BUDGET, root: Path = ROOT
) -> dict[str, Any]:
    """Make a change in the copy, run its tests, and undo it."""
    begun, path = time.monotonic(), mutation.path.relative_to(root)
    text = mutation.path.read_bytes()
    try:
        _write_source(place.root / path, mutation.apply(text))
        outcome, test = place.tests(touching_tests(mutation, root), budget)
    finally:
        _write_source(place.root / path, text)
    if outcome in ("failed", "hung") and test and not place.passes(test):
        outcome, test = "unclear", f"{test}, which fails without the change"
    return {
        "file": str(path),
        "line": mutation.line,
        "kind": mutation.kind,
        "diff": mutation.diff(text),
        "noticed": outcome in ("failed", "hung"),
        "outcome": outcome,
        "by": test or ("import of the package" if outcome == "failed" else ""),
        "seconds": round(time.monotonic() - begun, 1),
    }


def _write_source(path: Path, text: bytes) -> None:
    """Compiled files of before are removed: they may have the same time and size."""
    path.write_bytes(text)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def try_all(mutations: list[Mutation], asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Results in the order of the draw, as they come; none for what no time is left for."""
    last = time.monotonic() + 60.0 * asked.minutes - asked.budget
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        free: Queue[Place] = Queue()
        for i in range(asked.workers):
            free.put(copy_project(ROOT, Path(folder) / str(i)))

        def work(mutation: Mutation) -> dict[str, Any] | None:
            if time.monotonic() > last:
                return None
            place = free.get()
            try:
                return try_one(mutation, place, asked.budget)
            finally:
                free.put(place)

        with ThreadPoolExecutor(asked.workers) as pool:
            yield from filter(None, pool.map(work, mutations))


def summary(found: dict[str, Any]) -> str:
    """The section of the documentation."""
    tried = found["mutations"]
    missed = [each for each in tried if not each["noticed"]]
    lines = [
        f'`make mutants ARGS="--seed {found["seed"]}"` made {len(tried)} changes in '
        f"{', '.join(f'`{room}`' for room in found['rooms'])}, one at a time, and ran the tests "
        f"that touch the file. {len(tried) - len(missed)} were noticed "
        f"({100 * found['share']:.0f} %), in {found['minutes']:.0f} minutes on two cores.",
    ]
    if missed:
        lines += ["", "| not noticed | change | reason |", "|---|---|---|"]
    for each in missed:
        edit = "<br>".join(f"`{_cell(line)}`" for line in each["diff"].splitlines()[1:])
        reason = each.get("reason") or "no test yet"
        lines.append(f"| `{each['file']}`, line {each['line']} | {edit} | {reason} |")
    return "\n".join(lines)


def _cell(line: str) -> str:
    return f"{line[0]} {line[1:].strip()}".replace("|", "\\|")


def keep_reasons(found: dict[str, Any], path: Path) -> None:
    """Reasons that were written into the file stay with their change."""
    kept = json.loads(path.read_text(encoding="utf-8"))["mutations"] if path.is_file() else []
    reasons = {(each["file"], each["diff"]): each.get("reason") for each in kept}
    for each in found["mutations"]:
        if reason := reasons.get((each["file"], each["diff"])):
            each["reason"] = reason


def main(arguments: list[str] | None = None) -> int:
    """Draw, try, report; 1 if fewer than nine in ten were noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=60.0, help="no change begins too late")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds for each change")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--rooms", nargs="+", default=ROOMS)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--again", action="store_true", help="only what was unclear before")
    parser.add_argument("--page", action="store_true", help="only the page, from the result")
    asked = parser.parse_args(arguments)
    if not asked.page:
        found = again(asked) if asked.again else measure(asked)
        keep_reasons(found, asked.out)
        asked.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    found = json.loads(asked.out.read_text(encoding="utf-8"))
    print(summary(found))
    if asked.out == RESULT:
        pages.update("mutations", summary(found))
    return int(found["share"] < 0.9)


def again(asked: argparse.Namespace) -> dict[str, Any]:
    """A result of before, with what was unclear in it tried again.

    Once the test is mended that failed without the change, too.
    """
    found: dict[str, Any] = json.loads(asked.out.read_text(encoding="utf-8"))
    unclear = {
        (each["file"], each["diff"]): i
        for i, each in enumerate(found["mutations"])
        if each["outcome"] == "unclear"
    }
    changes = [
        change
        for path in {ROOT / file for file, _ in unclear}
        for change in find_mutations(path)
        if (str(path.relative_to(ROOT)), change.diff(path.read_bytes())) in unclear
    ]
    for each in try_all(changes, asked):
        found["mutations"][unclear[each["file"], each["diff"]]] = each
    return {**found, "share": share(found["mutations"])}


def share(tried: list[dict[str, Any]]) -> float:
    """Of those that were tried, how many were noticed."""
    return sum(each["noticed"] for each in tried) / max(len(tried), 1)


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Try the mutations of a seed and say what became of each."""
    paths = [path for room in asked.rooms for path in (ROOT / "src/gpssm" / room).rglob("*.py")]
    begun, tried = time.monotonic(), []
    for each in try_all(draw(asked.seed, paths, asked.number), asked):
        tried.append(each)
        said = "noticed by" if each["noticed"] else f"NOT NOTICED ({each['outcome']})"
        place = f"{each['file']}:{each['line']} {each['kind']}"
        print(f"{place}: {said} {each['by']}, {each['seconds']:.0f} s")
        print(each["diff"], flush=True)
    return {
        "seed": asked.seed,
        "rooms": list(asked.rooms),
        "minutes": round((time.monotonic() - begun) / 60.0, 1),
        "share": share(tried),
        "mutations": tried,
    }


if __name__ == "__main__":
    sys.exit(main())
