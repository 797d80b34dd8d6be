"""`gpssm fit`: data in, a run folder with models, scores and report out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

import gpssm
from gpssm.data import Dataset
from gpssm.errors import ConfigError, DataError
from gpssm.held_out import cut_folds
from gpssm.inference import Model
from gpssm.report.evaluation import evaluate_baselines
from gpssm.report.summary import best_seed
from gpssm.training import Training, alone, is_first, on_first

from .configuration import RunConfig, make_config, read_config
from .folders import (
    REPORT,
    RunFolder,
    check_folder,
    is_claimed,
    keep_inputs,
    keep_scores,
    open_folder,
)
from .reporting import write_report
from .scoring import judge
from .sources import as_data_options, load_data
from .talk import say, show, show_json


def fit_command(
    arguments: Sequence[str],
    options: dict[str, Any],
    config_file: Path | None,
    out: Path | None,
    as_json: bool,
    cores: int | None = None,
    address: dict[str, Any] | None = None,
) -> None:
    """Resolve the configuration, train, evaluate, report.

    With the `address` of several processes all of them train; the first one does all else. Each has
    one core then, unless told otherwise: they may be on one machine.
    """
    file = {} if config_file is None else read_config(config_file)
    options["data"] |= as_data_options(arguments)
    config = make_config(file, options)
    # before anything is computed, a simulated data set included
    gpssm.prepare(cores or (None if address is None else 1))
    if address is not None:
        gpssm.connect(**address)
    data = load_data(config.data)
    out = out or Path("runs") / f"{data.name}-{config.method}"
    on_first(lambda: check_folder(out))
    if not as_json and is_first():
        show(str(data))
    model = config.build_model(data.dim_y)
    # First, since it takes seconds, and says whether the test part is long enough to be scored.
    protocol = config.protocol(model)
    own = config.trained_on(data)
    baselines = on_first(lambda: evaluate_baselines(data.train, data.test, protocol, own))
    with alone(out, "--out"):
        train(config, model, data, out)
        if address is not None:
            jax.distributed.shutdown()  # the others need not wait for the report
        if not is_first():
            return
        folder = open_folder(out)
        judged = judge(folder, baselines=baselines)
        keep_scores(out, judged.scores())
        page = write_report(folder, out / REPORT, judged)
    if as_json:
        show_json({"run": out, "report": page, "scores": judged.scores()})
    else:
        show(judged.table(config.method, data))
        show(f"run     {out}\nreport  {page}")
    _tell_failures(folder)


def _tell_failures(folder: RunFolder) -> None:
    """Seeds that cannot simulate even the rows that they were trained on."""
    if not folder.failed:
        return
    best = best_seed(folder.training_rmse)
    assert best is not None  # failed is worse than that one
    failed = ", ".join(f"seed {seed} (RMSE {rmse:.3g})" for seed, rmse in folder.failed.items())
    say(
        f"warning: failed on rows of the training part: {failed}; seed {best} has "
        f"{folder.training_rmse[best]:.3g}. No command chooses a failed seed; "
        "with --starts 3, and another --out, each has three, of which a sound one is kept."
    )


def _recalibrated(runs: list[gpssm.Run], data: Dataset, folds: int, out: Path) -> list[gpssm.Run]:
    """With error bars that suit data that were held out, where that is asked for.

    Until they have them the folder holds no models: a stop leaves a run that is to be gone on with,
    and not one whose error bars are others than its configuration says. Its checkpoints stay.
    """
    if not folds:
        return runs
    paths = [out / f"seed-{run.seed}.gpssm" for run in runs]
    if is_first():
        for path in paths:
            path.unlink(missing_ok=True)
    wider = gpssm.recalibrate(runs, data, folds=folds, run_dir=out / f"folds-{folds}")
    if is_first():
        for run, path in zip(wider, paths, strict=True):
            run.save(path)
    return wider


def _check_folds(config: RunConfig, model: Model, data: Dataset) -> None:
    """Before hours of training: whether what the folds would hold out can be forecast."""
    if not config.calibration_folds:
        return
    training = Training(**config.training)
    warmup = max(training.validation_warmup, model.shortest_warmup)
    try:
        cut_folds(data, config.calibration_folds, training.half_life is not None, warmup)
    except DataError as error:
        words = str(error).removeprefix("folds: ")
        raise DataError(f"--calibration-folds {config.calibration_folds}: {words}") from error


def train(config: RunConfig, model: Model, data: Dataset, out: Path) -> None:
    """Fit all seeds into the folder, which is then enough to repeat the run."""
    _check_folds(config, model, data.train)
    if is_first() and not is_claimed(out):
        keep_inputs(out, config.replace(model=model.model_dump()), data)
    settings = {"seed": config.seed, "validation": config.validation, "run_dir": out}
    try:
        runs = gpssm.fit(model, data.train, seeds=config.seeds, **settings, **config.training)
        runs = _recalibrated(runs, data.train, config.calibration_folds, out)
    except ConfigError as error:
        raise ConfigError(str(error).replace("run_dir", "--out")) from error
    if is_first():
        keep_inputs(out, config.resolved(model, runs[0].training), data)
