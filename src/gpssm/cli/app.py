"""The commands. Their options are in `options`; the other modules of this folder run them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as o
from .console import readable

app = typer.Typer(
    name="gpssm",
    help="Learn probabilistic models of dynamical systems from logged inputs and outputs.",
    epilog="Example: gpssm fit log.csv --inputs pump --outputs level",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(
    help="List and download data sets; check your own files.",
    epilog="Example: gpssm data check log.csv",
)
app.add_typer(data_app, name="data", no_args_is_help=True)


def _version(value: bool) -> None:
    if value:
        from gpssm.base.version import __version__

        print(f"gpssm {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", metavar="", callback=_version, is_eager=True, help="Show the version."
    ),
]


@app.callback()
def _root(version: Version = False) -> None:
    del version


@app.command(epilog="Example: gpssm fit log.csv --inputs pump --outputs level --time time")
@readable
def fit(
    data: o.Data = None,
    inputs: o.Inputs = None,
    outputs: o.Outputs = None,
    time: o.TimeColumn = None,
    experiment: o.ExperimentColumn = None,
    time_unit: o.TimeUnit = None,
    sampling_time: o.SamplingTime = None,
    resample: o.Resample = None,
    input_lag: o.InputLag = None,
    test: o.Test = None,
    test_fraction: o.TestFraction = None,
    method: o.MethodName = None,
    dim_x: o.DimX = None,
    steps: o.Steps = None,
    seed: o.FirstSeed = None,
    seeds: o.Seeds = None,
    starts: o.Starts = None,
    calibration_folds: o.CalibrationFolds = None,
    cores: o.Cores = None,
    on_disk: o.OnDisk = False,
    out: o.RunFolderOut = None,
    config: o.Config = None,
    settings: o.Set = None,
    distributed: o.Distributed = False,
    coordinator: o.Coordinator = None,
    processes: o.Processes = None,
    process: o.Process = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Fit a model, forecast the test part, and write a report.

    After Ctrl-C or a crash, the same command resumes.
    """
    from gpssm.workflow.sources import absolute

    from .fitting import fit_command

    columns = _columns(inputs, outputs, time, experiment)
    columns |= _timing(time_unit, sampling_time, resample, input_lag)
    given = {
        "method": method,
        "seed": seed,
        "seeds": seeds,
        "calibration_folds": calibration_folds,
        "data": {
            **columns,
            "test_files": absolute(test),
            "test_fraction": test_fraction,
            "on_disk": on_disk or None,
        },
        "model": {"dim_x": dim_x},
        "training": {"steps": steps, "starts": starts},
    }
    address = {"coordinator": coordinator, "processes": processes, "process": process}
    if not distributed and any(value is not None for value in address.values()):
        raise typer.BadParameter("--coordinator, --processes and --process need --distributed.")
    where = address if distributed else None
    fit_command(data or [], given, settings or [], config, out, as_json, quiet, cores, where)


@app.command(epilog="Example: gpssm sweep study.toml")
@readable
def sweep(
    study: o.StudyFile,
    out: o.StudyFolderOut = None,
    cluster: o.OnCluster = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Fit many configurations, and find the best on a held-out part of the training data.

    After Ctrl-C or a crash, the same command resumes.
    """
    from .sweeping import sweep_command

    sweep_command(study, out, cluster, quiet, as_json)


@app.command(epilog="Example: gpssm predict runs/log-cbf-ssm-50 tomorrow.csv --out forecast.csv")
@readable
def predict(
    run: o.RunPath,
    data: o.NewData,
    out: o.ForecastOut = Path("forecast.csv"),
    warmup: o.Warmup = None,
    seed: o.Seed = None,
    overwrite: o.Overwrite = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Forecast new data from its inputs and first outputs."""
    from .forecasting import predict_command

    predict_command(run, data, out, warmup, seed, overwrite, as_json, quiet)


@app.command(epilog="Example: gpssm evaluate runs/log-cbf-ssm-50 another-day.csv")
@readable
def evaluate(
    run: o.RunPath,
    data: o.OtherData = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Score a run and its baselines: a constant mean and a linear ARX."""
    from .forecasting import evaluate_command

    evaluate_command(run, data or [], as_json, quiet)


@app.command(epilog="Example: gpssm report runs/log-cbf-ssm-50")
@readable
def report(
    runs: o.RunPaths,
    data: o.ReportData = None,
    out: o.ReportOut = None,
    seed: o.Seed = None,
    overwrite: o.Overwrite = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Write the report page of each run again, or a page about other data."""
    from .reporting import report_command

    report_command(runs, data or [], out, seed, overwrite, as_json, quiet)


@app.command(epilog="Example: gpssm compare runs/log-cbf-ssm-50 runs/log-pr-ssm --out compare.html")
@readable
def compare(
    runs: o.RunPaths,
    out: o.PageOut = Path("compare.html"),
    overwrite: o.Overwrite = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Compare several runs on one page."""
    from .reporting import compare_command

    if len(runs) < 2:
        raise typer.BadParameter("compare needs at least two runs.")
    compare_command(runs, out, overwrite, as_json, quiet)


@data_app.command("list", epilog="Example: gpssm data list")
@readable
def data_list(as_json: o.Json = False) -> None:
    """List the registered data sets."""
    from .datasets import list_command

    list_command(as_json)


@data_app.command("fetch", epilog="Example: gpssm data fetch furnace actuator")
@readable
def data_fetch(names: o.Names, as_json: o.Json = False) -> None:
    """Find or download the files of data sets, and check them."""
    from .datasets import fetch_command

    fetch_command(names, as_json)


@data_app.command(
    "check", epilog="Example: gpssm data check log.csv --inputs pump --outputs level --time time"
)
@readable
def data_check(
    data: o.SomeData,
    inputs: o.Inputs = None,
    outputs: o.Outputs = None,
    time: o.TimeColumn = None,
    experiment: o.ExperimentColumn = None,
    time_unit: o.TimeUnit = None,
    sampling_time: o.SamplingTime = None,
    resample: o.Resample = None,
    input_lag: o.InputLag = None,
    as_json: o.Json = False,
) -> None:
    """Describe files and their problems; without --outputs, list their columns."""
    from .datasets import check_command

    columns = _columns(inputs, outputs, time, experiment)
    columns |= _timing(time_unit, sampling_time, resample, input_lag)
    given = {name: value for name, value in columns.items() if value is not None}
    check_command(data, given, as_json)


@app.command(epilog="Example: gpssm demo --out demo")
@readable
def demo(out: o.DemoOut = Path("demo"), quiet: o.Quiet = False, as_json: o.Json = False) -> None:
    """Fit two simulated tanks, one of them hidden, and forecast: about a minute."""
    from .reporting import demo_command

    demo_command(out, as_json, quiet)


def _columns(
    inputs: list[str] | None, outputs: list[str] | None, time: str | None, experiment: str | None
) -> dict[str, Any]:
    """Collect the options about columns; None where one was not given."""
    names = {"inputs": o.split_names(inputs), "outputs": o.split_names(outputs)}
    return {**names, "time": time, "experiment": experiment}


def _timing(
    time_unit: str | None,
    sampling_time: float | None,
    resample: float | None,
    input_lag: int | None,
) -> dict[str, Any]:
    """Collect the options about time; None where one was not given."""
    steps = {"sampling_time": sampling_time, "resample": resample}
    return {**steps, "time_unit": time_unit, "input_lag": input_lag}


def main() -> None:
    """The entry point of the console script."""
    app()
