"""How well the fits of Table 1 simulate the newest half of their own training part.

`results/failed` has settings with a lower error on what was held out than those in use, which were
not taken since some of their fits fail, or since they are less likely than a constant:

    python -m experiments.table1 --datasets dryer --methods cbf-ssm-50 --results results/failed \\
        --set training.half_life=70.0 --set training.steps=3750
    python -m experiments.table1 --datasets dryer --methods pr-ssm --results results/failed \\
        --set training.half_life=50.0 --set training.steps=850
    python -m experiments.table1 --datasets flutter --methods cbf-ssm-1 --results results/failed \\
        --set training.state_kl=1.0 --set training.steps=100
    python -m experiments.table1 --datasets flutter --methods pr-ssm --results results/failed \\
        --set model.recognition=mlp --set training.steps=1050
"""

from pathlib import Path
from typing import Any

from gpssm.report import markdown_table, mean_std
from gpssm.report.summary import failed_seeds

from .config import DATASETS
from .pages import DIVERGED, DOCS, MISSING, TITLES, Cells, publish, read_cells

_METHODS = ("pr-ssm", "cbf-ssm-1", "cbf-ssm-50")


def write_simulated(results: Path) -> list[Path]:
    """Into the page of the table, if the results are those of the repository."""
    return publish(results, DOCS, simulated_table(*read_simulated(results)), "simulated")


def read_simulated(results: Path) -> tuple[Cells, Cells]:
    """The cells of the table, and those whose settings were not taken."""
    return read_cells(results / "table1"), read_cells(results / "failed" / "table1")


def simulated_table(cells: Cells, others: Cells) -> str:
    """Lowest to highest error of the seeds, how many failed, and the error of the test part."""
    rows = []
    for name in DATASETS:
        rows.append([name, *(_told(cells[name].get(method)) for method in _METHODS)])
        if others[name]:
            told = (_told(others[name].get(method)) for method in _METHODS)
            rows.append([f"{name}, not taken", *told])
    return markdown_table(["data set", *(TITLES[method] for method in _METHODS)], rows)


def _told(record: dict[str, Any] | None) -> str:
    if record is None or "training_rmse" not in record["seeds"][0]:
        return MISSING
    rmses = [seed["training_rmse"] for seed in record["seeds"]]
    tested = [seed["paper"]["rmse"] for seed in record["seeds"]]
    if None in rmses or None in tested:
        return DIVERGED
    failed = len(failed_seeds(dict(enumerate(rmses))))
    words = f"{min(rmses):.3f} to {max(rmses):.3f}" + (f", {failed} failed" if failed else "")
    return f"{words}; {mean_std(tested)}"
