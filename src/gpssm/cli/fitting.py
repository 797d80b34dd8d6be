"""`gpssm fit`: data in, a run folder with models, scores and report out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gpssm
from gpssm.data import Dataset
from gpssm.errors import ConfigError
from gpssm.report.evaluation import MODEL, Evaluation, evaluate, evaluate_baselines
from gpssm.report.tables import score_table
from gpssm.training import TrainingStopped

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
from .sources import as_data_options, load_data
from .talk import say, show, show_json


def fit_command(
    arguments: Sequence[str],
    options: dict[str, Any],
    config_file: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Resolve the configuration, train, evaluate, report."""
    file = {} if config_file is None else read_config(config_file)
    options["data"] |= as_data_options(arguments)
    config = make_config(file, options)
    gpssm.prepare()  # before anything is computed, a simulated data set included
    data = load_data(config.data)
    out = out or Path("runs") / f"{data.name}-{config.method}"
    check_folder(out)
    if not as_json:
        show(str(data))
    train(config, data, out)
    folder = open_folder(out)
    evaluations, baselines = evaluate_folder(folder)
    keep_scores(out, scores_of(evaluations, baselines))
    page = write_report(folder, out / REPORT, evaluations, baselines)
    if as_json:
        result = {"run": out, "report": page, "scores": scores_of(evaluations, baselines)}
        show_json(result)
        return
    show(_table(folder, evaluations, baselines))
    show(f"run     {out}\nreport  {page}")


def train(config: RunConfig, data: Dataset, out: Path) -> None:
    """Fit all seeds into the folder, which is then enough to repeat the run."""
    model = config.build_model(data.dim_y)
    if not is_claimed(out):
        keep_inputs(out, config.replace(model=model.model_dump()), data)
    settings = {"seed": config.seed, "validation": config.validation, "run_dir": out}
    try:
        runs = gpssm.fit(model, data.train, seeds=config.seeds, **settings, **config.training)
    except TrainingStopped:
        say("Run the same command again to go on.")
        raise
    except ConfigError as error:
        raise ConfigError(str(error).replace("run_dir", "--out")) from error
    keep_inputs(out, config.resolved(model, runs[0].training), data)


def evaluate_folder(folder: RunFolder) -> tuple[dict[int, Evaluation], dict[str, Evaluation]]:
    """All seeds, and the baselines, on the test part of the run."""
    test, protocol = folder.data.test, folder.protocol
    evaluations = {run.seed: evaluate(run, test, protocol) for run in folder.runs}
    return evaluations, evaluate_baselines(folder.data.train, test, protocol)


def scores_of(
    evaluations: dict[int, Evaluation], baselines: dict[str, Evaluation]
) -> dict[str, Any]:
    """RMSE, log-likelihood and coverage of every seed and of the baselines."""
    named = {f"{MODEL}, seed {seed}": each for seed, each in evaluations.items()} | baselines
    return {name: each.scores._asdict() for name, each in named.items()}


def _table(
    folder: RunFolder, evaluations: dict[int, Evaluation], baselines: dict[str, Evaluation]
) -> Any:
    named = {f"{folder.config.method}, seed {s}": each.scores for s, each in evaluations.items()}
    rows = named | {name: each.scores for name, each in baselines.items()}
    return score_table(table_title(folder.data, evaluations), rows)


def table_title(data: Dataset, evaluations: dict[int, Evaluation]) -> str:
    """How far, from how much, in which unit."""
    first = next(iter(evaluations.values()))
    steps = sum(len(each.y) for each in first.open_loop)
    warmup = first.stretches[0].scored.forecast.warmup
    units = sorted({unit for unit in data.output_units if unit})
    words = f", in {units[0]}" if len(units) == 1 else ""
    return f"{steps} steps open loop after {warmup} measurements{words}"
