"""Parquet files as arrays on disk, converted once, block by block.

Training reads rows in any order, but a Parquet file is compressed in groups of rows. The arrays are
kept in a folder whose name says which state of which file, and which columns, they hold. It appears
complete or not at all, so that a conversion that was killed starts again.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gpssm.base.errors import DataError, expected
from gpssm.base.extras import load_extra
from gpssm.base.files import put_in_place, remove_leftovers, temporary_name
from gpssm.base.locks import file_lock
from gpssm.data.disk import BLOCK

from .files import read_columns
from .opening import explained
from .pieces import Checked, Piece, split_table, unit_notes
from .tables import Channels, Request, Table, resolve
from .timing import common_step

_VERSION = 2  # of what is written
_ABOUT = "about.json"


def converted(path: str | Path, request: Request, folder: Path) -> Checked:
    """The arrays of a Parquet file below `folder`; converted at the first call."""
    path = Path(path)
    for name in ("resample", "input_lag"):
        if getattr(request.timing, name):
            wanted, remedy = "it without on_disk", "Write a file with the rows as you need them."
            raise DataError(expected(name, "it together with on_disk", wanted, remedy))
    if path.suffix.casefold() != ".parquet":
        given, wanted = f"suffix {path.suffix!r}", "a .parquet file, to be read from disk"
        remedy = "Convert it, or leave on_disk out to read it into memory."
        raise DataError(expected(str(path), given, wanted, remedy))
    with explained(path):
        place = folder / _key(path, request)
        found = _open(place)
        if found is not None:
            return found
        # one process converts, others wait
        lock = place.with_name(f"{place.name}.lock")  # `with_suffix` would cut at a dot
        with _writable(folder), file_lock(lock, wait=True):
            if _open(place) is None:  # another process may have made it in the meantime
                _convert(path, request, place)
        made = _open(place)
    if made is None:
        raise DataError(expected(str(place), "arrays that cannot be read", "those just written"))
    return made


def _key(path: Path, request: Request) -> str:
    """Folder name that changes with the file and with the columns."""
    state = path.stat()
    about = [_VERSION, str(path.absolute()), state.st_size, state.st_mtime_ns, asdict(request)]
    return f"{path.stem}-{hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]}"


def _open(place: Path) -> Checked | None:
    """Open an earlier conversion; None if it is incomplete or cannot be read."""
    try:
        about = json.loads((place / _ABOUT).read_text(encoding="utf-8"))
        ends, step = np.cumsum(about["rows"]), about["sampling_time"]
        y = np.load(place / "y.npy", mmap_mode="r")
        u = np.load(place / "u.npy", mmap_mode="r") if about["inputs"] else np.zeros((len(y), 0))
        spans = zip(about["experiments"], ends - about["rows"], ends, strict=True)
        pieces = [Piece(name, u[first:last], y[first:last], step) for name, first, last in spans]
        channels = Channels(tuple(about["inputs"]), tuple(about["outputs"]))
        return Checked(about["source"], about["name"], channels, pieces, tuple(about["notes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Turn errors of writing (full disk, permissions) into a message about the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, NotImplementedError) as error:  # the second where files cannot be locked
        remedy = "Name another one with on_disk, or free some space."
        given = f"a folder that cannot be written ({error})"
        raise DataError(expected(str(folder), given, "one with enough space", remedy)) from error


def _convert(path: Path, request: Request, place: Path) -> None:
    """Write all arrays under a temporary name, then rename them."""
    parquet = load_extra("pyarrow.parquet", "files", f"{path}: a Parquet file")
    remove_leftovers(place.parent, of=place.name)  # of a conversion that was killed
    shutil.rmtree(place, ignore_errors=True)  # damaged since
    part = temporary_name(place)
    part.mkdir()
    with parquet.ParquetFile(path) as file:
        about = _write_arrays(file, path, request, part)
    (part / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
    put_in_place(part, place)


def _write_arrays(file: Any, path: Path, request: Request, part: Path) -> dict[str, Any]:
    names = [str(name) for name in file.schema_arrow.names]
    empty = Table(str(path), dict.fromkeys(names, ()))
    channels = resolve(empty, request)
    log = _Log(str(path), channels.experiment)
    notes: tuple[str, ...] = ()
    with (part / "u.npy").open("wb") as u, (part / "y.npy").open("wb") as y:
        for array, columns in ((u, channels.inputs), (y, channels.outputs)):
            shape = (file.metadata.num_rows, len(columns))
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(array, header)
        for table in _tables(file, path, channels):
            found = split_table(table, channels, request.timing, whole=False)
            notes = unit_notes(table, found, request.timing)
            for piece in log.new_rows(table, found):
                u.write(piece.u.tobytes())
                y.write(piece.y.tobytes())
    named = {"source": str(path), "name": path.stem, "notes": notes}
    return {**named, "inputs": channels.inputs, "outputs": channels.outputs, **log.summary()}


def _tables(file: Any, path: Path, channels: Channels) -> Iterator[Table]:
    """Block by block; each begins with the last row of the one before, to see the step between."""
    single = [name for name in (channels.time, channels.experiment) if name is not None]
    columns = [*channels.inputs, *channels.outputs, *single]
    first, last = 0, pd.DataFrame()
    for batch in file.iter_batches(BLOCK, columns=columns):
        frame = batch.to_pandas()[columns]
        block = pd.concat([last, frame]) if len(last) else frame
        rows = np.arange(first - len(last), first + len(frame)) + 1
        yield replace(read_columns(block, str(path), path.stem), rows=rows)
        first, last = first + len(frame), frame.iloc[-1:]


class _Stretch(NamedTuple):
    """Some rows of an experiment; the number and the mean of the steps between them."""

    rows: int
    steps: int
    step: float | None


class _Log:
    """Experiments read so far, with their lengths and sampling times."""

    def __init__(self, source: str, column: str | None) -> None:
        self._source, self._column = source, column
        self._stretches: dict[str, list[_Stretch]] = {}

    def new_rows(self, table: Table, pieces: Sequence[Piece]) -> Iterator[Piece]:
        """The pieces of a block without the row that it shares with the block before."""
        if self._column is not None:
            self._check_order(table.columns[self._column], pieces)
        for i, piece in enumerate(pieces):
            shared = 1 if i == 0 and self._stretches else 0
            rows = len(piece.y) - shared
            if rows:
                known = self._stretches.setdefault(piece.name, [])
                known.append(_Stretch(rows, len(piece.y) - 1, piece.sampling_time))
                yield piece._replace(u=piece.u[shared:], y=piece.y[shared:])

    def _check_order(self, labels: np.ndarray, pieces: Sequence[Piece]) -> None:
        """Raise unless the rows of each experiment are contiguous."""
        changes = np.sum(labels[1:] != labels[:-1])
        *ended, _ = self._stretches or [""]
        again = [piece.name for piece in pieces if piece.name in ended]
        if again or changes >= len(pieces):
            remedy = "Sort the rows by experiment, or read the file without on_disk."
            name = repr(again[0]) if again else "one of them"
            given = f"rows of experiment {name} in several places"
            raise DataError(expected(self._source, given, "them in one place", remedy))

    def summary(self) -> dict[str, Any]:
        """Names, numbers of rows, and the sampling time that all have in common."""
        mean = {name: _mean_step(each) for name, each in self._stretches.items()}
        steps = [*mean.items(), *((n, s.step) for n, each in self._stretches.items() for s in each)]
        found = [(f"{self._source}, experiment {name!r}", step) for name, step in steps]
        return {
            "experiments": list(self._stretches),
            "rows": [sum(s.rows for s in each) for each in self._stretches.values()],
            "sampling_time": common_step(found, None),
        }


def _mean_step(stretches: Sequence[_Stretch]) -> float | None:
    timed = [(s.step, s.steps) for s in stretches if s.step is not None]
    steps = sum(count for _, count in timed)
    return sum(step * count for step, count in timed) / steps if timed else None
