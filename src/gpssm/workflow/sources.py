"""DATA on the command line: a file, several files, or the name of a registered data set."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gpssm.base.errors import ConfigError, DataError, expected
from gpssm.base.settings import nearest
from gpssm.data import Dataset, list_datasets, load_dataset, read

from .configuration import DataConfig

TEST_FRACTION = 0.3


def as_data_options(arguments: Sequence[str]) -> dict[str, object]:
    """`files` or a `name`, as a configuration writes them."""
    if not arguments:
        return {}
    if len(arguments) == 1 and _is_registered(arguments[0]):
        return {"name": arguments[0]}
    return {"files": absolute(arguments)}


def absolute(paths: Sequence[str | Path] | None) -> tuple[str, ...] | None:
    """The paths as a configuration names them, wherever it is read; None if there are none."""
    return tuple(str(Path(each).absolute()) for each in paths) if paths else None


def load_data(config: DataConfig) -> Dataset:
    """The data with a training and a test part."""
    if config.name is not None:
        _refuse_columns(config)
        return load_dataset(config.name)
    if not config.files:
        remedy = "Name a file, several files, or a data set of `gpssm data list`."
        raise ConfigError(expected("DATA", "nothing", "data to fit", remedy))
    _refuse_repeated(input_files(config))
    data = read_files(config, config.files)
    if config.test_files:
        return data.with_test(read_files(same_columns(config, data), config.test_files))
    fraction = TEST_FRACTION if config.test_fraction is None else config.test_fraction
    return data.split(train=1.0 - fraction)


def _refuse_repeated(files: Sequence[str]) -> None:
    """Raise if a file is named twice: a test on rows of the training is none."""
    count = Counter(Path(file).resolve() for file in files)
    for path, times in count.items():
        if times > 1:
            remedy = "Name each file once, for training or for the test."
            raise ConfigError(expected("DATA", f"{path} {times} times", "it once", remedy))


def read_files(config: DataConfig, files: Sequence[str]) -> Dataset:
    """Files with the columns of a configuration."""
    return read(
        list(files),
        inputs=list(config.inputs),
        outputs=list(config.outputs),
        time=config.time,
        experiment=config.experiment,
        sampling_time=config.sampling_time,
        time_unit=config.time_unit,
        resample=config.resample,
        input_lag=config.input_lag,
        units=config.units,
        on_disk=config.on_disk,
    )


def load_more(arguments: Sequence[str], config: DataConfig, known: Dataset) -> Dataset:
    """New data for a model that is fitted: the columns that it was trained on."""
    if len(arguments) == 1 and _is_registered(arguments[0]):
        data = load_dataset(arguments[0])
        data = data.test if "test" in data.parts else data
        _check_channels(data, known)
    else:
        data = read_files(same_columns(config, known).replace(on_disk=False), arguments)
    return data


def input_files(config: DataConfig) -> tuple[str, ...]:
    """All files that are read."""
    return *config.files, *config.test_files


def same_columns(config: DataConfig, known: Dataset) -> DataConfig:
    """The configuration with which other files are read as these were."""
    return config.replace(inputs=known.input_names, outputs=known.output_names)


def _check_channels(data: Dataset, known: Dataset) -> None:
    """Raise unless the channels are those of the training data, by name."""
    for kind in ("inputs", "outputs"):
        ours, theirs = (getattr(each, f"{kind[:-1]}_names") for each in (known, data))
        if ours != theirs:
            given = f"the {kind} {', '.join(theirs) or 'of none'}"
            raise DataError(expected("DATA", given, f"{', '.join(ours) or 'none'}, as in training"))


def _is_registered(argument: str) -> bool:
    """Whether it names a registered data set; raise if it looks like an unknown name."""
    if Path(argument).exists():
        return False
    names = list(list_datasets())
    if argument not in names and Path(argument).name == argument and not Path(argument).suffix:
        near = nearest(argument, names, 0.4)
        wanted = "a file, or a data set of `gpssm data list`"
        remedy = f"Nearest: {', '.join(near)}." if near else "Check the name and its suffix."
        raise DataError(expected("DATA", repr(argument), wanted, remedy))
    return argument in names


def _refuse_columns(config: DataConfig) -> None:
    """A registered data set has its own columns, units and split."""
    own = DataConfig(name=config.name)
    for name in DataConfig.model_fields:
        if name != "units" and getattr(config, name) != getattr(own, name):
            value = getattr(config, name)
            words = ", ".join(value) if isinstance(value, tuple) else value
            given = f"{words} together with the data set {config.name!r}"
            remedy = "Leave it out: a registered data set has its own columns and split."
            raise ConfigError(expected(name, given, "one of them", remedy))
