"""All that makes a run: from a TOML file, overridden by the command line, saved with the run."""

import tomllib
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from pydantic import Field

from gpssm import __version__
from gpssm.data import Dataset
from gpssm.errors import ConfigError, expected
from gpssm.inference import Model, method
from gpssm.inference.presets import METHODS, default_dim_x
from gpssm.report.evaluation import Protocol
from gpssm.settings import Settings
from gpssm.training import Stage, Training

from .toml import to_toml

NONE = "none"  # what a file says for None, since TOML has no word for it


class DataConfig(Settings):
    """Which files or which data set, and which of their columns."""

    files: tuple[str, ...] = Field((), description="one per experiment")
    name: str | None = Field(None, description="a registered data set, in place of files")
    inputs: tuple[str, ...] = Field((), description="columns that drive the system")
    outputs: tuple[str, ...] = Field((), description="columns that were measured")
    time: str | None = Field(None, description="column of seconds or dates")
    experiment: str | None = Field(None, description="column that tells experiments apart")
    sampling_time: float | None = Field(None, gt=0, description="seconds, without a time column")
    units: dict[str, str] = Field({}, description="of columns, for labels")
    on_disk: bool = Field(False, description="Parquet files are not loaded, see gpssm.read")
    test_fraction: float | None = Field(
        None, gt=0, lt=1, description="last part of every experiment; 0.3 for files"
    )


class ForecastConfig(Settings):
    """How the test part is forecast."""

    warmup: int = Field(16, ge=1, description="outputs that a forecast sees")
    horizon: int = Field(5000, ge=2, description="steps, warm-up included, at most")
    particles: int = Field(200, ge=1, description="possible futures per forecast")


class RunConfig(Settings):
    """Everything that `gpssm fit` needs to know."""

    version: str = Field(__version__, description="of the gpssm that wrote the file")
    method: str = Field("cbf-ssm-50", description="one of the presets")
    seed: int = Field(0, ge=0, description="of the first run")
    seeds: int = Field(1, ge=1, description="how many runs, in one program")
    validation: float | None = Field(
        None, gt=0, lt=1, description="part of the training data that picks the best step"
    )
    calibration_folds: int = Field(
        0, ge=0, description="parts of the training data, held out in turn, that set the error bars"
    )
    data: DataConfig = Field(DataConfig(), description="which data")
    forecast: ForecastConfig = Field(ForecastConfig(), description="how the test is forecast")
    model: dict[str, Any] = Field({}, description="settings of gpssm.Model")
    training: dict[str, Any] = Field({}, description="settings of gpssm.Training")

    def build_model(self, dim_y: int) -> Model:
        """The model, with as many states as the outputs need where nothing else was said."""
        return method(self.method, **{"dim_x": default_dim_x(dim_y), **self.model})

    def protocol(self, model: Model) -> Protocol:
        """How the test part is forecast: the recognition may need more than was asked for."""
        asked = self.forecast
        warmup = max(asked.warmup, model.shortest_warmup)
        return Protocol(warmup, asked.horizon, asked.particles)

    def trained_on(self, data: Dataset) -> Dataset:
        """The rows of the training part that are not held out to validate with."""
        share = self.validation
        return data.train.split(1.0 - share, share).train if share else data.train

    def resolved(self, model: Model, training: Training) -> "RunConfig":
        """The same configuration with nothing left to defaults."""
        return self.replace(model=model.model_dump(), training=training.model_dump())

    def to_toml(self) -> str:
        """As a file from which `gpssm fit --config` repeats the run."""
        content = self.model_dump()
        content["data"] = {key: value for key, value in content["data"].items() if value}
        for section, kind in (("model", Model), ("training", Training)):
            given = content[section].items()
            content[section] = {key: _spelled(kind, key, value) for key, value in given}
        return to_toml(content)


def read_config(path: Path) -> dict[str, Any]:
    """The sections of a TOML file, with its data files relative to where it lies."""
    content = read_sections(path, "--config")
    place_files(section(content, "data", path), path.parent)
    return content


def read_sections(path: Path, field: str) -> dict[str, Any]:
    """A TOML file whose `[model]` and `[training]` say None where they mean it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        remedy = "Check the path."
        raise ConfigError(expected(field, f"{path}, which is no file", "one", remedy)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        wanted = "a TOML file"
        raise ConfigError(expected(field, f"{path} ({error})", wanted)) from None
    for name, kind in (("model", Model), ("training", Training)):
        given = section(content, name, path)
        content[name] = {key: _unspelled(kind, key, value) for key, value in given.items()}
    return content


def place_files(data: dict[str, Any], folder: Path) -> None:
    """Data files that are relative to a folder, from where we are."""
    if isinstance(data.get("files"), list) and all(isinstance(f, str) for f in data["files"]):
        data["files"] = [str(folder / file) for file in data["files"]]


def make_config(file: dict[str, Any], options: dict[str, Any]) -> RunConfig:
    """Options of the command line over those of the file; None is an option that was not given."""
    given = {key: value for key, value in options.items() if value is not None}
    sections = ("data", "model", "training")
    merged = {**file, **{key: value for key, value in given.items() if key not in sections}}
    for section in sections:
        changes = {k: v for k, v in given.get(section, {}).items() if v is not None}
        merged[section] = {**file.get(section, {}), **changes}
    for one, other in (("files", "name"), ("name", "files")):
        if given.get("data", {}).get(one):  # what is typed takes the place of either
            merged["data"].pop(other, None)
    config = RunConfig(**merged)
    if config.method not in METHODS:
        raise ConfigError(expected("method", repr(config.method), f"one of {', '.join(METHODS)}"))
    if config.calibration_folds == 1:
        wanted = "0, or at least 2"
        raise ConfigError(expected("calibration_folds", 1, wanted))
    if config.calibration_folds and config.validation:
        both = f"{config.calibration_folds} together with validation = {config.validation}"
        remedy = "What is held out to validate with sets the error bars, too."
        raise ConfigError(expected("calibration_folds", both, "one of them", remedy))
    return config


def section(content: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """A part of a file, empty where it is not there."""
    found = content.get(name, {})
    if not isinstance(found, dict):
        wanted = f"a section [{name}]"
        raise ConfigError(expected(f"{path}, {name}", repr(found), wanted))
    return found


def _spelled(kind: type[Settings], key: str, value: Any) -> Any:
    """None as a word where it means something else than the default."""
    if key == "stages":
        return [{name: each for name, each in stage.items() if each is not None} for stage in value]
    differs = value is None and kind.model_fields[key].default is not None
    return NONE if differs else value


def _unspelled(kind: type[Settings], key: str, value: Any) -> Any:
    if key == "stages" and isinstance(value, list):
        return [Stage(**each) if isinstance(each, dict) else each for each in value]
    return none_if_spelled(kind, key, value)


def none_if_spelled(kind: type[Settings], key: str, value: Any) -> Any:
    """None where the word for it is given and None is allowed."""
    field = kind.model_fields.get(key)
    optional = field is not None and NoneType in get_args(field.annotation)
    return None if optional and value == NONE else value
