"""`gpssm fit` in Python: train in a run folder, score the test part, write the report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpssm.base.files import write_whole
from gpssm.base.json_text import as_json
from gpssm.base.startup import disconnect
from gpssm.data import Dataset
from gpssm.evaluation.recalibration import cut_folds, recalibrate
from gpssm.evaluation.scoring import TRAINING_ROWS, evaluate_baselines, newest
from gpssm.fitted.fitting import fit, resolve_training
from gpssm.fitted.memory import check_forecast, check_training
from gpssm.fitted.run import Run
from gpssm.inference import Model
from gpssm.training import Training, alone, is_first, on_first
from gpssm.training.phase import phase
from gpssm.training.progress import ProgressFactory

from .configuration import RunConfig
from .folder import SCORES, RunFolder, check_folder, is_claimed, keep_config, keep_data, mark
from .scoring import tested_part
from .sources import input_files, load_data


def fit_folder(
    config: RunConfig,
    data: Dataset | None = None,
    out: str | Path | None = None,
    *,
    progress: ProgressFactory | None = None,
    quiet: bool = False,
) -> RunFolder:
    """Fit all seeds of a configuration into a folder, score them, and write their report.

    `data` has a training and a test part; None: what the configuration names. The same call goes on
    where it was stopped. Of several processes all train, and the first one does all else.
    """
    data = load_data(config.data) if data is None else data
    out = Path(out or config.default_folder(data))
    on_first(lambda: check_folder(out, input_files(config.data)))
    model = config.build_model(data.dim_y)
    training = resolve_training(model, config.trained_on(data), config.training)
    _check_folds(config, model, training, data.train)
    _check_memory(config, model, training, data)
    # First, since it takes seconds, and says whether the test part is long enough to be scored.
    protocol, own = config.protocol(model), config.trained_on(data)
    still = quiet or progress is not None  # a caller's own display is about training
    with phase("baselines", 1, still) as tell:
        test = tested_part(data)
        baselines = on_first(lambda: evaluate_baselines(data.train, test, protocol, own))
        tell()
    config = config.resolved(model, training)
    with alone(out, "run_dir"):
        runs = _train(config, model, training, data, out, progress=progress, quiet=still)
        disconnect()  # the other processes need not wait for the report
        folder = RunFolder(out, config, data, tuple(runs))
        if not is_first():
            return folder
        scoring = folder.score(baselines=baselines, quiet=still)
        write_whole(out / SCORES, as_json(scoring.to_json()))
        folder.write_report(scoring, quiet=still)
    return replace(folder, scoring=scoring)


def _train(
    config: RunConfig, model: Model, training: Training, data: Dataset, out: Path, **shown: Any
) -> Sequence[Run]:
    """All seeds, trained in the folder, which is then enough to repeat the run."""
    is_new = not is_claimed(out)
    if is_first() and is_new:
        mark(out, "run")
        keep_data(out, config, data)
        keep_config(out, config)
    settings = {name: getattr(training, name) for name in type(training).model_fields}
    runs = fit(
        model,
        data.train,
        seed=config.seed,
        seeds=config.seeds,
        validation=config.validation,
        run_dir=out,
        **shown,
        **settings,
    )
    runs = _recalibrated(runs, data.train, config.calibration_folds, out, **shown)
    if is_first() and not is_new:  # which may have other folds than before
        keep_config(out, config)
    return runs


def _recalibrated(runs: list[Run], data: Dataset, folds: int, out: Path, **shown: Any) -> list[Run]:
    """Recalibrate the noise on held-out data, if the configuration asks for it.

    Until then the folder holds checkpoints but no models, so that none has other error bars than
    its configuration says.
    """
    if not folds:
        return runs
    paths = [out / f"seed-{run.seed}.gpssm" for run in runs]
    if is_first():
        for path in paths:
            path.unlink(missing_ok=True)
    wider = recalibrate(runs, data, folds=folds, run_dir=out / f"folds-{folds}", **shown)
    if is_first():
        for run, path in zip(wider, paths, strict=True):
            run.save(path)
    return wider


def _check_memory(config: RunConfig, model: Model, training: Training, data: Dataset) -> None:
    """Raise before training if it, or the forecasts after it, need more than there is."""
    check_training(model, training, config.seeds * training.starts)
    test, horizon = tested_part(data), config.forecast.horizon
    tested = [min(len(each), horizon) for each in test or ()]
    own = [len(each) for each in newest(config.trained_on(data), TRAINING_ROWS, horizon)]
    longest = max([*tested, *own, 1])
    kept = config.seeds * sum(tested) + sum(own) - longest  # those of training rows one by one
    check_forecast(model, longest, config.forecast.particles, data.dim_y, kept)


def _check_folds(config: RunConfig, model: Model, training: Training, data: Dataset) -> None:
    """Raise before training if a held-out fold cannot be forecast."""
    if config.calibration_folds:
        warmup = max(training.validation_warmup, model.shortest_warmup)
        cut_folds(data, config.calibration_folds, training.half_life is not None, warmup)
