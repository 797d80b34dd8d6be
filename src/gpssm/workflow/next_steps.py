"""What to do after a fit: commands that can be run as they stand, for each kind of verdict."""

import shlex
from pathlib import Path
from typing import get_args

from gpssm.report.verdict import Remedy

from .configuration import RunConfig

STARTS, FOLDS = 3, 3  # what is tried next
_UNTESTED, _MORE_TEST = 0.3, 0.5  # share of the rows for the test part


def next_commands(path: Path, config: RunConfig) -> dict[Remedy, str]:
    """Commands by what is missing, for the run in the folder `path` with a resolved `config`.

    Data that were given in Python are not named in the configuration, which then cannot be fitted
    again; the report can always be written.
    """
    look = shlex.join(["gpssm", "report", str(path)])
    data = config.data
    given = data.name or (data.files[0] if data.files else "")
    if not given:
        remedies: tuple[Remedy, ...] = get_args(Remedy)
        return dict.fromkeys(remedies, look)
    forecast = [
        "gpssm",
        "predict",
        str(path),
        given,
        "--out",
        str(path / "forecast.csv"),
        "--overwrite",
    ]
    restart = _restart(path, config)
    return {
        "restart": restart,
        "calibrate": _calibrate(path, config) or restart,
        "more states": _refit(path, "dim-x", int(config.model.get("dim_x", 1)) + 1),
        "more test rows": _more_test_rows(path, config) or look,
        "look": look,
        "forecast": shlex.join(forecast),
    }


def _refit(path: Path, option: str, value: float) -> str:
    """The same fit with one other setting, in a folder beside the first one."""
    path = path if path.name not in ("", "..") else path.resolve()
    out = path.with_name(f"{path.name}-{option}-{value}")
    return _fit(path, f"--{option}", str(value), "--out", str(out))


def _fit(path: Path, *options: str) -> str:
    return shlex.join(["gpssm", "fit", "--config", str(path / "config.toml"), *options])


def _restart(path: Path, config: RunConfig) -> str:
    """Restarts, of which failed ones are discarded; where there were some, more steps."""
    if int(config.training.get("starts", 1)) < STARTS:
        return _refit(path, "starts", STARTS)
    return _refit(path, "steps", 2 * int(config.training.get("steps", 1000)))


def _calibrate(path: Path, config: RunConfig) -> str:
    """Folds that set the noise of the run, in its folder; none where data set it already."""
    if config.calibration_folds or config.validation:
        return ""
    return _fit(path, "--calibration-folds", str(FOLDS), "--out", str(path))


def _more_test_rows(path: Path, config: RunConfig) -> str:
    """A longer test part; that of a registered data set or of files is fixed."""
    has_own = config.data.name or config.data.test_files
    if has_own or (config.data.test_fraction or 0.0) >= _MORE_TEST:
        return ""
    share = _UNTESTED if config.data.test_fraction == 0 else _MORE_TEST
    return _refit(path, "test-fraction", share)
