"""The folder of a run: models, configuration, data, scores and report, each written atomically."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpssm.base.errors import ConfigError, ModelFileError, expected
from gpssm.base.files import write_whole
from gpssm.base.locks import LOCK
from gpssm.data import Dataset
from gpssm.data.io.archive import load_saved_dataset, save_dataset
from gpssm.evaluation.scoring import Evaluation, Protocol, training_rmse
from gpssm.fitted.run import Run, load
from gpssm.metrics import Scores
from gpssm.report.summary import failed_seeds

from .configuration import RunConfig, read_config
from .scoring import Scoring, score, write_report
from .sources import load_data

CONFIG, DATA, SCORES, REPORT = "config.toml", "data.npz", "scores.json", "report.html"
_CLAIMED = "run.json"  # written by fit: a folder with this file is a run


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A finished run: its seeds, and what they were trained and tested on."""

    path: Path
    config: RunConfig
    data: Dataset
    runs: tuple[Run, ...]
    scoring: Scoring | None = None  # of a run that was fitted just now

    @property
    def report(self) -> Path:
        """The page of the run."""
        return self.path / REPORT

    @property
    def name(self) -> str:
        """Name of the run in tables."""
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
        """RMSE of each seed on its newest training rows; as saved by `fit`, if it was."""
        return _kept_training_rmse(self.path / SCORES, self.runs) or {
            run.seed: rmse
            for run in self.runs
            if (rmse := training_rmse(run, self.trained_on, self.protocol)) is not None
        }

    @property
    def failed(self) -> dict[int, float]:
        """Seeds with a much larger error than the best one; none for a single seed."""
        return failed_seeds(self.training_rmse) if len(self.runs) > 1 else {}

    def score(
        self, test: Dataset | None = None, baselines: dict[str, Evaluation] | None = None
    ) -> Scoring:
        """All seeds on the test part, or on other data, beside the baselines."""
        return score(
            self.runs,
            self.data,
            test=test,
            trained_on=self.trained_on,
            protocol=self.protocol,
            baselines=baselines,
        )

    def write_report(
        self, scoring: Scoring | None = None, path: Path | None = None, seed: int | None = None
    ) -> Path:
        """The page about one seed, by default the chosen one; its table has all of them."""
        return write_report(
            self.choose(seed),
            self.data,
            path or self.report,
            scoring=scoring or self.score(),
            title=self.name,
            configuration=(self.path / CONFIG).read_text(encoding="utf-8"),
        )

    def choose(self, seed: int | None = None) -> Run:
        """One seed by its number; else that with the best ELBO, of those that have not failed."""
        if seed is None:
            # The test part is not used to choose.
            usable = (run for run in self.runs if run.seed not in self.failed)
            return max(usable, key=lambda run: run.history.final_elbo)
        for run in self.runs:
            if run.seed == seed:
                return run
        wanted = f"one of {[run.seed for run in self.runs]}, those of {self.path}"
        raise ConfigError(expected("--seed", seed, wanted))


def _kept_training_rmse(path: Path, runs: tuple[Run, ...]) -> dict[int, float]:
    """From the scores of a run; nothing where they are not there, or of an older version."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))["seeds"]
        found = {run.seed: Scores.from_json(kept[str(run.seed)]["training"]) for run in runs}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {seed: scores.overall("rmse") for seed, scores in found.items()}


def check_folder(path: Path) -> None:
    """Refuse all but a new folder, an empty one, and that of a run, even if it has only inputs."""
    own = is_claimed(path) or (path.is_dir() and _holds_inputs(path))
    check_own(path, own, "a new folder or that of a run")


def _holds_inputs(path: Path) -> bool:
    """Whether all in it is what `keep_config` and `keep_data` write, or was writing."""
    names = {each.name for each in path.iterdir()}
    written = {name for name in names if not re.fullmatch(r"\.(config\.toml|data\.npz)\..*", name)}
    if not written <= {CONFIG, DATA, LOCK}:
        return False
    try:
        return CONFIG not in written or bool(RunConfig(**read_config(path / CONFIG)))
    except ConfigError:
        return False


def check_own(path: Path, own: bool, wanted: str) -> None:
    """Raise for a file, and for a non-empty folder that is not `own`."""
    if path.exists() and not path.is_dir():
        raise ConfigError(expected("--out", f"{path}, which is a file", "a folder"))
    others = path.is_dir() and any(each.name != LOCK for each in path.iterdir())
    if others and not own:
        remedy = "Choose another name; its files were not changed."
        raise ConfigError(expected("--out", f"{path}, which holds other files", wanted, remedy))


def is_claimed(path: Path) -> bool:
    """Whether a run has been started there."""
    return (path / _CLAIMED).is_file()


def keep_config(path: Path, config: RunConfig) -> None:
    """Save the configuration, with which `gpssm fit --config` repeats the run."""
    write_whole(path / CONFIG, config.to_toml())


def keep_data(path: Path, config: RunConfig, data: Dataset) -> None:
    """Save the data; those that stay on disk are not copied: the configuration names them."""
    path.mkdir(parents=True, exist_ok=True)
    if not config.data.on_disk:
        save_dataset(path / DATA, data)


def open_folder(path: Path) -> RunFolder:
    """Open the folder that `gpssm fit` wrote."""
    if not path.is_dir() or not (path / CONFIG).is_file():
        given = f"{path}, which is no folder" if not path.is_dir() else f"{path} without {CONFIG}"
        remedy = "Give the folder that `gpssm fit` has printed, such as runs/NAME."
        raise ConfigError(expected("RUN", given, "the folder of a run", remedy))
    models = sorted(path.glob("seed-*.gpssm"), key=_number)
    if not models:
        remedy = "Run the same `gpssm fit` again: it resumes where it was stopped."
        raise ModelFileError(expected("RUN", f"{path} without a model", "a finished run", remedy))
    config = RunConfig(**read_config(path / CONFIG))
    data = load_data(config.data) if config.data.on_disk else load_saved_dataset(path / DATA)
    return RunFolder(path, config, data, tuple(load(each) for each in models))


def _number(path: Path) -> int:
    found = re.search(r"seed-(\d+)", path.name)
    return int(found[1]) if found else 0
