"""Tables of every kind that can be read, sound ones and such as no program should write."""

import gzip
import io
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import pandas as pd
import scipy.io

from .edits import NUMBERS, WORDS, damage, edit_text, encode, splice

ROWS = 30
_MARKS = {".csv": ",", ".tsv": "\t", ".txt": " ", ".dat": " "}
_SHAPES = ((0,), (1,), (30,), (30, 2), (2, 30), (1, 30), (30, 1), (3, 3, 3), (), (0, 5), (1, 1))
_TYPES = (
    "f8",
    "f4",
    "f2",
    "i1",
    "i8",
    "u8",
    "?",
    "c16",
    ">f8",
    "M8[s]",
    "m8[ms]",
    "S3",
    "U4",
    "V5",
)


@cache
def arrays() -> dict[str, np.ndarray]:
    """A sound record."""
    t = np.arange(ROWS, dtype=np.float64)
    return {"t": 0.1 * t, "u": np.sin(t), "y": np.where(t == 7, np.nan, np.cos(0.5 * t))}


@cache
def sound(suffix: str) -> bytes:
    """A sound file of this kind."""
    frame = pd.DataFrame(arrays())
    if suffix in _MARKS:
        return frame.to_csv(sep=_MARKS[suffix], index=False, na_rep="nan").encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"log{suffix.removeprefix('.v73')}"
        _write(path, suffix, frame)
        return path.read_bytes()


def _write(path: Path, suffix: str, frame: pd.DataFrame) -> None:
    if suffix == ".npz":
        np.savez(path, **arrays())
    elif suffix == ".mat":
        scipy.io.savemat(path, {**arrays(), "log": {"a": 1.0, "b": [1.0, 2.0]}})
    elif suffix == ".v73.mat":
        _hdf5(path, arrays())
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".xlsx":
        frame.to_excel(path, index=False)


def _hdf5(path: Path, columns: dict[str, Any], **options: Any) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, **options)


def text_table(rng: Random, suffix: str) -> bytes:
    """A sound text with edits, a damaged one, or cells without any sense."""
    if rng.random() < 0.2:
        return damage(rng, sound(suffix))
    if rng.random() < 0.5:
        content = encode(rng, edit_text(rng, sound(suffix).decode()))
    else:
        content = encode(rng, _senseless(rng, _MARKS[suffix]))
    return gzip.compress(content) if rng.random() < 0.02 else content


def _senseless(rng: Random, mark: str) -> str:
    tokens = [*NUMBERS, *WORDS]
    width = rng.choice([1, 2, 3, 3, 3, 5, 300])
    header = rng.choice([["t", "u", "y"], [rng.choice(tokens) for _ in range(width)]])
    numeric = rng.choice([0.0, 0.98, 1.0])
    rows = [
        [f"{rng.gauss(0, 1):.4g}" if rng.random() < numeric else rng.choice(tokens) for _ in header]
        for _ in range(rng.choice([0, 1, 2, 5, 30]))
    ]
    return "\n".join(mark.join(row) for row in [header, *rows])


def archive(rng: Random, suffix: str) -> bytes:
    """NPZ: arrays of odd kinds, or with a header that does not fit; or a damaged archive."""
    how = rng.random()
    if how < 0.4:
        return damage(rng, sound(suffix))
    buffer = io.BytesIO()
    if how < 0.7:
        np.savez(buffer, **{**arrays(), rng.choice("tuy"): odd_array(rng)})
        return buffer.getvalue()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name in "tuy":
            file.writestr(f"{name}.npy", _npy(rng, arrays()[name]))
    return buffer.getvalue()


def _npy(rng: Random, values: np.ndarray) -> bytes:
    """An array whose header says another shape or type."""
    whole = io.BytesIO()
    np.save(whole, values)
    content = whole.getvalue()
    old, new = rng.choice(
        [("(30,)", s) for s in ("(300000000000,)", "(-1,)", "(400000000,)", "(30, 0)", "()")]
        + [("'<f8'", t) for t in ("'|O'", "'<f16'", "'<i0'", "'|S99999999'", "[('a','<f8')]")]
        + [("False", "True"), ("False", "None"), ("shape", "shapes")]
    )  # fmt: skip
    return content.replace(old.encode(), new.encode()) if rng.random() < 0.7 else content


