"""Arguments and options of the commands, with their help texts."""

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gpssm.inference.methods.registry import METHODS

_BREAKS = {ord("\n"): "\ue000", ord("\r"): "\ue001"}  # characters that no text has
_UNBREAKS = {ord(stand_in): chr(mark) for mark, stand_in in _BREAKS.items()}

# Groups of options in the help of a command.
_DATA, _FITTING, _PROCESSES = "Data", "Model and training", "Several processes"

# An empty metavar: a switch takes no value, and typer would write <bool> behind it.
_switch = partial(typer.Option, metavar="")
_count = partial(typer.Option, min=1, metavar="N")
_column = partial(typer.Option, metavar="A", rich_help_panel=_DATA)
_seconds = partial(typer.Option, metavar="SECONDS", rich_help_panel=_DATA)
_names = partial(typer.Option, metavar="A,B", rich_help_panel=_DATA)
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
Inputs = Annotated[list[str] | None, _names(help="Columns that drive the system.")]
Outputs = Annotated[list[str] | None, _names(help="Columns that were measured.")]
TimeColumn = Annotated[str | None, _column(help="Column of numbers or dates.")]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        help="Unit of the time column: ns, us, ms, s, min or h.",
        rich_help_panel=_DATA,
        show_default="what its name says, else s",
    ),
]
SamplingTime = Annotated[
    float | None, _seconds(help="Step of the rows, where there is no time column.")
]
Resample = Annotated[
    float | None, _seconds(help="New step, for samples at irregular or faster times.")
]
InputLag = Annotated[
    int | None,
    _count(
        min=0,
        help="Rows by which inputs are logged too late; 1: with the row they led to.",
        rich_help_panel=_DATA,
        show_default="0",
    ),
]
ExperimentColumn = Annotated[str | None, _column(help="Column that names the experiment.")]
OnDisk = Annotated[
    bool,
    _switch("--on-disk", help="Read Parquet files from disk in blocks.", rich_help_panel=_DATA),
]

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
        rich_help_panel=_FITTING,
        show_default="cbf-ssm-50",
    ),
]
DimX = Annotated[
    int | None,
    _count(
        help="Number of states, outputs included.",
        rich_help_panel=_FITTING,
        show_default="4 or more",
    ),
]
Steps = Annotated[
    int | None, _count(help="Gradient steps.", rich_help_panel=_FITTING, show_default="1000")
]
Seeds = Annotated[
    int | None,
    _count(help="Random seeds, fitted together.", rich_help_panel=_FITTING, show_default="1"),
]
Starts = Annotated[
    int | None,
    _count(
        help="Restarts per seed; keeps one that has not failed.",
        rich_help_panel=_FITTING,
        show_default="1",
    ),
]
Cores = Annotated[
    int | None,
    _count(
        max=1024,
        help="CPU cores to train on.",
        rich_help_panel=_FITTING,
        show_default="all, at most 8; 1 with --distributed",
    ),
]
CalibrationFolds = Annotated[
    int | None,
    _count(
        min=2,
        help="Cross-validation folds that set the noise; one fit each.",
        rich_help_panel=_FITTING,
        show_default="none",
    ),
]
TestFraction = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=0.99,
        metavar="SHARE",
        help="Last part of each experiment, held out for the test; 0: no test.",
        rich_help_panel=_DATA,
        show_default="0.3",
    ),
]
Test = Annotated[
    list[Path] | None,
    _path(
        help="File for the test; DATA is then all for training. Repeatable.", rich_help_panel=_DATA
    ),
]
FirstSeed = Annotated[
    int | None, _count(min=0, help="First random seed.", rich_help_panel=_FITTING, show_default="0")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any setting, such as learning_rate=0.05. Repeatable.",
        rich_help_panel=_FITTING,
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
    bool,
    _switch(
        "--distributed",
        help="Train with other processes; see the docs.",
        rich_help_panel=_PROCESSES,
    ),
]
Coordinator = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Address of process 0, without Slurm or MPI.",
        rich_help_panel=_PROCESSES,
    ),
]
Processes = Annotated[
    int | None, _count(max=100_000, help="Number of processes.", rich_help_panel=_PROCESSES)
]
Process = Annotated[
    int | None,
    typer.Option(min=0, metavar="I", help="Index of this process.", rich_help_panel=_PROCESSES),
]
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
ReportData = Annotated[
    list[str] | None,
    typer.Option(
        "--data", metavar="DATA", help="Other data to forecast: RUN/report-DATA.html. Repeatable."
    ),
]
PageOut = Annotated[Path, _path(help="File of the page.")]
DemoOut = Annotated[Path, _path(help="Folder for model, figure and report.")]


def split_names(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    """Split `a,b` into names, as a row of a CSV file; None if the option was not given.

    Where the option is repeated each text is one name, which may have commas without quotes.
    """
    if not texts:
        return None
    if len(texts) > 1:
        return tuple(name for text in texts for name in (_row(text) if text[:1] == '"' else [text]))
    return tuple(name.strip() for name in _row(texts[0]) if name.strip())


def _row(text: str) -> list[str]:
    line = text.translate(_BREAKS)  # a line break does not end the row: names may have one
    try:
        names = next(csv.reader([line], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        message = f"{text!r} has a quotation mark that does not end ({error})."
        raise typer.BadParameter(message) from None
    return [name.translate(_UNBREAKS) for name in names]
