"""A folder belongs to what has started in it: something else is refused, with the difference.

And so is the same thing a second time while the first is still at work there.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from filelock import FileLock, Timeout

from .errors import ConfigError, expected

LOCK = ".lock"  # in a folder that somebody has worked in


def claim(
    path: Path,
    identity: dict[str, Any],
    field: str,
    defaults: Mapping[str, dict[str, Any]] = MappingProxyType({}),
) -> None:
    """Write the identity of a run, or of a study, to a file; refuse another that is there.

    `defaults` of some of its parts stand for settings that the version which wrote it did not have.
    """
    if path.exists():
        stored = _read(path, field)
        for part, known in defaults.items():
            named = {key: value for key, value in known.items() if key in identity[part]}
            stored[part] = {**named, **stored[part]}
        found = list(differences(stored, identity))
        if found:
            kind = path.stem  # run.json or study.json
            raise ConfigError(
                f"{field}: {path.parent} holds another {kind}; different here: {'; '.join(found)}. "
                f"Use another {field}, or the same settings and data."
            )
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(identity, indent=2), encoding="utf-8")
    os.replace(temporary, path)


@contextmanager
def alone_in(folder: Path, field: str) -> Iterator[None]:
    """No other process works in this folder meanwhile; one that dies lets go of it."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(_lock(folder))
        except Timeout:
            remedy = f"Wait for the process that is at work there, or use another {field}."
            raise ConfigError(
                expected(field, f"{folder}, which is in use", "a folder of its own", remedy)
            ) from None
        except (OSError, NotImplementedError):
            pass  # some network disks cannot lock: no reason to refuse them
        yield


def _lock(folder: Path) -> FileLock:
    """One for a folder in this process, which may take it again while it holds it.

    Of the system, never a file that only stands for a lock: it would outlive its process.
    """
    return FileLock(
        folder.absolute() / LOCK, blocking=False, is_singleton=True, fallback_to_soft=False
    )


def _read(path: Path, field: str) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ConfigError(
            f"{field}: got {path}, which is damaged ({error}), expected what gpssm wrote. "
            f"Use another {field}."
        ) from error


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """`field: was …, is …` for every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield f"{path}: was {old}, is {new}"
