"""`gpssm fit`: parse, call `gpssm.fit_folder`, print."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gpssm
from gpssm.data.preflight import preflight
from gpssm.report.summary import best_seed
from gpssm.training import is_first
from gpssm.workflow.assignments import merge, parse_assignments
from gpssm.workflow.configuration import make_config, read_config
from gpssm.workflow.fitting import fit_folder
from gpssm.workflow.folder import RunFolder
from gpssm.workflow.sources import as_data_options, load_data

from .console import say, show, show_json


def fit_command(
    arguments: Sequence[str],
    options: dict[str, Any],
    assigned: Sequence[str],
    config_file: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool = False,
    cores: int | None = None,
    address: dict[str, Any] | None = None,
) -> None:
    """Fit a model into a run folder, and show its scores; `address`: of several processes."""
    file = {} if config_file is None else read_config(config_file)
    options["data"] |= as_data_options(arguments)
    config = make_config(file, merge(options, parse_assignments(assigned)))
    # Before anything is computed. Several processes may be on one machine: each has one core.
    gpssm.prepare(cores or (None if address is None else 1))
    if address is not None:
        gpssm.connect(**address)
    data = load_data(config.data)
    remarks = [each.text for each in preflight(data)]
    if not as_json and is_first():
        show(str(data))
    if is_first():
        for line in remarks:
            say(f"remark: {line}")
    folder = fit_folder(config, data, out, quiet=quiet)
    if folder.scoring is None:  # not the first of several processes
        return
    if as_json:
        scores = folder.scoring.to_json()
        run = {"run": folder.path, "report": folder.report, "remarks": remarks}
        show_json({**run, "scores": scores})
    else:
        for each in folder.scoring.shown():
            show(each)
        show(f"run     {folder.path}\nreport  {folder.report}")
    _tell_failures(folder)


def _tell_failures(folder: RunFolder) -> None:
    """Warn of seeds with a large error on their own training rows."""
    best = best_seed(folder.training_rmse)
    if not folder.failed or best is None:
        return
    failed = ", ".join(f"seed {seed} (RMSE {rmse:.3g})" for seed, rmse in folder.failed.items())
    say(
        f"warning: failed on rows of the training part: {failed}; seed {best} has "
        f"{folder.training_rmse[best]:.3g}. No command chooses a failed seed; "
        "--starts 3, with another --out, restarts each seed and keeps one that has not failed."
    )
