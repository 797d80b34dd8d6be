"""The data of a run as one file: everything comes back, and a damaged file is one sentence."""

import json
from dataclasses import fields

import numpy as np
import pytest

from gpssm import DataError, Dataset
from gpssm.data.io.archive import load_saved_dataset, save_dataset


@pytest.fixture
def saved(tmp_path):
    y = np.cumsum(np.ones((40, 2)), axis=0)
    y[3, 1] = np.nan
    data = Dataset.from_arrays(
        [y, 2 * y], [y[:, :1], y[:, :1]], sampling_time=0.1, input_names=["pump"],
        output_names=["level", "flow"], output_units=["cm", ""], name="tank",
    ).split(0.5)  # fmt: skip
    return data, save_dataset(tmp_path / "data.npz", data)


def describe(path, change):
    """Write the file again with another description."""
    with np.load(path) as kept:
        arrays = {name: kept[name] for name in kept.files}
    about = json.loads(arrays["about"].tobytes())
    change(about)
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **arrays)


def test_everything_comes_back(saved):
    data, path = saved
    again = load_saved_dataset(path)
    for name in (each.name for each in fields(Dataset) if each.name != "experiments"):
        assert getattr(again, name) == getattr(data, name)
    for ours, theirs in zip(again, data, strict=True):
        np.testing.assert_array_equal(ours.u, theirs.u)
        np.testing.assert_array_equal(ours.y, theirs.y)
        for name in ("name", "part", "start", "stride"):
            assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.pop("sampling_time"),
        lambda about: about.pop("output_names"),
        lambda about: about.update(sampling_time="fast"),
        lambda about: about.update(sampling_time={}),
        lambda about: about.update(input_names=3),
        lambda about: about.update(experiments=7),
        lambda about: about["experiments"].append({}),
        lambda about: about["experiments"][0].update(stride={}),
        lambda about: about["experiments"][0].update(start=float("inf")),
    ],
)
def test_a_description_that_does_not_fit_is_a_sentence_with_the_path(saved, change):
    path = saved[1]
    describe(path, change)
    with pytest.raises(DataError, match=r"(?s)data\.npz: got a file that cannot be read .*again"):
        load_saved_dataset(path)
