"""The folder of a run: models, configuration, data, scores and report, each written whole."""

import json
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.claims import LOCK
from gpssm.data import Dataset
from gpssm.data.archive import load_saved_dataset, save_dataset
from gpssm.errors import ConfigError, ModelFileError, expected
from gpssm.report.evaluation import MODEL, Protocol, training_rmse
from gpssm.report.summary import failed_seeds
from gpssm.run import Run, load
from gpssm.study import IDENTITY

from .configuration import RunConfig, read_config
from .sources import load_data
from .talk import as_json

CONFIG, DATA, SCORES, REPORT = "config.toml", "data.npz", "scores.json", "report.html"
_CLAIMED = "run.json"  # written by fit; whoever has it is a run


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A finished run: its seeds, and what they were trained and tested on."""

    path: Path
    config: RunConfig
    data: Dataset
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """How tables call the run."""
        return self.path.resolve().name

    @property
    def protocol(self) -> Protocol:
        """How its test part is forecast."""
        return self.config.protocol(self.runs[0].model)

    @property
    def trained_on(self) -> Dataset:
        """The rows that its seeds have seen."""
        return self.config.trained_on(self.data)

    @cached_property
    def training_rmse(self) -> dict[int, float]:
        """How well each seed simulates the newest of them; as `fit` has kept it, if it has."""
        return _kept_training_rmse(self.path / SCORES, self.runs) or {
            run.seed: rmse
            for run in self.runs
            if (rmse := training_rmse(run, self.trained_on, self.protocol)) is not None
        }

    @property
    def failed(self) -> dict[int, float]:
        """Seeds that do so much worse than the best one; a single seed has none to compare with."""
        return failed_seeds(self.training_rmse) if len(self.runs) > 1 else {}

    def choose(self, seed: int | None = None) -> Run:
        """One seed by its number; else that with the best ELBO, of those that have not failed."""
        if seed is None:
            return best_run(tuple(run for run in self.runs if run.seed not in self.failed))
        for run in self.runs:
            if run.seed == seed:
                return run
        wanted = f"one of {[run.seed for run in self.runs]}, those of {self.path}"
        raise ConfigError(expected("--seed", seed, wanted))


def best_run(runs: tuple[Run, ...]) -> Run:
    """The run with the best ELBO at the end of training: the test part has no say in it."""
    return max(runs, key=lambda run: run.history.final_elbo)


def _kept_training_rmse(path: Path, runs: tuple[Run, ...]) -> dict[int, float]:
    """From the scores of a run; nothing where they are not there, or of an older version."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        found = {run.seed: kept[row_name(run.seed)]["training_rmse"] for run in runs}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {seed: np.nan if rmse is None else float(rmse) for seed, rmse in found.items()}


def row_name(seed: int, model: str = MODEL) -> str:
    """How a seed is called among the scores."""
    return f"{model}, seed {seed}"


def check_folder(path: Path) -> None:
    """A new folder, an empty one, or that of a run: nothing else is written to.

    One that was stopped before its training began has the inputs of a run, and nothing more.
    """
    own = is_claimed(path) or (path.is_dir() and _holds_inputs(path))
    _check_own(path, own, "a new folder or that of a run")


def _holds_inputs(path: Path) -> bool:
    """Whether all in it is what `keep_inputs` writes, or was writing."""
    names = {each.name for each in path.iterdir()}
    written = {name for name in names if not re.fullmatch(r"\.(config\.toml|data\.npz)\..*", name)}
    if not written <= {CONFIG, DATA, LOCK}:
        return False
    try:
        return CONFIG not in written or bool(RunConfig(**read_config(path / CONFIG)))
    except ConfigError:
        return False


def check_demo_folder(path: Path, files: Collection[str]) -> None:
    """A new folder, an empty one, or one with nothing but what an earlier demo wrote."""
    own = path.is_dir() and {each.name for each in path.iterdir()} <= set(files)
    _check_own(path, own, "a new folder or that of a demo")


def check_study_folder(path: Path) -> None:
    """A new folder, an empty one, or that of a study."""
    _check_own(path, (path / IDENTITY).is_file(), "a new folder or that of a study")


def _check_own(path: Path, own: bool, wanted: str) -> None:
    if path.exists() and not path.is_dir():
        raise ConfigError(expected("--out", f"{path}, which is a file", "a folder"))
    others = path.is_dir() and any(each.name != LOCK for each in path.iterdir())
    if others and not own:
        remedy = "Choose another name: nothing in it is touched."
        raise ConfigError(expected("--out", f"{path}, which holds other files", wanted, remedy))


def is_claimed(path: Path) -> bool:
    """Whether a run has been started there."""
    return (path / _CLAIMED).is_file()


def keep_inputs(path: Path, config: RunConfig, data: Dataset) -> None:
    """Save the configuration and the data, so that the folder is enough for all that follows.

    Data that stay on disk are not copied: the configuration says where they are.
    """
    path.mkdir(parents=True, exist_ok=True)
    write_whole(path / CONFIG, config.to_toml())
    if not config.data.on_disk:
        save_dataset(path / DATA, data)


def keep_scores(path: Path, scores: dict[str, Any]) -> None:
    """Save the scores of all models; a number that is not finite becomes null."""
    write_whole(path / SCORES, as_json(scores))


def open_folder(path: Path) -> RunFolder:
    """What `gpssm fit` left there."""
    if not path.is_dir() or not (path / CONFIG).is_file():
        given = f"{path}, which is no folder" if not path.is_dir() else f"{path} without {CONFIG}"
        remedy = "Give the folder that `gpssm fit` has printed, such as runs/NAME."
        raise ConfigError(expected("RUN", given, "the folder of a run", remedy))
    models = sorted(path.glob("seed-*.gpssm"), key=_number)
    if not models:
        remedy = "Run the same `gpssm fit` again: it goes on where it was stopped."
        raise ModelFileError(expected("RUN", f"{path} without a model", "a finished run", remedy))
    config = RunConfig(**read_config(path / CONFIG))
    data = load_data(config.data) if config.data.on_disk else load_saved_dataset(path / DATA)
    return RunFolder(path, config, data, tuple(load(each) for each in models))


def write_whole(path: Path, text: str) -> Path:
    """Under another name first: a stop in between leaves the old file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _number(path: Path) -> int:
    found = re.search(r"seed-(\d+)", path.name)
    return int(found[1]) if found else 0
