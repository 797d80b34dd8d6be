"""A data set as one file of plain arrays, so that a run keeps what it was trained and tested on."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, expected
from .dataset import Dataset
from .experiment import Experiment

_ABOUT = "about"
_CHANNELS = ("input_names", "output_names", "input_units", "output_units", "notes", "steps")
_PLACE = ("name", "part", "start", "stride")


def save_dataset(path: str | Path, data: Dataset) -> Path:
    """Write the data set, parts included, under another name that is changed when it is whole."""
    path = Path(path)
    about: dict[str, Any] = {name: list(getattr(data, name)) for name in _CHANNELS}
    about |= {"name": data.name, "sampling_time": data.sampling_time}
    about["experiments"] = [{key: getattr(each, key) for key in _PLACE} for each in data]
    arrays = {f"{kind}{i}": getattr(each, kind) for i, each in enumerate(data) for kind in "uy"}
    arrays[_ABOUT] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def load_saved_dataset(path: str | Path) -> Dataset:
    """The inverse of `save_dataset`."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(arrays[_ABOUT].tobytes())
            runs = [_experiment(arrays, i, each) for i, each in enumerate(about["experiments"])]
    except Exception as error:  # a broken archive raises nearly anything
        given = f"a file that cannot be read ({type(error).__name__}: {error})"
        remedy = "Run the same `gpssm fit` again: it writes the file anew."
        wanted = "the data of a run"
        raise DataError(expected(str(path), given, wanted, remedy)) from error
    channels = {name: tuple(about[name]) for name in _CHANNELS}
    return Dataset(tuple(runs), about["name"], about["sampling_time"], **channels)


def _experiment(arrays: Any, index: int, place: dict[str, Any]) -> Experiment:
    return Experiment(arrays[f"u{index}"], arrays[f"y{index}"], **place)
