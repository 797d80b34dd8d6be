"""What the noise of a cell was set on, and what that did to its bands.

Five folds of a short record are forecast for a few steps each, halves for nearly as many as the
test part. `results/five_folds` has the cells of furnace as they were with five:

    python -m experiments.table1 --datasets furnace --methods pr-ssm cbf-ssm-1 cbf-ssm-50 \\
        --set calibration_folds=5 --results results/five_folds
"""

from itertools import product
from pathlib import Path
from typing import Any

from gpssm.report import markdown_table, mean_std

from .config import DATASETS
from .pages import DIVERGED, DOCS, TITLES, Cells, publish, read_cells

_METHODS = ("pr-ssm", "cbf-ssm-1", "cbf-ssm-50")
_BAND = "95%"


def write_bands(results: Path) -> list[Path]:
    """Into the page of the table, if the results are those of the repository."""
    return publish(results, DOCS, band_table(*read_bands(results)), "bands")


def read_bands(results: Path) -> tuple[Cells, Cells]:
    """The cells of the table, and some with other folds."""
    return read_cells(results / "table1"), read_cells(results / "five_folds" / "table1")


def band_table(cells: Cells, others: Cells) -> str:
    """Protocol `paper`; a row for each cell and number of folds."""
    header = ["data set", "method", "folds", "RMSE", "log-likelihood", "95 % band covers"]
    rows = [
        [name, TITLES[method], *_told(source[name][method])]
        for name, method, source in product(DATASETS, _METHODS, (others, cells))
        if method in others[name] and method in source[name]
    ]
    return markdown_table(header, rows, words=2)


def _told(record: dict[str, Any]) -> list[str]:
    scores = [seed["paper"] for seed in record["seeds"]]
    rmse, likelihood = ([each[key] for each in scores] for key in ("rmse", "log_likelihood"))
    covered = [each["coverage"][_BAND] for each in scores]
    if None in (*rmse, *likelihood, *covered):
        shown = [DIVERGED] * 3
    else:
        shown = [mean_std(rmse), mean_std(likelihood), f"{sum(covered) / len(covered):.0%}"]
    return [str(record["settings"]["calibration_folds"]), *shown]
