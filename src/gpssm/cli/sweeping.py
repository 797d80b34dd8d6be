"""`gpssm sweep`: a study in, a table of trials and the best settings out."""

from pathlib import Path
from typing import Any

from pydantic import Field
from rich.table import Table

import gpssm
from gpssm.base.errors import ConfigError, expected
from gpssm.base.files import write_whole
from gpssm.study import IDENTITY, SCORE, Cluster, Study, Sweep
from gpssm.study.settings import SECTIONS
from gpssm.study.space import short
from gpssm.workflow.configuration import (
    DataConfig,
    RunConfig,
    none_if_spelled,
    place_files,
    read_sections,
    section,
)
from gpssm.workflow.folder import check_own, refuse_inputs
from gpssm.workflow.sources import load_data

from .console import say, show, show_json

BEST = "best.toml"
_SHOWN = 10  # configurations in the table of the terminal


class StudyConfig(Study):
    """A study with its data: all that `gpssm sweep` needs to know."""

    datasets: tuple[str, ...] = Field((), description="registered names")
    data: dict[str, DataConfig] = Field({}, description="files of your own, by a name")
    cluster: Cluster = Field(Cluster(), description="resources of a job on Ray")

    @property
    def sources(self) -> dict[str, DataConfig]:
        """Where each data set comes from."""
        return {name: DataConfig(name=name) for name in self.datasets} | self.data


def sweep_command(
    path: Path, out: Path | None, on_cluster: bool, quiet: bool, as_json: bool
) -> None:
    """Read the study, fit the missing trials, and show the best."""
    study = read_study(path)
    out = out or Path("studies") / path.stem
    check_own(out, (out / IDENTITY).is_file(), "a new folder or that of a study")
    refuse_inputs(out, [file for source in study.sources.values() for file in source.files])
    gpssm.prepare()  # before anything is computed, a simulated data set included
    data = {name: load_data(source).train for name, source in study.sources.items()}
    cluster = study.cluster if on_cluster else None
    found = gpssm.sweep(study, data, out=out, cluster=cluster, quiet=quiet)
    written = write_best(study, found)
    if as_json:
        show_json({"study": out, "table": found.path, "best": written, **as_numbers(found)})
    else:
        show(best_table(found))
        show("\n".join([f"table   {found.path}", *(f"best    {each}" for each in written)]))
    for line in found.lost:
        say(f"error: {line}")
    if found.lost:
        say("Run the same command again to fit the missing trials.")
        raise SystemExit(1)


def read_study(path: Path) -> StudyConfig:
    """Read a study; paths of data files are relative to its file."""
    content = read_sections(path, "STUDY")
    search = section(content, "search", path)
    for name, kind in SECTIONS.items():
        for key, values in section(search, name, path).items():
            if isinstance(values, list):
                search[name][key] = [none_if_spelled(kind, key, each) for each in values]
    data = section(content, "data", path)
    for name in data:
        place_files(section(data, name, path), path.parent.absolute())
    study = StudyConfig(**content)
    if not study.sources:
        remedy = 'For example datasets = ["furnace"], or a section [data.NAME] with files.'
        raise ConfigError(expected(str(path), "no data", "some", remedy))
    if twice := sorted(set(study.datasets) & study.data.keys()):
        remedy = "Give the files another name."
        raise ConfigError(expected("data", f"{twice[0]!r} twice", "each name once", remedy))
    return study


def write_best(study: StudyConfig, found: Sweep) -> list[Path]:
    """Write the best settings for `gpssm fit --config`: overall and for each data set."""
    sources = study.sources
    if len(sources) == 1:
        return [_write(study, found, BEST, None, *sources.values())]
    each = [
        _write(study, found, f"best-{name}.toml", name, source) for name, source in sources.items()
    ]
    return [_write(study, found, BEST, None, DataConfig()), *each]


def _write(
    study: StudyConfig, found: Sweep, name: str, dataset: str | None, source: DataConfig
) -> Path:
    best = found.best(dataset)
    config = RunConfig(
        method=best.method,
        seeds=study.seeds,
        validation=study.validation,
        data=source,
        model=best.model,
        training={**best.training, "validation_metric": study.objective},
    )
    return write_whole(found.folder / name, config.to_toml())


def best_table(found: Sweep) -> Table:
    """Table of the first configurations of the ranking with their settings."""
    ranked, objective = found.ranking.head(_SHOWN), found.study.objective
    several = len(found.datasets) > 1
    scores = [SCORE, *(f"{SCORE} {name}" for name in found.datasets if several)]
    titles = [objective, *(f"on {name}" for name in found.datasets if several)]
    searched = list(found.study.search.space)
    title = f"{len(found.table)} trials, the best on the held-out part (normalised units)"
    names = (each.rpartition(".")[2] for each in searched)
    table = Table("configuration", *titles, *names, title=title)
    for number, row in ranked.iterrows():
        cells = ["failed" if row[name] != row[name] else f"{row[name]:.4g}" for name in scores]
        table.add_row(str(number), *cells, *(short(row[name]) for name in searched))
    return table


def as_numbers(found: Sweep) -> dict[str, Any]:
    """The best configuration as plain numbers, for JSON."""
    best, first = found.best(), found.ranking.iloc[0]
    return {
        "settings": best._asdict(),
        "objective": found.study.objective,
        "score": float(first[SCORE]),
        "trials": len(found.table),
        "failed": int(found.table["error"].notna().sum()),
        "lost": list(found.lost),
    }
