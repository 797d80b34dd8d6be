"""Configuration of a run: from a TOML file and the command line, saved with the run."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import tomli_w
from pydantic import Field

from gpssm.base.errors import ConfigError, expected
from gpssm.base.settings import Settings
from gpssm.base.version import __version__
from gpssm.data import Dataset
from gpssm.evaluation.scoring import Protocol
from gpssm.inference import Model, method
from gpssm.inference.methods.registry import METHODS
from gpssm.inference.presets import default_dim_x
from gpssm.training import Stage, Training

NONE = "none"  # stands for None in a file: TOML has no null
_REPLACES = {  # of [data] in a file, those that an option of the command line replaces
    "files": ("name",),
    "name": ("files", "test_files"),
    "test_files": ("test_fraction",),
    "test_fraction": ("test_files",),
}


class DataConfig(Settings):
    """Which files or which data set, and which of their columns."""

    files: tuple[str, ...] = Field((), description="data files, one per experiment")
    test_files: tuple[str, ...] = Field(
        (), description="files of the test part; all of `files` is then training"
    )
    name: str | None = Field(None, description="name of a registered data set, in place of files")
    inputs: tuple[str, ...] = Field((), description="columns that drive the system")
    outputs: tuple[str, ...] = Field((), description="columns that were measured")
    time: str | None = Field(None, description="column of numbers or dates")
    time_unit: str | None = Field(
        None, description="of numbers: ns, us, ms, s, min or h; s, or what the column's name says"
    )
    resample: float | None = Field(
        None, gt=0, le=1e12, description="new step in seconds, for irregular or faster samples"
    )
    input_lag: int = Field(
        0, ge=0, le=1_000_000, description="rows by which the log holds each input too late"
    )
    experiment: str | None = Field(None, description="column that names the experiment")
    sampling_time: float | None = Field(
        None, gt=0, le=1e12, description="in seconds, if no time column"
    )
    units: dict[str, str] = Field({}, description="units of columns, for labels")
    on_disk: bool = Field(False, description="read Parquet files in blocks; see gpssm.read")
    test_fraction: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="last part of every experiment, held out; 0: no test; 0.3 for files",
    )


class ForecastConfig(Settings):
    """How the test part is forecast."""

    warmup: int = Field(
        16, ge=1, le=1_000_000, description="first rows whose outputs a forecast uses"
    )
    horizon: int = Field(
        5000, ge=2, le=10_000_000, description="largest number of steps, warm-up included"
    )
    particles: int = Field(200, ge=1, le=1_000_000, description="sampled trajectories per forecast")


SECTIONS: dict[str, type[Settings]] = {
    "data": DataConfig,
    "forecast": ForecastConfig,
    "model": Model,
    "training": Training,
}


class RunConfig(Settings):
    """Everything that `gpssm fit` needs to know."""

    version: str = Field(__version__, description="version of gpssm that wrote the file")
    method: str = Field("cbf-ssm-50", description="name of the method")
    seed: int = Field(0, ge=0, le=2**32 - 1, description="the first random seed")
    seeds: int = Field(1, ge=1, le=1000, description="random seeds, fitted together")
    validation: float | None = Field(
        None, gt=0, lt=1, description="share of the training data, held out to select the best step"
    )
    calibration_folds: int = Field(
        0, ge=0, le=1000, description="cross-validation folds that set the noise; 0: none"
    )
    data: DataConfig = Field(DataConfig(), description="which data")
    forecast: ForecastConfig = Field(ForecastConfig(), description="how the test is forecast")
    model: dict[str, Any] = Field({}, description="settings of gpssm.Model")
    training: dict[str, Any] = Field({}, description="settings of gpssm.Training")

    def build_model(self, dim_y: int) -> Model:
        """The model; `dim_x` depends on the number of outputs unless it is given."""
        return method(self.method, **{"dim_x": default_dim_x(dim_y), **self.model})

    def default_folder(self, data: Dataset) -> Path:
        """Default folder of the run."""
        return Path("runs") / f"{data.name}-{self.method}"

    def protocol(self, model: Model) -> Protocol:
        """How the test part is forecast; the warm-up is at least that of the recognition."""
        asked = self.forecast
        warmup = max(asked.warmup, model.shortest_warmup)
        return Protocol(warmup, asked.horizon, asked.particles)

    def trained_on(self, data: Dataset) -> Dataset:
        """The training part without the rows held out for validation."""
        share = self.validation
        return data.train.split(1.0 - share, share).train if share else data.train

    def resolved(self, model: Model, training: Training) -> "RunConfig":
        """The same configuration with every default written out."""
        return self.replace(model=model.model_dump(), training=training.model_dump())

    def to_toml(self) -> str:
        """Text of a file with which `gpssm fit --config` repeats the run."""
        content = self.model_dump()
        data = DataConfig().model_dump()
        content["data"] = {k: each for k, each in content["data"].items() if each != data[k]}
        for section, kind in (("model", Model), ("training", Training)):
            given = content[section].items()
            content[section] = {key: _spelled(kind, key, value) for key, value in given}
        return tomli_w.dumps(_without_none(content))


def _without_none(value: Any) -> Any:
    """Drop entries that are None, which TOML cannot express."""
    if isinstance(value, Mapping):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_without_none(each) for each in value]
    return value


def read_config(path: Path) -> dict[str, Any]:
    """Read the sections of a TOML file; paths of data files are relative to it."""
    content = read_sections(path, "--config")
    place_files(section(content, "data", path), path.parent)
    return content


def read_sections(path: Path, field: str) -> dict[str, Any]:
    """Read a TOML file; the word for None becomes None in `[model]` and `[training]`."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        remedy = "Check the path."
        raise ConfigError(expected(field, f"{path}, which is no file", "one", remedy)) from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, too deep, too long
        raise ConfigError(expected(field, f"{path} ({error})", "a TOML file")) from None
    for name in ("model", "training"):
        given = section(content, name, path)
        content[name] = {key: from_file(name, key, value) for key, value in given.items()}
    return content


