"""Atomic writes: a file is complete or absent, even after a crash or a power cut."""

import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import ConfigError, expected

# What a write that was stopped leaves behind. No other program gives such names.
_OWN = re.compile(r"\..+\.\d+\.gpssm-tmp")
# Windows opens no folder, some network disks cannot flush one, and not every folder may be read.
_NOT_FOR_FOLDERS = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def write_whole(path: str | Path, content: str | bytes | Callable[[Path], object]) -> Path:
    """Write a file under another name in the same folder, then rename it; return its path.

    `content` is a text, bytes, or a function that writes to the path that it is given. A stop in
    between leaves the old file, or none. A file that is replaced keeps its permissions.
    """
    path = Path(path)
    refuse_special(path, "file")
    make_folder(path.parent)
    temporary = temporary_name(path)
    try:
        if path.exists():
            temporary.touch(mode=0o600)  # what others may not read, they cannot read meanwhile
        _write(temporary, content)
        if path.exists():
            shutil.copymode(path, temporary)
        put_in_place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def temporary_name(path: Path) -> Path:
    """Where this process writes a file or a folder of files until it is whole."""
    return path.with_name(f".{path.name}.{os.getpid()}.gpssm-tmp")


def refuse_special(path: Path, field: str) -> None:
    """Raise for a folder, a device or a pipe: none of them may be replaced by a file."""
    if path.exists() and (kind := special_kind(path)):
        raise ConfigError(expected(field, f"{path}, which is {kind}", "the name of a file"))


def special_kind(path: Path) -> str:
    """What a path is that is no regular file; empty if it is one."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return ""
    return "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, safe from a power cut."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:
        _flush(each.parent)


def put_in_place(temporary: Path, path: Path) -> None:
    """Rename a whole file or folder of files, safe from a power cut: content, name, then folder."""
    flush_all(temporary)
    os.replace(temporary, path)
    _flush(path.parent)


def flush_all(path: Path) -> None:
    """Wait until the disk has a file, or a folder with all that is in it."""
    for each in [*path.rglob("*"), path]:
        _flush(each)


def leftovers(folder: Path) -> Iterator[Path]:
    """What has a `temporary_name` in a folder: its process was killed, or writes it now."""
    return (path for path in folder.iterdir() if _OWN.fullmatch(path.name))


def remove_leftovers(folder: Path, of: str = "") -> None:
    """Remove them, or those `of` one name; no other process may be writing them now."""
    for each in leftovers(folder):
        if each.name.startswith(f".{of}." if of else "."):
            shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)


def _write(path: Path, content: str | bytes | Callable[[Path], object]) -> None:
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)


def _flush(path: Path) -> None:
    """Wait until the disk has the content of a file, or the names in a folder."""
    is_folder = path.is_dir()
    try:
        descriptor = os.open(path, os.O_RDONLY if is_folder or os.name != "nt" else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if not (is_folder and error.errno in _NOT_FOR_FOLDERS):
            raise
