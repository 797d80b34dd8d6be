"""What one change of the settings has done to some cells: those of then beside those of now.

Five folds of a short record are forecast for a few steps each, halves for nearly as many as the
test part. `results/five_folds` has the cells of furnace as they were with five:

    python -m experiments.table1 --datasets furnace --methods pr-ssm cbf-ssm-1 cbf-ssm-50 \\
        --set calibration_folds=5 --results results/five_folds

`results/with_drift` has the cells of dryer as they were with its drift in them (`--set
data.drift=null`), three of them with what their searches had chosen for that:

    python -m experiments.table1 --datasets dryer --results results/with_drift \\
        --methods cbf-ssm-50 --set data.drift=null --set training.half_life=100.0 \\
        --set training.steps=3850
    … --methods cbf-ssm-1 … --set training.half_life=100.0 --set training.steps=3000
    … --methods pr-ssm … --set training.half_life=70.0 --set training.steps=1450
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from gpssm.report import markdown_table, mean_std

from .config import DATASETS, METHODS
from .pages import DIVERGED, DOCS, MISSING, TITLES, Cells, publish, read_cells

_BAND = "95%"


class Change(NamedTuple):
    """Where the cells of before are, and how a record tells which of both it is."""

    folder: str
    title: str
    told: Callable[[dict[str, Any]], str]


def _drift(settings: dict[str, Any]) -> str:
    size = settings.get("data", {}).get("drift")
    return MISSING if size is None else f"{size:g}"


CHANGES = {  # by the name of its place on the page
    "bands": Change("five_folds", "folds", lambda used: str(used["calibration_folds"])),
    "removed": Change("with_drift", "drift removed", _drift),
}


def write_changes(results: Path) -> list[Path]:
    """Into the page of the table, if the results are those of the repository."""
    return [
        path
        for name, change in CHANGES.items()
        for path in publish(results, DOCS, change_table(change, *read_both(change, results)), name)
    ]


def read_both(change: Change, results: Path) -> tuple[Cells, Cells]:
    """The cells before the change, and those of the table."""
    return read_cells(results / change.folder / "table1"), read_cells(results / "table1")


def change_table(change: Change, before: Cells, after: Cells) -> str:
    """Protocol `paper`; two rows for each cell of which there are both."""
    header = ["data set", "method", change.title, "RMSE", "log-likelihood", "95 % band covers"]
    rows = [
        [name, TITLES[method], change.told(record["settings"]), *_scores(record)]
        for name, method in product(DATASETS, METHODS)
        if method in before[name] and method in after[name]
        for record in (before[name][method], after[name][method])
    ]
    return markdown_table(header, rows, words=2)


def _scores(record: dict[str, Any]) -> list[str]:
    scores = [seed["paper"] for seed in record["seeds"]]
    rmse, likelihood = ([each[key] for each in scores] for key in ("rmse", "log_likelihood"))
    covered = [each["coverage"][_BAND] for each in scores]
    if None in (*rmse, *likelihood, *covered):
        return [DIVERGED] * 3
    return [mean_std(rmse), mean_std(likelihood), f"{sum(covered) / len(covered):.0%}"]