def from_file(section: str, key: str, value: Any) -> Any:
    """A value as TOML has it, where the word for None becomes None."""
    spelled = section in ("model", "training")
    return _unspelled(SECTIONS[section], key, value) if spelled else value


def place_files(data: dict[str, Any], folder: Path) -> None:
    """Make paths of data files relative to this folder, in place."""
    for key in ("files", "test_files"):
        if isinstance(data.get(key), list) and all(isinstance(f, str) for f in data[key]):
            data[key] = [str(folder / file) for file in data[key]]


def make_config(file: dict[str, Any], options: dict[str, Any]) -> RunConfig:
    """Merge a file with options of the command line, which win; None: not given."""
    given = {key: value for key, value in options.items() if value is not None}
    merged = {**file, **given}
    for name in SECTIONS:
        changes = {k: v for k, v in given.get(name, {}).items() if v is not None}
        replaced = {other for one in changes for other in _REPLACES.get(one, ())}
        kept = {k: v for k, v in section(file, name).items() if k not in replaced}
        merged[name] = {**kept, **changes}
    _check_places(merged)
    config = RunConfig(**merged)
    _check_together(config)
    return config


def _check_places(content: Mapping[str, Any]) -> None:
    """Raise for a setting that stands outside of its section."""
    for key in content.keys() - RunConfig.model_fields.keys():
        for section in (name for name, kind in SECTIONS.items() if key in kind.model_fields):
            given = "a setting that is unknown outside of a section"
            raise ConfigError(expected(key, given, f"it below [{section}]"))


def _check_together(config: RunConfig) -> None:
    """Raise for an unknown method, and for settings that exclude each other."""
    if config.method not in METHODS:
        raise ConfigError(expected("method", repr(config.method), f"one of {', '.join(METHODS)}"))
    if config.calibration_folds == 1:
        raise ConfigError(expected("calibration_folds", 1, "0, or at least 2"))
    if config.calibration_folds and config.validation:
        both = f"{config.calibration_folds} together with validation = {config.validation}"
        remedy = "The validation part already sets the noise."
        raise ConfigError(expected("calibration_folds", both, "one of them", remedy))
    if config.data.test_files and config.data.test_fraction is not None:
        both = f"files together with test_fraction = {config.data.test_fraction}"
        raise ConfigError(expected("test_files", both, "one of them"))


def section(content: dict[str, Any], name: str, path: Path | None = None) -> dict[str, Any]:
    """A section of a file; empty if there is none."""
    found = content.get(name, {})
    if not isinstance(found, dict):
        field = name if path is None else f"{path}, {name}"
        raise ConfigError(expected(field, repr(found), f"a section [{name}]"))
    return found


def _spelled(kind: type[Settings], key: str, value: Any) -> Any:
    """Write None as a word where the default is another value."""
    if key == "stages":
        return [{name: each for name, each in stage.items() if each is not None} for stage in value]
    return NONE if value is None and kind.model_fields[key].default is not None else value


def _unspelled(kind: type[Settings], key: str, value: Any) -> Any:
    if key == "stages" and isinstance(value, list):
        return [Stage(**each) if isinstance(each, dict) else each for each in value]
    return none_if_spelled(kind, key, value)


def none_if_spelled(kind: type[Settings], key: str, value: Any) -> Any:
    """Turn the word for None into None where None is allowed."""
    field = kind.model_fields.get(key)
    optional = field is not None and NoneType in get_args(field.annotation)
    return None if optional and value == NONE else value
