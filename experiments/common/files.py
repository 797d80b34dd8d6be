"""Results on the disk: written whole or not at all, with what made them."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
from filelock import FileLock

import gpssm
from gpssm.base.files import write_whole

ROOT = Path(__file__).parents[2]
_CODE = ("src", "experiments", "benchmarks")


def write_text(path: Path, text: str) -> None:
    write_whole(path, text)


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """None where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def read_record(path: Path, key: Sequence[str]) -> Any:
    """One record of a file that holds many, by its keys from the outside in; None without it."""
    found = read_json(path)
    for name in key:
        found = found.get(name) if found else None
    return found


def add_record(path: Path, key: Sequence[str], record: Any) -> None:
    """Add or replace one record; others that are written at the same time are kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        content = read_json(path) or {}
        place = content
        for name in key[:-1]:
            place = place.setdefault(name, {})
        place[key[-1]] = record
        write_json(path, content)


def provenance() -> dict[str, Any]:
    """Versions and machine."""
    packages = {name: version(name) for name in ("jax", "equinox", "optax", "numpy", "scipy")}
    return {
        "gpssm": gpssm.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        **packages,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {jax.default_backend()}",
    }


def _commit(root: Path = ROOT) -> str:
    """Of the code that computes: a result that was written before this one makes it no other."""
    try:
        commit = _git(root, "describe", "--always")
        return commit + ("-dirty" if _git(root, "status", "--porcelain", "--", *_CODE) else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
