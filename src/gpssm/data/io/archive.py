"""A data set as one file of plain arrays: a run folder keeps its data."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.base.errors import DataError, expected
from gpssm.base.files import write_whole
from gpssm.data.dataset import Dataset
from gpssm.data.experiment import Experiment
from gpssm.data.stamps import Stamps

_ABOUT = "about"
_CHANNELS = ("input_names", "output_names", "input_units", "output_units", "notes", "steps")
_PLACE = ("name", "part", "start", "stride")
_STAMPS = ("name", "unit", "utc", "clock", "elapsed")


def save_dataset(path: str | Path, data: Dataset) -> Path:
    """Write the data set with its parts, atomically."""
    about: dict[str, Any] = {name: list(getattr(data, name)) for name in _CHANNELS}
    about |= {"name": data.name, "sampling_time": data.sampling_time}
    about["experiments"] = [{key: getattr(each, key) for key in _PLACE} for each in data]
    arrays = {f"{kind}{i}": getattr(each, kind) for i, each in enumerate(data) for kind in "uy"}
    stamped = {i: each.stamps for i, each in enumerate(data) if each.stamps is not None}
    about["stamps"] = {i: {key: getattr(s, key) for key in _STAMPS} for i, s in stamped.items()}
    arrays |= {f"t{i}": stamps.values for i, stamps in stamped.items()}
    arrays[_ABOUT] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    return write_whole(path, lambda temporary: _write_arrays(temporary, arrays))


def _write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with path.open("wb") as file:  # given a path, NumPy would append a suffix
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def load_saved_dataset(path: str | Path) -> Dataset:
    """The inverse of `save_dataset`."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(arrays[_ABOUT].tobytes())
            stamps = {
                int(i): Stamps(values=arrays[f"t{i}"], **each)
                for i, each in about.get("stamps", {}).items()
            }
            runs = tuple(
                Experiment(arrays[f"u{i}"], arrays[f"y{i}"], stamps=stamps.get(i), **place)
                for i, place in enumerate(about["experiments"])
            )
        channels = {name: tuple(about[name]) for name in _CHANNELS}
        return Dataset(runs, about["name"], about["sampling_time"], **channels)
    except Exception as error:  # a broken archive raises nearly anything
        given = f"a file that cannot be read ({type(error).__name__}: {error})"
        remedy = "Run the same `gpssm fit` again: it writes the file again."
        raise DataError(expected(str(path), given, "the data of a run", remedy)) from error
