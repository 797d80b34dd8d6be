"""Parquet files as arrays on disk, converted once, block by block.

Rows of a Parquet file are compressed in groups: to read a single one, a whole group is unpacked.
Training reads rows in any order, so it needs plain arrays. They are kept in a folder of their own
whose name says which state of which file, and which columns, they hold. It appears whole or not
at all: a conversion that was killed is begun anew, a file that was changed is converted again.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from ..errors import DataError, expected
from .disk import BLOCK
from .files import explained, read_columns
from .tables import Channels, Name, Piece, Request, Table, common_step, spelled_out, split_table

_VERSION = 1  # of what is written
_ABOUT = "about.json"


@dataclass(frozen=True)
class Converted:
    """The columns of one file as arrays, its experiments one after the other."""

    source: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    experiments: tuple[str, ...]
    rows: tuple[int, ...]
    sampling_time: float | None
    arrays: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def channels(self) -> Channels:
        """The names of the columns."""
        return Channels(self.inputs, self.outputs)

    def pieces(self) -> list[Piece]:
        """Its experiments, on disk."""
        ends = np.cumsum(self.rows)
        spans = zip(self.experiments, ends - self.rows, ends, strict=True)
        return [
            Piece(name, self.arrays["u"][a:b], self.arrays["y"][a:b], self.sampling_time)
            for name, a, b in spans
        ]


def converted(path: str | Path, request: Request, folder: Path) -> Converted:
    """The arrays of a Parquet file, below `folder`; made now if they are not there."""
    path = Path(path)
    if path.suffix.casefold() != ".parquet":
        given, wanted = f"suffix {path.suffix!r}", "a .parquet file, to be read from disk"
        remedy = "Convert it, or read it into memory: without on_disk."
        raise DataError(expected(str(path), given, wanted, remedy))
    with explained(path):
        place = folder / _key(path, request)
        found = _open(place)
        if found is not None:
            return found
        with _writable(folder), _alone(place):
            if _open(place) is None:  # another process may have made it in the meantime
                _convert(path, request, place)
        made = _open(place)
    if made is None:
        raise DataError(expected(str(place), "arrays that cannot be read", "those just written"))
    return made


def _key(path: Path, request: Request) -> str:
    """Another name for another state of the file, or for other columns."""
    state = path.stat()
    about = [_VERSION, str(path.absolute()), state.st_size, state.st_mtime_ns, asdict(request)]
    return f"{path.stem}-{hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]}"


def _open(place: Path) -> Converted | None:
    """What was converted earlier, if all of it is there and can be read."""
    try:
        about = json.loads((place / _ABOUT).read_text(encoding="utf-8"))
        rows = sum(about["rows"])
        y = np.load(place / "y.npy", mmap_mode="r")
        u = np.load(place / "u.npy", mmap_mode="r") if about["inputs"] else np.zeros((rows, 0))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    lists = {key: tuple(value) for key, value in about.items() if isinstance(value, list)}
    return Converted(**{**about, **lists}, arrays={"u": u, "y": y})


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """A full disk, or a folder that is not ours, is no fault of the file that is read."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        remedy = "Name another one: on_disk='folder'."
        given = f"a folder that cannot be written ({error})"
        raise DataError(expected(str(folder), given, "one with enough space", remedy)) from error


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """One process converts, others wait. The system frees the lock of a process that was killed."""
    import fcntl  # not on Windows, where nobody has asked for this yet

    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _convert(path: Path, request: Request, place: Path) -> None:
    """Write all arrays under another name, which is changed when they are whole."""
    part = place.with_suffix(".part")
    for old in (part, place):  # of a conversion that was killed; damaged since
        shutil.rmtree(old, ignore_errors=True)
    part.mkdir()
    with pq.ParquetFile(path) as file:
        about = _write_arrays(file, path, request, part)
    (part / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
    os.replace(part, place)


def _write_arrays(file: Any, path: Path, request: Request, part: Path) -> dict[str, Any]:
    names = [str(name) for name in file.schema_arrow.names]
    empty = Table(str(path), dict.fromkeys(names, np.empty(0)), name=path.stem)
    request = spelled_out(empty, request)
    log = _Log(str(path), request.experiment)
    with (part / "u.npy").open("wb") as u, (part / "y.npy").open("wb") as y:
        for array, columns in ((u, request.inputs), (y, request.outputs)):
            _write_header(array, (file.metadata.num_rows, len(columns)))
        for table in _tables(file, path, request):
            for piece in log.new_rows(table, split_table(table, request, whole=False)):
                u.write(piece.u.tobytes())
                y.write(piece.y.tobytes())
    named = {"source": str(path), "name": path.stem}
    return {**named, "inputs": request.inputs, "outputs": request.outputs, **log.summary()}


def _write_header(file: BinaryIO, shape: tuple[int, int]) -> None:
    about = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def _tables(file: Any, path: Path, request: Request) -> Iterator[Table]:
    """Block by block; each begins with the last row of the one before, to see the step between."""
    single = [name for name in (request.time, request.experiment) if name is not None]
    columns = [*request.inputs, *request.outputs, *single]
    first, last = 0, pd.DataFrame()
    for batch in file.iter_batches(BLOCK, columns=columns):
        frame = batch.to_pandas()[columns]
        block = pd.concat([last, frame], ignore_index=True) if len(last) else frame
        rows = np.arange(first - len(last), first + len(frame)) + 1
        yield replace(read_columns(block, str(path), path.stem), rows=rows)
        first, last = first + len(frame), frame.iloc[-1:]


class _Stretch(NamedTuple):
    """Some rows of an experiment; steps from row to row, and the mean of them."""

    rows: int
    steps: int
    step: float | None


class _Log:
    """Which experiments have come by, and how long and how fast they were."""

    def __init__(self, source: str, column: Name | None) -> None:
        self._source, self._column = source, column
        self._stretches: dict[str, list[_Stretch]] = {}

    def new_rows(self, table: Table, pieces: Sequence[Piece]) -> Iterator[Piece]:
        """The pieces of a block without the row that it shares with the block before."""
        if self._column is not None:
            self._check_order(table.columns[str(self._column)], pieces)
        for i, piece in enumerate(pieces):
            shared = int(i == 0 and bool(self._stretches))
            rows = len(piece.y) - shared
            if rows:
                known = self._stretches.setdefault(piece.name, [])
                known.append(_Stretch(rows, len(piece.y) - 1, piece.sampling_time))
                yield piece._replace(u=piece.u[shared:], y=piece.y[shared:])

    def _check_order(self, labels: np.ndarray, pieces: Sequence[Piece]) -> None:
        """The rows of an experiment lie together; they are not moved on the way to disk."""
        changes = int(np.sum(labels[1:] != labels[:-1]))
        *ended, _ = self._stretches or [""]
        again = [piece.name for piece in pieces if piece.name in ended]
        if again or changes >= len(pieces):
            remedy = "Sort the rows by experiment, or read the file without on_disk."
            name = repr(again[0]) if again else "one of them"
            given = f"rows of experiment {name} in several places"
            raise DataError(expected(self._source, given, "them in one place", remedy))

    def summary(self) -> dict[str, Any]:
        """Names, numbers of rows, and the sampling time that all have in common."""
        nothing = np.zeros((0, 0))
        mean = {name: _mean_step(each) for name, each in self._stretches.items()}
        steps = [*mean.items(), *((n, s.step) for n, each in self._stretches.items() for s in each)]
        pieces = [(self._source, Piece(name, nothing, nothing, step)) for name, step in steps]
        return {
            "experiments": list(self._stretches),
            "rows": [sum(s.rows for s in each) for each in self._stretches.values()],
            "sampling_time": common_step(pieces, None),
        }


def _mean_step(stretches: Sequence[_Stretch]) -> float | None:
    timed = [(s.step, s.steps) for s in stretches if s.step is not None]
    steps = sum(count for _, count in timed)
    return sum(step * count for step, count in timed) / steps if timed else None
