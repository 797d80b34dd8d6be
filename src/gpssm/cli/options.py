"""Arguments and options of the commands, with their help texts."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gpssm.inference.methods.registry import METHODS

# An empty metavar: a switch takes no value, and typer would write <bool> behind it.
_switch = partial(typer.Option, metavar="")
_count = partial(typer.Option, min=1, metavar="N")
_column = partial(typer.Option, metavar="A")
_path = partial(typer.Option, metavar="PATH")
_data = partial(typer.Argument, metavar="DATA")

# ---------------------------------------------------------------------- of every command

Json = Annotated[bool, _switch("--json", help="Print one JSON object.")]
Debug = Annotated[bool, _switch("--debug", help="Show the traceback of an error.")]

# ---------------------------------------------------------------------- data and their columns

Data = Annotated[list[str] | None, _data(help="A file, several files, or a registered name.")]
SomeData = Annotated[list[str], _data(help="Files, or a registered name.")]
NewData = Annotated[list[str], _data(help="Measured rows, then inputs with empty outputs.")]
OtherData = Annotated[list[str] | None, _data(help="Other data; default: the test part.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME", help="Registered names.")]
Inputs = Annotated[str | None, typer.Option(metavar="A,B", help="Columns that drive the system.")]
Outputs = Annotated[str | None, typer.Option(metavar="A,B", help="Columns that were measured.")]
TimeColumn = Annotated[str | None, _column(help="Column of seconds or dates.")]
ExperimentColumn = Annotated[str | None, _column(help="Column that names the experiment.")]
OnDisk = Annotated[bool, _switch("--on-disk", help="Read Parquet files from disk in blocks.")]

# ---------------------------------------------------------------------- how to fit


def _known_method(name: str | None) -> str | None:
    if name is not None and name not in METHODS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, METHODS))}.")
    return name


MethodName = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        callback=_known_method,
        help=f"One of {', '.join(METHODS)}.",
        show_default="cbf-ssm-50",
    ),
]
DimX = Annotated[
    int | None, _count(help="Number of states, outputs included.", show_default="4 or more")
]
Steps = Annotated[int | None, _count(help="Gradient steps.", show_default="1000")]
Seeds = Annotated[int | None, _count(help="Random seeds, fitted together.", show_default="1")]
Starts = Annotated[
    int | None, _count(help="Restarts per seed; keeps one that has not failed.", show_default="1")
]
Cores = Annotated[
    int | None,
    _count(help="CPU cores to train on.", show_default="all, at most 8; 1 with --distributed"),
]
CalibrationFolds = Annotated[
    int | None,
    _count(
        min=2, help="Cross-validation folds that set the noise; one fit each.", show_default="none"
    ),
]
TestFraction = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        max=0.99,
        metavar="SHARE",
        help="Last part of each experiment, held out as the test part.",
        show_default="0.3",
    ),
]
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="TOML file of the study.")]
StudyFolderOut = Annotated[
    Path | None, _path(help="Folder of the study.", show_default="studies/STUDY")
]
OnCluster = Annotated[
    bool, _switch("--cluster", help="Fit on Ray: pip install 'gpssm\\[cluster]'.")
]
Quiet = Annotated[bool, _switch("--quiet", help="Show no progress.")]
RunFolderOut = Annotated[
    Path | None, _path(help="Folder of the run.", show_default="runs/DATA-METHOD")
]
Distributed = Annotated[
    bool, _switch("--distributed", help="Train with other processes; see the docs.")
]
Coordinator = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Address of process 0, without Slurm or MPI."),
]
Processes = Annotated[int | None, _count(help="Number of processes.")]
Process = Annotated[int | None, typer.Option(min=0, metavar="I", help="Index of this process.")]
Config = Annotated[Path | None, _path(help="TOML file with any setting; see the documentation.")]

# ---------------------------------------------------------------------- runs and their results

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
RunPaths = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")]
Seed = Annotated[
    int | None,
    _count(min=0, help="Seed of the run; default: best ELBO among those that have not failed."),
]
Warmup = Annotated[
    int | None,
    _count(
        help="First rows whose outputs the forecast uses.",
        show_default="all up to the last measurement; 16 if the last row is measured",
    ),
]
Overwrite = Annotated[bool, _switch("--overwrite", help="Replace the file if it exists.")]
ForecastOut = Annotated[Path, _path(help="CSV file with mean, standard deviation and quantiles.")]
ReportOut = Annotated[
    Path | None, _path(help="File of the report, for a single run.", show_default="RUN/report.html")
]
PageOut = Annotated[Path, _path(help="File of the page.")]
DemoOut = Annotated[Path, _path(help="Folder for model, figure and report.")]


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Split `a,b` into names; None if the option was not given."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())
