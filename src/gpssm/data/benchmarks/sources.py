"""Where a benchmark file is found: GPSSM_DATA, then the cache, then its public source.

A file is used only if its SHA-256 is right, every time it is loaded. A download gets its name when
it is complete and right, also when another one is killed or runs at the same time.
"""

import hashlib
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from gpssm.base.errors import DataError, DataWarning, expected
from gpssm.base.progress import Bar


@dataclass(frozen=True)
class SourceFile:
    """One file of a benchmark: its place in a data folder, its checksum and its origin.

    `bytes` and `sha256` are None where they are not known; the loader then checks the structure.
    `url` is None where no lasting address is known; `home` then says where a person finds it.
    """

    path: str
    bytes: int | None
    sha256: str | None
    url: str | None
    home: str

    @classmethod
    def of(cls, path: str, url: str | None, home: str) -> "SourceFile":
        """A file whose size and SHA-256 are in checksums.txt."""
        return cls(path, *_checksums()[path], url, home)


@cache
def _checksums() -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of every benchmark file, by its path in a data folder."""
    lines = Path(__file__).with_name("checksums.txt").read_text(encoding="utf-8").splitlines()
    return {path: (int(size), sha256) for sha256, size, path in map(str.split, lines)}


def cache_folder() -> Path:
    """The folder for downloads of this user."""
    return Path(user_cache_dir("gpssm"))


def places(file: SourceFile) -> list[Path]:
    """Where the file may be, in the order in which it is looked for."""
    given = os.environ.get("GPSSM_DATA")
    folders = [Path(given)] if given else []
    return [folder / file.path for folder in (*folders, cache_folder())]


def on_disk(file: SourceFile) -> Path | None:
    """The first place that has the file; its content is not checked."""
    return next((place for place in places(file) if place.is_file()), None)


def locate_first(files: Sequence[SourceFile]) -> Path:
    """The first of several equivalent files that is on disk, else a download of the first."""
    present = [file for file in files if on_disk(file)]
    return locate(present[0] if present else files[0])


def locate(file: SourceFile) -> Path:
    """A path with the right content, downloaded if need be."""
    found = on_disk(file)
    if found is None:
        return download(file)
    if file.sha256 in (None, hashlib.sha256(found.read_bytes()).hexdigest()):
        return found
    problem = f"{found}: its SHA-256 is not that of {file.path}: corrupt, or another version"
    if found.is_relative_to(cache_folder()) and file.url is not None:
        message = f"{problem}. It is not used; downloading it again."
        warnings.warn(message, DataWarning, stacklevel=4)
        return download(file)
    remedy = f"Delete it, then download it again: {file.home}."
    raise DataError(expected(problem, "a wrong checksum", f"{file.sha256}", remedy))


def download(file: SourceFile) -> Path:
    """Download a file into the cache, atomically, and check its hash."""
    by_hand = f"Put the file by hand at {places(file)[0]}; it is found at {file.home}."
    if file.url is None:
        given = "not on disk, and no permanent address to download it from"
        raise DataError(expected(file.path, given, "the file", by_hand))
    try:
        return Path(_fetch(file))
    except ValueError as error:  # pooch's word for a wrong checksum
        given = f"a download from {file.url} that is not the expected file ({error})"
        raise DataError(expected(file.path, given, "an intact file", by_hand)) from error
    except OSError as error:  # what requests raises is one, and so is a full disk
        # The message of a failed connection is too long: the remedy would be lost.
        failed = "ConnectionPool" in str(error)
        reason = type(error).__name__ if failed else f"{type(error).__name__}: {error}"
        given = f"no download from {file.url} ({reason})"
        raise DataError(expected(file.path, given, "a connection", by_hand)) from error


def _fetch(file: SourceFile) -> str:
    import pooch  # here: only a download needs it

    store = pooch.create(
        path=cache_folder(),
        base_url="",
        registry={file.path: file.sha256},
        urls={file.path: file.url},
        retry_if_failed=1,
    )
    with _DownloadBar(file.path, None, transient=True) as bar:
        return str(store.fetch(file.path, downloader=pooch.HTTPDownloader(progressbar=bar)))


class _DownloadBar(Bar):
    """A bar with what pooch uses: it sets `total`, and calls the three methods."""

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "total":
            self.show(total=value or None)

    def update(self, count: int) -> None:
        """Count so many bytes more."""
        self.show(advance=count)

    def reset(self) -> None:
        """Go back to the start."""
        self.show(completed=0)

    def close(self) -> None:
        """Do nothing: the bar is removed at the end of its context."""
