"""Arguments and options of the commands, each told once with its help."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Method(StrEnum):
    """The presets; a test compares them with those of the library, which loads slowly."""

    CBF_SSM_50 = "cbf-ssm-50"
    CBF_SSM_1 = "cbf-ssm-1"
    CBF_SSM_1S = "cbf-ssm-1s"
    PR_SSM = "pr-ssm"
    VCDT = "vcdt"


class Experiment(StrEnum):
    """What `reproduce` knows."""

    TABLE1 = "table1"
    FIGURE1 = "figure1"
    FIGURE3A = "figure3a"
    FIGURE3B = "figure3b"
    FIGURE4 = "figure4"
    COST = "cost"


# ---------------------------------------------------------------------- of every command

# An empty metavar: a switch takes no value, and typer would write <bool> behind it.
Json = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON object, for machines.")
]
Debug = Annotated[bool, typer.Option("--debug", metavar="", help="Show the traceback of an error.")]

# ---------------------------------------------------------------------- data and their columns

Data = Annotated[
    list[str] | None,
    typer.Argument(metavar="DATA", help="A file, several files, or a registered name."),
]
SomeData = Annotated[list[str], typer.Argument(metavar="DATA", help="Files, or a registered name.")]
NewData = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Measured rows, then inputs with empty outputs."),
]
OtherData = Annotated[
    list[str] | None,
    typer.Argument(metavar="DATA", help="Other data; else the test part of the run."),
]
Names = Annotated[list[str], typer.Argument(metavar="NAME", help="Registered names.")]
Inputs = Annotated[str | None, typer.Option(metavar="A,B", help="Columns that drive the system.")]
Outputs = Annotated[str | None, typer.Option(metavar="A,B", help="Columns that were measured.")]
TimeColumn = Annotated[str | None, typer.Option(metavar="A", help="Column of seconds or dates.")]
ExperimentColumn = Annotated[
    str | None, typer.Option(metavar="A", help="Column that tells experiments apart.")
]

OnDisk = Annotated[
    bool,
    typer.Option("--on-disk", metavar="", help="Leave Parquet files on disk, however large."),
]

# ---------------------------------------------------------------------- how to fit

MethodName = Annotated[
    Method | None,
    typer.Option(metavar="METHOD", help=f"One of {', '.join(Method)}.", show_default="cbf-ssm-50"),
]
DimX = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Number of states, outputs included.", show_default="4 or more"
    ),
]
Steps = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Gradient steps.", show_default="1000")
]
Seeds = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="How many runs, side by side.", show_default="1"),
]
Starts = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Trainings of each run; a sound one is kept.", show_default="1"
    ),
]
Cores = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="CPU cores to train on.",
        show_default="all, at most 8; 1 with --distributed",
    ),
]
CalibrationFolds = Annotated[
    int | None,
    typer.Option(
        min=2,
        metavar="N",
        help="Parts held out in turn to set the error bars; a fit each.",
        show_default="none",
    ),
]
TestFraction = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        max=0.99,
        metavar="SHARE",
        help="Last part of each experiment that tests.",
        show_default="0.3",
    ),
]
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="TOML file of the study.")]
StudyFolderOut = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Folder of the study.", show_default="studies/STUDY"),
]
OnCluster = Annotated[
    bool, typer.Option("--cluster", metavar="", help="Fit on Ray: pip install 'gpssm\\[cluster]'.")
]
Quiet = Annotated[bool, typer.Option("--quiet", metavar="", help="No progress.")]
RunFolderOut = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Folder of the run.", show_default="runs/DATA-METHOD"),
]
Distributed = Annotated[
    bool,
    typer.Option("--distributed", metavar="", help="One of several processes; see the docs."),
]
Coordinator = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Address of process 0, without Slurm or MPI."),
]
Processes = Annotated[int | None, typer.Option(min=1, metavar="N", help="How many there are.")]
Process = Annotated[int | None, typer.Option(min=0, metavar="I", help="Which one this is.")]
Config = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="TOML file with any setting; see the documentation."),
]

# ---------------------------------------------------------------------- runs and what comes of them

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
RunPaths = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Which seed of the run; else the best ELBO of those that have not failed.",
    ),
]
Warmup = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Rows whose outputs are used.",
        show_default="all up to the last measurement; 16 where the last row is measured",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", metavar="", help="Replace the file if it is there.")
]
ForecastOut = Annotated[
    Path, typer.Option(metavar="PATH", help="CSV with mean, spread and quantiles.")
]
ReportOut = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Where one report goes.", show_default="RUN/report.html"),
]
PageOut = Annotated[Path, typer.Option(metavar="PATH", help="The page.")]
DemoOut = Annotated[Path, typer.Option(metavar="PATH", help="Folder for model, figure and report.")]
What = Annotated[
    Experiment, typer.Argument(metavar="WHAT", help=f"One of {', '.join(Experiment)}.")
]
Quick = Annotated[
    bool, typer.Option("--quick", metavar="", help="Few steps: does it run, not how well.")
]


def split_names(text: str | None) -> tuple[str, ...] | None:
    """`a,b` as names; None where the option was not given."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())