def odd_array(rng: Random) -> np.ndarray:
    """An array of any shape and type, with extreme values."""
    shape, kind = rng.choice(_SHAPES), np.dtype(rng.choice(_TYPES))
    values = rng.choice([0, 1, 100, 2**40, 1e300, 1e-300, np.nan, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        try:
            return np.full(shape, values).astype(kind)
        except (TypeError, ValueError, OverflowError):
            return np.zeros(shape, kind)


def mat(rng: Random, suffix: str) -> bytes:
    """MAT before v7.3: structures, cells, texts and sparse arrays besides the columns."""
    if rng.random() < 0.6:
        return damage(rng, sound(suffix))
    cell = np.empty(2, object)
    cell[:] = [np.arange(3.0), "text"]
    odd: list[Any] = [
        cell, "text", {"a": {"b": {"c": np.arange(30.0)}}}, [{"a": 1.0}, {"a": 2.0}], 1 + 2j,
        scipy.sparse.eye(4), np.zeros((0, 0)), np.arange(30) > 3, np.zeros((30, 2, 2)), [],
    ]  # fmt: skip
    columns = {**arrays(), rng.choice(["u", "y", "t", "extra"]): rng.choice(odd)}
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, columns, do_compression=rng.random() < 0.5)
    return buffer.getvalue()


def mat73(rng: Random, suffix: str) -> bytes:
    """MAT of v7.3: links, references, huge shapes that cost no bytes, and data elsewhere."""
    if rng.random() < 0.6:
        return damage(rng, sound(suffix))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, values in arrays().items():
                file[name] = values
            rng.choice(_ODD_HDF5)(file, rng.choice(["u", "y", "t", "extra"]))
        return path.read_bytes()


def _replace(file: Any, name: str) -> str:
    if name in file:
        del file[name]
    return name


def _huge(file: Any, name: str) -> None:
    file.create_dataset(_replace(file, name), (10**9,), "f8", chunks=(10**6,))


def _elsewhere(file: Any, name: str) -> None:
    external = [("/etc/hostname", 0, 240)]
    file.create_dataset(_replace(file, name), (30,), "f8", external=external)


def _link(file: Any, name: str) -> None:
    file[_replace(file, name)] = h5py.SoftLink("/nowhere")


def _circle(file: Any, name: str) -> None:
    file[f"group/{name}"] = h5py.SoftLink("/group")


def _other_file(file: Any, name: str) -> None:
    file[_replace(file, name)] = h5py.ExternalLink("/etc/hostname", "/")


def _reference(file: Any, name: str) -> None:
    target = file.create_dataset("target", data=np.arange(3.0)).ref
    file.create_dataset(_replace(file, name), data=np.array([target], h5py.ref_dtype))


def _texts(file: Any, name: str) -> None:
    file.create_dataset(_replace(file, name), data=["a", "b"])


def _empty(file: Any, name: str) -> None:
    file[_replace(file, name)] = h5py.Empty("f8")


def _deep(file: Any, name: str) -> None:
    file["/".join(["g"] * 300) + f"/{name}"] = np.arange(30.0)


_ODD_HDF5 = (_huge, _elsewhere, _link, _circle, _other_file, _reference, _texts, _empty, _deep)


def parquet(rng: Random, suffix: str) -> bytes:
    """Parquet: columns of odd types, or a damaged file."""
    if rng.random() < 0.6:
        return damage(rng, sound(suffix))
    odd: list[Any] = [
        [None] * ROWS, ["a"] * ROWS, [[1.0, 2.0]] * ROWS, [{"a": 1}] * ROWS, [True] * ROWS,
        pd.date_range("2024-01-01", periods=ROWS, freq="s", tz="Europe/Berlin"),
        pd.Categorical(["a", "b"] * (ROWS // 2)), [2**63 - 1] * ROWS, [b"\x00"] * ROWS,
        pd.timedelta_range("1s", periods=ROWS), ["1.5"] * ROWS, [float("inf")] * ROWS,
    ]  # fmt: skip
    frame = pd.DataFrame({**arrays(), rng.choice("tuy"): rng.choice(odd)})
    frame = frame.head(rng.choice([0, 1, ROWS, ROWS]))
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def xlsx(rng: Random, suffix: str) -> bytes:
    """A workbook with edits of its sheets' text, or a damaged one."""
    if rng.random() < 0.4:
        return damage(rng, sound(suffix))
    old, buffer = zipfile.ZipFile(io.BytesIO(sound(suffix))), io.BytesIO()
    chosen = rng.choice(old.namelist())
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name in old.namelist():
            content = old.read(name)
            if name == chosen:
                content = rng.choice([damage(rng, content), _edit_markup(rng, content), b""])
            file.writestr(name, content)
    return buffer.getvalue()


def _edit_markup(rng: Random, content: bytes) -> bytes:
    parts = content.decode(errors="replace").split(">")
    at = rng.randrange(len(parts))
    parts[at] = rng.choice([*NUMBERS, *WORDS]) + rng.choice([parts[at], ""])
    return ">".join(parts).encode()


MAKERS: dict[str, Callable[[Random, str], bytes]] = {
    ".csv": text_table, ".tsv": text_table, ".txt": text_table, ".dat": text_table,
    ".npz": archive, ".mat": mat, ".v73.mat": mat73, ".parquet": parquet, ".xlsx": xlsx,
}  # fmt: skip


def make_table(rng: Random, suffix: str) -> bytes:
    """A file of this kind; now and then with the content of another kind."""
    if rng.random() < 0.03:
        other = rng.choice([each for each in MAKERS if each != ".xlsx"])
        return splice(rng, sound(suffix), sound(other)) if rng.random() < 0.5 else sound(other)
    return MAKERS[suffix](rng, suffix)
