"""The commands, their options and their help. What they do is in the modules beside this one."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .talk import Debug, Json, Overwrite, readable

app = typer.Typer(
    name="gpssm",
    help="Learn models of dynamical systems from logged inputs and outputs, with error bars.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Data sets by name, and checks of one's own files.")
app.add_typer(data_app, name="data", no_args_is_help=True)


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


Columns = Annotated[str | None, typer.Option(metavar="A,B", help="Names of columns.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
RunPaths = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="Which seed of the run; else the one with the best ELBO."
    ),
]


def _version(value: bool) -> None:
    if value:
        from gpssm import __version__

        print(f"gpssm {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


@app.command(epilog="Example: gpssm fit log.csv --inputs pump,valve --outputs level --time time")
@readable
def fit(
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="A file, several files, or a registered name."),
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns that drive the system.")
    ] = None,
    outputs: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns that were measured.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="A", help="Column of seconds or dates.")
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(metavar="A", help="Column that tells experiments apart.")
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            metavar="METHOD",
            help=f"One of {', '.join(Method)}.",
            show_default="cbf-ssm-50",
        ),
    ] = None,
    dim_x: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of states, outputs included.", show_default="4 or more"
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Gradient steps.", show_default="1000")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many runs, side by side.", show_default="1"),
    ] = None,
    test_fraction: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=0.99,
            metavar="SHARE",
            help="Last part of each experiment that tests.",
            show_default="0.3",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run.", show_default="runs/DATA-METHOD")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with any setting; see the documentation.")
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a model, forecast the test part, and write a report.

    The same command goes on where Ctrl-C or a crash has stopped it.
    """
    from .fitting import fit_command

    del debug
    options = {
        "method": method.value if method else None,
        "seeds": seeds,
        "data": {
            "inputs": split_names(inputs),
            "outputs": split_names(outputs),
            "time": time,
            "experiment": experiment,
            "test_fraction": test_fraction,
        },
        "model": {"dim_x": dim_x},
        "training": {"steps": steps},
    }
    fit_command(data or [], options, config, out, as_json)


@app.command(epilog="Example: gpssm predict runs/log-cbf-ssm-50 tomorrow.csv --out forecast.csv")
@readable
def predict(
    run: RunPath,
    data: Annotated[
        list[str], typer.Argument(metavar="DATA", help="Inputs, and the first outputs.")
    ],
    out: Annotated[Path, typer.Option(help="CSV with mean, spread and quantiles.")] = Path(
        "forecast.csv"
    ),
    warmup: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Outputs that may be seen.", show_default="16"),
    ] = None,
    seed: Seed = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Forecast new data from its inputs and first outputs."""
    from .forecasting import predict_command

    del debug
    predict_command(run, data, out, warmup, seed, overwrite, as_json)


@app.command(epilog="Example: gpssm evaluate runs/log-cbf-ssm-50 another-day.csv")
@readable
def evaluate(
    run: RunPath,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="Other data; else the test part of the run."),
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Score a run beside a constant mean and a linear ARX."""
    from .forecasting import evaluate_command

    del debug
    evaluate_command(run, data or [], as_json)


@app.command(epilog="Example: gpssm report runs/log-cbf-ssm-50")
@readable
def report(
    runs: RunPaths,
    out: Annotated[
        Path | None, typer.Option(help="Where one report goes.", show_default="RUN/report.html")
    ] = None,
    seed: Seed = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write the report page of each run anew."""
    from .reporting import report_command

    del debug
    report_command(runs, out, seed, overwrite, as_json)


@app.command(epilog="Example: gpssm compare runs/log-cbf-ssm-50 runs/log-pr-ssm --out compare.html")
@readable
def compare(
    runs: RunPaths,
    out: Annotated[Path, typer.Option(help="The page.")] = Path("compare.html"),
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Put several runs on one page."""
    from .reporting import compare_command

    del debug
    if len(runs) < 2:
        raise typer.BadParameter("compare needs at least two runs.")
    compare_command(runs, out, overwrite, as_json)


@data_app.command("list", epilog="Example: gpssm data list")
@readable
def data_list(as_json: Json = False, debug: Debug = False) -> None:
    """Show all data sets that have a name."""
    from .datasets import list_command

    del debug
    list_command(as_json)


@data_app.command("fetch", epilog="Example: gpssm data fetch furnace actuator")
@readable
def data_fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Registered names.")],
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Find, or download, the files of data sets and check them."""
    from .datasets import fetch_command

    del debug
    fetch_command(names, as_json)


@data_app.command(
    "check", epilog="Example: gpssm data check log.csv --inputs pump --outputs level --time time"
)
@readable
def data_check(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files, or a registered name.")],
    inputs: Columns = None,
    outputs: Columns = None,
    time: Annotated[
        str | None, typer.Option(metavar="A", help="Column of seconds or dates.")
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(metavar="A", help="Column that tells experiments apart.")
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Say what is in files and what is wrong with them; without --outputs, show their columns."""
    from .datasets import check_command

    del debug
    columns = {
        "inputs": split_names(inputs) or (),
        "outputs": split_names(outputs) or (),
        "time": time,
        "experiment": experiment,
    }
    check_command(data, columns, as_json)


@app.command(
    epilog="Example: gpssm reproduce table1 --quick",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
@readable
def reproduce(
    context: typer.Context,
    what: Annotated[Experiment, typer.Argument(help="A table or figure of the paper.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Few steps: does it run, not how well.")
    ] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute a table or figure of the paper, from a clone of the repository.

    Other options go to the experiment: gpssm reproduce table1 --datasets furnace
    """
    from .reproduction import reproduce_command

    del debug
    reproduce_command(what.value, quick, list(context.args), as_json)


@app.command(epilog="Example: gpssm demo --out demo")
@readable
def demo(
    out: Annotated[Path, typer.Option(help="Folder for model, figure and report.")] = Path("demo"),
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit two simulated tanks, one of them hidden, and forecast: about a minute."""
    from .reporting import demo_command

    del debug
    demo_command(out, as_json)


def split_names(text: str | None) -> tuple[str, ...] | None:
    """`a,b` as names; None where the option was not given."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def main() -> None:
    """The entry point of the console script."""
    app()
