"""A folder holds one run or study, and one process at a time works in it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from filelock import FileLock, Timeout

from .errors import ConfigError, expected
from .files import leftovers, make_folder, remove_leftovers, write_whole

LOCK = ".lock"  # in every folder that was used


def claim(
    path: Path,
    identity: dict[str, Any],
    field: str,
    defaults: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    names: Sequence[str] = (),
) -> None:
    """Write the identity of a run or study to a file; raise if the file has another one.

    `defaults` of some of its parts stand for settings that the version which wrote it did not have.
    `names` are patterns of what will be written later: a folder that has such things already, but
    no identity, is not ours.
    """
    if path.exists():
        stored = _read(path, field)
        for part, known in defaults.items():
            named = {key: value for key, value in known.items() if key in identity[part]}
            stored[part] = {**named, **_as_dict(stored.get(part))}
        found = list(differences(stored, identity))
        if found:
            kind = path.stem  # run.json or study.json
            given = f"{path.parent}, which holds another {kind}; different here: {'; '.join(found)}"
            wanted = "the same settings and data"
            raise ConfigError(expected(field, given, wanted, "Use another {field}."))
        return
    _refuse_others(path, field, names)
    write_whole(path, json.dumps(identity, indent=2))


def _refuse_others(path: Path, field: str, names: Sequence[str]) -> None:
    """Raise if the folder without an identity has what would be overwritten or read."""
    found = (each for name in names for each in sorted(path.parent.glob(name)))
    for each in found:
        if each.is_dir() and not any(each.iterdir()):
            continue
        given = f"{path.parent}, which holds {each.name} but no {path.name} of gpssm"
        remedy = "Use another {field}; its files were not changed."
        raise ConfigError(expected(field, given, f"a new folder, or that of a {path.stem}", remedy))


@contextmanager
def alone_in(folder: Path, field: str) -> Iterator[None]:
    """Hold the lock of a folder; raise if another process holds it.

    What a process that was killed left half written is removed: nobody writes it now.
    """
    make_folder(folder)
    with ExitStack() as held:
        try:
            held.enter_context(file_lock(folder / LOCK, wait=False))
            remove_leftovers(folder)
        except Timeout:
            remedy = "Wait until the other process has ended, or use another {field}."
            given = f"{folder}, which is in use"
            raise ConfigError(expected(field, given, "an unused one", remedy)) from None
        except (OSError, NotImplementedError):
            pass  # some network disks cannot lock: no reason to refuse them
        yield


def file_lock(path: Path, wait: bool) -> FileLock:
    """A lock of the operating system, released when the process dies.

    A process that holds it may take it again. If another one holds it, wait or raise `Timeout`.
    """
    return FileLock(path.absolute(), blocking=wait, is_singleton=True, fallback_to_soft=False)


def is_unused(folder: Path) -> bool:
    """Whether a folder has nothing but the lock and leftovers of a process that was killed."""
    own = {folder / LOCK, *leftovers(folder)}
    return all(each in own for each in folder.iterdir())


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read(path: Path, field: str) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        given = f"{path}, which is damaged ({error})"
        remedy = "Use another {field}."
        raise ConfigError(expected(field, given, "what gpssm wrote", remedy)) from error


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """`field: was …, is …` for every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield f"{path}: was {old}, is {new}"
