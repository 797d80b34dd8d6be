"""`gpssm predict` and `gpssm evaluate`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import gpssm
from gpssm.base.errors import ConfigError, expected
from gpssm.base.files import write_whole
from gpssm.data import Dataset, Experiment
from gpssm.evaluation.scoring import Protocol
from gpssm.fitted.run import Run
from gpssm.metrics import Forecast
from gpssm.training.phase import phase
from gpssm.workflow.folder import open_folder
from gpssm.workflow.sources import load_more

from .console import may_write, say, show, show_json

_OWN = ("experiment", "step", "part")  # columns of a forecast, whatever it is of
QUANTILES = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)


def predict_command(
    run_path: Path,
    arguments: Sequence[str],
    out: Path,
    warmup: int | None,
    seed: int | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool = False,
) -> None:
    """Forecast every experiment of the data and write one table."""
    may_write(out, overwrite)
    if any(out.resolve() == Path(each).resolve() for each in arguments):
        raise ConfigError(expected("--out", f"{out}, which is the input", "another name"))
    gpssm.prepare()
    folder = open_folder(run_path)
    run = folder.choose(seed)
    data = load_more(arguments, folder.config.data, folder.data)
    run.check_data(data)
    forecasts = []
    with phase("forecast", len(data), quiet) as tell:
        for experiment in data:
            forecasts.append(_forecast(run, experiment, warmup, folder.protocol))
            tell()
    pairs = zip(forecasts, data, strict=True)
    table = without_formulas(pd.concat([forecast_table(f, each, data) for f, each in pairs]))
    write_whole(out, table.to_csv(index=False))
    seen = [forecast.warmup for forecast in forecasts]
    result = {"forecast": out, "rows": len(table), "warmup": seen, "seed": run.seed}
    if as_json:
        show_json({**result, "columns": list(table)})
    else:
        first = " and ".join("row" if rows == 1 else f"{rows} rows" for rows in dict.fromkeys(seen))
        words = f"{len(table)} rows; outputs of the first {first} are used"
        show(f"forecast  {out} ({words}; seed {run.seed})")


def _forecast(run: Run, experiment: Experiment, warmup: int | None, protocol: Protocol) -> Forecast:
    """The forecast of one experiment; warn where there is nothing to see of it."""
    asked = warmup or measured_rows(experiment) or protocol.warmup
    seen = min(max(asked, run.model.shortest_warmup), len(experiment))
    if seen == len(experiment):
        say(f"warning: all {seen} rows of {experiment.label} are warm-up: nothing is forecast.")
    forecast = run.predict(experiment.u, experiment.y[:seen], particles=protocol.particles)
    _tell_divergence(forecast, experiment)
    return forecast


def _tell_divergence(forecast: Forecast, experiment: Experiment) -> None:
    """Warn of the step from which the forecast is not finite."""
    lost = np.flatnonzero(~np.isfinite(forecast.mean).all(axis=1))
    if len(lost):
        say(
            f"warning: the forecast of {experiment.label} diverges: no numbers from step {lost[0]}."
        )


def measured_rows(experiment: Experiment) -> int | None:
    """Number of rows up to the last measurement; None if the last row is measured."""
    last = int(np.flatnonzero(experiment.mask.any(axis=1))[-1])
    return last + 1 if last + 1 < len(experiment) else None


def forecast_table(forecast: Forecast, experiment: Experiment, data: Dataset) -> pd.DataFrame:
    """One row per time step: measurement, mean, standard deviation and quantiles."""
    steps = np.arange(len(experiment))
    time, stamps = _time(experiment, data)
    columns = {
        "experiment": experiment.name,
        "step": steps,
        time: stamps,
        "part": np.where(steps < forecast.warmup, "warm-up", "open loop"),
    }
    bands = {level: forecast.quantile(level) for level in QUANTILES}
    for d, name in enumerate(data.output_names):
        columns |= {
            f"{name} measured" if name in (*_OWN, time) else name: experiment.y[:, d],
            f"{name} mean": forecast.mean[:, d],
            f"{name} std": forecast.std[:, d],
        }
        columns |= {f"{name} {level:.1%}": values[:, d] for level, values in bands.items()}
    return pd.DataFrame(columns).dropna(axis=1, how="all")


def _time(experiment: Experiment, data: Dataset) -> tuple[str, np.ndarray]:
    """Name and values of the time column: the user's, else seconds since the first row."""
    stamps = experiment.stamps
    if stamps is None:
        return "time", (data.sampling_time or np.nan) * experiment.rows
    return "time" if stamps.name in _OWN else stamps.name, stamps.written()


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before every text that a spreadsheet would run as a formula."""
    names = [_quoted(name) for name in table["experiment"]]
    return table.assign(experiment=names).rename(columns=_quoted)


def _quoted(text: str) -> str:
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def evaluate_command(
    run_path: Path, arguments: Sequence[str], as_json: bool, quiet: bool = False
) -> None:
    """Scores on the test part of the run, or on other data."""
    gpssm.prepare()
    folder = open_folder(run_path)
    test = load_more(arguments, folder.config.data, folder.data) if arguments else None
    scoring = folder.score(test, quiet=quiet)
    if as_json:
        show_json({"run": run_path, "scores": scoring.to_json()})
    else:
        for each in scoring.shown():
            show(each)
