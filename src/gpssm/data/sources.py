"""Where a benchmark file is found: GPSSM_DATA, then the cache, then its public source.

A file is used only if its SHA-256 is right, every time it is loaded. A download goes to a
temporary name next to its place and is renamed when it is whole and right: whoever looks sees
the right file or none, also when a download is killed or two run at once.
"""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch
from rich.console import Console
from rich.progress import Progress

from ..errors import DataError, expected
from .normalisation import DataWarning


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


def cache_folder() -> Path:
    """The folder for downloads of this user."""
    return Path(pooch.os_cache("gpssm"))


def places(file: SourceFile) -> list[Path]:
    """Where the file may be, in the order in which it is looked for."""
    given = os.environ.get("GPSSM_DATA")
    folders = [Path(given)] if given else []
    return [folder / file.path for folder in (*folders, cache_folder())]


def on_disk(file: SourceFile) -> Path | None:
    """The first place that has the file, right or wrong."""
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
    if file.sha256 is None or pooch.file_hash(str(found)) == file.sha256:
        return found
    problem = f"{found}: its SHA-256 is not that of {file.path}: corrupt, or another version"
    if found.is_relative_to(cache_folder()) and file.url is not None:
        warnings.warn(
            f"{problem}. It is not used; downloading it again.", DataWarning, stacklevel=4
        )
        return download(file)
    remedy = f"Delete it, then get it again: {file.home}."
    raise DataError(expected(problem, "a wrong checksum", f"{file.sha256}", remedy))


def download(file: SourceFile) -> Path:
    """Fetch a file into the cache; it appears there whole and checked, or not at all."""
    by_hand = f"Put the file by hand at {places(file)[0]}; it is found at {file.home}."
    if file.url is None:
        given = "not on disk, and no lasting address to download it from"
        raise DataError(expected(file.path, given, "the file", by_hand))
    try:
        return Path(_fetch(file))
    except ValueError as error:  # pooch's word for a wrong checksum
        given = f"a download from {file.url} that is not the expected file ({error})"
        raise DataError(expected(file.path, given, "an intact file", by_hand)) from error
    except OSError as error:  # what requests raises is one, and so is a full disk
        # A failed connection is told at such length that nobody would find the remedy.
        failed = "ConnectionPool" in str(error)
        reason = type(error).__name__ if failed else f"{type(error).__name__}: {error}"
        given = f"no download from {file.url} ({reason})"
        raise DataError(expected(file.path, given, "a connection", by_hand)) from error


def _fetch(file: SourceFile) -> str:
    store = pooch.create(
        path=cache_folder(),
        base_url="",
        registry={file.path: file.sha256},
        urls={file.path: file.url},
        retry_if_failed=1,
    )
    bar = _Bar(file.path)
    try:
        return str(store.fetch(file.path, downloader=pooch.HTTPDownloader(progressbar=bar)))
    finally:
        bar.close()


class _Bar:
    """A rich progress bar with the four methods that pooch calls."""

    def __init__(self, title: str) -> None:
        self._progress = Progress(console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(title, total=None)
        self._progress.start()

    def __setattr__(self, name: str, value: Any) -> None:
        """Pooch announces the size by setting `total`."""
        object.__setattr__(self, name, value)
        if name == "total":
            self._progress.update(self._task, total=value or None)

    def update(self, count: int) -> None:
        """So many bytes more."""
        self._progress.advance(self._task, count)

    def reset(self) -> None:
        """Back to the start."""
        self._progress.reset(self._task)

    def close(self) -> None:
        """Remove the bar; may be called twice."""
        self._progress.stop()
