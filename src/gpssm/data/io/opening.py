"""Open files that users name: only regular ones, and none that grows far beyond its size."""

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gpssm.base.errors import DataError, Expectation, GpssmError, expected
from gpssm.base.files import special_kind

_ALWAYS = 256 * 2**20  # bytes that any file may hold, however small it is itself
_RATIO = 200  # real records shrink to a tenth; a thousandth is a damaged or a hostile file
_CHUNK = 2**20


def read_bytes(path: Path) -> bytes:
    """All bytes of a file, unpacked if its suffix says that it is compressed."""
    unpack = COMPRESSED.get(path.suffix.casefold())
    if unpack is None:
        return path.read_bytes()
    chunks, size = [], 0
    with unpack(path) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            check_size(path, "the unpacked text", size)
            chunks.append(chunk)
    return b"".join(chunks)


def check_size(path: Path, what: str, size: int) -> None:
    """Raise if a part of a file claims far more bytes than the file can reasonably hold."""
    if fault := oversize(path, what, size):
        raise DataError(fault)


def oversize(path: Path, what: str, size: int) -> Expectation | None:
    """Why a part of a file is too large to be true; None if it is not."""
    stored = path.stat().st_size
    limit = max(_ALWAYS, _RATIO * stored)
    if size <= limit:
        return None
    given = f"{what} of {size / 2**20:.0f} MiB or more, in a file of {stored} bytes"
    remedy = "If the data are real, save them without compression."
    return expected(str(path), given, f"at most {limit / 2**20:.0f} MiB", remedy)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn any error of reading into one sentence about the file."""
    require_file(path)
    try:
        yield
    except GpssmError:
        raise
    except Exception as error:  # the parsers of broken files raise nearly anything
        remedy = "It may be truncated or of another format: export or copy it again."
        if isinstance(error, UnicodeDecodeError):
            remedy += " A text must have the encoding UTF-8, UTF-16 or Windows-1252."
        given = f"a file that cannot be read ({type(error).__name__}: {error})"
        wanted = f"a valid {path.suffix} file"
        raise DataError(expected(str(path), given, wanted, remedy)) from error


def require_file(path: Path) -> None:
    """Raise unless it is a regular file: a device or a pipe could be read without end."""
    try:
        kind = special_kind(path)
    except (OSError, ValueError):
        remedy = f"Check the path; it was looked for in {path.absolute().parent}."
        raise DataError(expected(str(path), "no such file", "a file", remedy)) from None
    if kind:
        remedy = "Name a file in it." if path.is_dir() else "Save what it gives to a file."
        raise DataError(expected(str(path), kind, "a regular file", remedy))


def plain_name(path: Path) -> str:
    """The name without the suffix of a compression: log.csv of log.csv.gz."""
    return path.stem if path.suffix.casefold() in COMPRESSED else path.name


@contextmanager
def _only_member(path: Path) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive:
        names = [each.filename for each in archive.infolist() if not each.is_dir()]
        if len(names) != 1:
            remedy = "Unpack it, and name the files."
            raise DataError(expected(str(path), f"{len(names)} files in it", "one", remedy))
        with archive.open(names[0]) as file:
            yield file


COMPRESSED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zip": _only_member,
}
