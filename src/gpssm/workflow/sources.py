"""DATA on the command line: a file, several files, or the name of a registered data set."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from gpssm.base.errors import ConfigError, DataError, expected
from gpssm.data import Dataset, list_datasets, load_dataset, read
from gpssm.data.io.tables import JITTER

from .configuration import DataConfig

TEST_FRACTION = 0.3


def as_data_options(arguments: Sequence[str]) -> dict[str, object]:
    """`files` or a `name`, as a configuration writes them."""
    if not arguments:
        return {}
    if len(arguments) == 1 and _is_registered(arguments[0]):
        return {"name": arguments[0]}
    return {"files": tuple(str(Path(each).absolute()) for each in arguments)}


def load_data(config: DataConfig) -> Dataset:
    """The data with a training and a test part."""
    if config.name is not None:
        _refuse_columns(config)
        return load_dataset(config.name)
    if not config.files:
        remedy = "Name a file, several files, or a data set of `gpssm data list`."
        raise ConfigError(expected("DATA", "nothing", "data to fit", remedy))
    fraction = config.test_fraction or TEST_FRACTION
    return read_files(config, config.files).split(train=1.0 - fraction)


def read_files(config: DataConfig, files: Sequence[str]) -> Dataset:
    """Files with the columns of a configuration."""
    return read(
        list(files),
        inputs=list(config.inputs),
        outputs=list(config.outputs),
        time=config.time,
        experiment=config.experiment,
        sampling_time=config.sampling_time,
        units=config.units,
        on_disk=config.on_disk,
    )


def load_more(arguments: Sequence[str], config: DataConfig, known: Dataset) -> Dataset:
    """New data for a model that is fitted: the columns that it was trained on."""
    if len(arguments) == 1 and _is_registered(arguments[0]):
        data = load_dataset(arguments[0])
        data = data.test if "test" in data.parts else data
    else:
        names = {"inputs": known.input_names, "outputs": known.output_names}
        data = read_files(config.replace(**names, on_disk=False), arguments)
    _check_step(data, known)
    return data


def _check_step(data: Dataset, known: Dataset) -> None:
    """Raise unless the sampling time is that of the training data."""
    ours, theirs = known.sampling_time, data.sampling_time
    if ours is not None and theirs is not None and abs(theirs - ours) > JITTER * ours:
        wanted = f"{ours:.6g} s, as in training"
        raise DataError(expected("DATA", f"a step of {theirs:.6g} s", wanted, "Resample it."))


def _is_registered(argument: str) -> bool:
    """Whether it names a registered data set; raise if it looks like an unknown name."""
    if Path(argument).exists():
        return False
    names = list(list_datasets())
    if argument not in names and Path(argument).name == argument and not Path(argument).suffix:
        near = difflib.get_close_matches(argument, names, n=3, cutoff=0.4)
        wanted = "a file, or a data set of `gpssm data list`"
        remedy = f"Nearest: {', '.join(near)}." if near else "Check the name and its suffix."
        raise DataError(expected("DATA", repr(argument), wanted, remedy))
    return argument in names


def _refuse_columns(config: DataConfig) -> None:
    """A registered data set has its own columns, units and split."""
    fixed = ("files", "inputs", "outputs", "time", "experiment", "sampling_time", "test_fraction")
    for name in (*fixed, "on_disk"):
        if getattr(config, name):
            given = f"{getattr(config, name)} together with the data set {config.name!r}"
            remedy = "Leave it out: a registered data set has its own columns and split."
            raise ConfigError(expected(name, given, "one of them", remedy))
