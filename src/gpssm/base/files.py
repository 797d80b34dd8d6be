"""Atomic writes: a file is complete or absent, even after a crash or a power cut."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

# Windows opens no folder, some network disks cannot flush one, and not every folder may be read.
_NOT_FOR_FOLDERS = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def write_whole(path: str | Path, content: str | bytes | Callable[[Path], object]) -> Path:
    """Write a file under another name in the same folder, then rename it; return its path.

    `content` is a text, bytes, or a function that writes to the path that it is given. A stop in
    between leaves the old file, or none. A file that is replaced keeps its permissions.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, content)
        if path.exists():
            shutil.copymode(path, temporary)
        put_in_place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def put_in_place(temporary: Path, path: Path) -> None:
    """Rename a whole file or folder of files, safe from a power cut: content, name, then folder."""
    for each in [*temporary.rglob("*"), temporary]:
        _flush(each)
    os.replace(temporary, path)
    _flush(path.parent)


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
