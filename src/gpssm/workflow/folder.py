"""The folder of a run: models, configuration, data, scores and report, each written atomically."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gpssm.base.errors import ConfigError, ModelFileError, expected
from gpssm.base.files import write_whole
from gpssm.base.locks import is_unused
from gpssm.data import Dataset
from gpssm.data.io.archive import load_saved_dataset, save_dataset
from gpssm.evaluation.scoring import Evaluation, Protocol, training_rmse
from gpssm.fitted.run import Run, load
from gpssm.metrics import Scores
from gpssm.report.summary import failed_seeds
from gpssm.report.verdict import Remedy

from .configuration import RunConfig, read_config
from .next_steps import next_commands
from .scoring import Scoring, choose_run, score, write_report
from .sources import load_data, load_more

CONFIG, DATA, SCORES, REPORT = "config.toml", "data.npz", "scores.json", "report.html"
_CLAIMED = "run.json"  # written by fit: a folder with this file is a run
_MARKER = ".gpssm-{kind}"  # the first file that is written: the rest of the folder is ours


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A finished run: its seeds, and what they were trained and tested on."""

    path: Path
    config: RunConfig
    data: Dataset
    runs: tuple[Run, ...]
    scoring: Scoring | None = None  # of a run that was fitted just now
    other: str = ""  # name of other data that have taken the place of the test part

    @property
    def report(self) -> Path:
        """The page of the run."""
        page = Path(REPORT)
        return self.path / (f"{page.stem}-{self.other}{page.suffix}" if self.other else page)

    def about(self, arguments: Sequence[str]) -> "RunFolder":
        """The same run with other data, files or a registered name, in place of its test part."""
        test = load_more(arguments, self.config.data, self.data)
        return replace(self, data=self.data.train.with_test(test), other=test.name)

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
    def commands(self) -> dict[Remedy, str]:
        """What may be done next, for each kind of verdict."""
        return next_commands(self.path, self.config)

    @property
    def failed(self) -> dict[int, float]:
        """Seeds with a much larger error than the best one; none for a single seed."""
        return failed_seeds(self.training_rmse) if len(self.runs) > 1 else {}

    def score(
        self,
        test: Dataset | None = None,
        baselines: dict[str, Evaluation] | None = None,
        quiet: bool = True,
    ) -> Scoring:
        """All seeds on the test part, or on other data, beside the baselines."""
        return score(
            self.runs,
            self.data,
            test=test,
            trained_on=self.trained_on,
            protocol=self.protocol,
            baselines=baselines,
            commands=self.commands,
            quiet=quiet,
        )

    def write_report(
        self,
        scoring: Scoring | None = None,
        path: Path | None = None,
        seed: int | None = None,
        quiet: bool = True,
    ) -> Path:
        """The page about one seed, by default the chosen one; its table has all of them."""
        return write_report(
            self.choose(seed),
            self.data,
            path or self.report,
            scoring=scoring or self.score(quiet=quiet),
            quiet=quiet,
            title=self.name,
            configuration=(self.path / CONFIG).read_text(encoding="utf-8"),
            commands=self.commands,
        )

    def choose(self, seed: int | None = None) -> Run:
        """One seed by its number; else that with the best ELBO, of those that have not failed."""
        if seed is None:
            return choose_run(self.runs, self.training_rmse)
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


def check_folder(path: Path, files: Iterable[str | Path] = ()) -> None:
    """Refuse all but a new folder, an empty one, and that of a run; and one with data `files`."""
    check_own(path, is_claimed(path) or is_marked(path, "run"), "a new folder or that of a run")
    refuse_inputs(path, files)


def check_own(path: Path, own: bool, wanted: str) -> None:
    """Raise for what is no folder, and for a non-empty folder that is not `own`."""
    if path.exists() and not path.is_dir():
        kind = "a file" if path.is_file() else "a device or a pipe"
        raise ConfigError(expected("--out", f"{path}, which is {kind}", "a folder"))
    if path.is_dir() and not own and not is_unused(path):
        remedy = "Choose another name; its files were not changed."
        raise ConfigError(expected("--out", f"{path}, which holds other files", wanted, remedy))


def refuse_inputs(path: Path, files: Iterable[str | Path]) -> None:
    """Raise if one of the data files lies in the folder, by its name or at the end of a link."""
    folders = {path.absolute(), path.resolve()}
    for file in map(Path, files):
        places = file.absolute(), file.parent.resolve() / file.name, file.resolve()
        if any(place.is_relative_to(folder) for place in places for folder in folders):
            given = f"{path}, which holds the input {file.name}"
            remedy = "Choose another name; its files were not changed."
            raise ConfigError(expected("--out", given, "a folder without input files", remedy))


def is_claimed(path: Path) -> bool:
    """Whether a run has been started there."""
    return (path / _CLAIMED).is_file()


def is_marked(path: Path, kind: str) -> bool:
    """Whether gpssm has begun to fill the folder."""
    return (path / _MARKER.format(kind=kind)).is_file()


def mark(path: Path, kind: str) -> None:
    """Say that the folder is that of a run or a demo, before anything else is written to it."""
    write_whole(path / _MARKER.format(kind=kind), f"The folder of a gpssm {kind}.\n")


def keep_config(path: Path, config: RunConfig) -> None:
    """Save the configuration, with which `gpssm fit --config` repeats the run."""
    write_whole(path / CONFIG, config.to_toml())


def keep_data(path: Path, config: RunConfig, data: Dataset) -> None:
    """Save the data; those that stay on disk are not copied: the configuration names them."""
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
    return RunFolder(path, config, data, tuple(_with_measures(load(each), data) for each in models))


def _with_measures(run: Run, data: Dataset) -> Run:
    """A run with the step and the units of its data, which older model files do not hold."""
    if run.sampling_time is not None or run.input_units or run.output_units:
        return run
    measures = ("sampling_time", "input_units", "output_units")
    return replace(run, **{name: getattr(data, name) for name in measures})


def _number(path: Path) -> int:
    found = re.search(r"seed-(\d+)", path.name)
    return int(found[1]) if found else 0
