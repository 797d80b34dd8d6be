"""The linear model that forecasts against ARX and N4SID, on folds of the training parts.

    python -m experiments.horizon.linear

Every third of a training part is forecast by models that were chosen by and fitted to the rest:
what chooses an order does not score it. Every fold is a record in `results/horizon/linear.json`
as soon as it is there; none is computed twice.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gpssm
from gpssm.data import Dataset, DataWarning, Normalisation
from gpssm.data.folds import cut_blocks
from gpssm.linear import LinearModel, arx, forecasting_linear, n4sid

from ..common.files import ROOT, add_record, provenance, read_json, read_record, write_text
from ..common.tables import markdown_table

SETS = (
    "actuator", "ballbeam", "drive", "flutter", "furnace", "tank",
    "emps", "cascaded_tanks", "damper", "hoop", "winding", "cstr",
)  # fmt: skip
FOLDS, WARMUP = 3, 25
EMPS_EVERY = 10  # rows: 10 ms
MODELS: dict[str, Callable[[Dataset], LinearModel]] = {
    "arx": arx,
    "n4sid": n4sid,
    "forecasting": forecasting_linear,
}
LEVEL = 0.95


def training_part(name: str) -> Dataset:
    """Test parts stay closed."""
    data = gpssm.load_dataset(name).train
    return data.decimate(EMPS_EVERY) if name == "emps" else data


def run_fold(data: Dataset, fold: int, model: str) -> dict[str, Any]:
    """Fit to the rest of the fold, forecast it from a warm-up, and score what follows."""
    part, spread = cut_blocks(data, FOLDS)[fold], Normalisation.of(data).y_std
    began = time.perf_counter()
    fitted = MODELS[model](part.train)
    seconds = time.perf_counter() - began
    squares, inside = [], []
    for run in part.test:
        forecast = fitted.predict(run.u, run.y[:WARMUP]).after(WARMUP)
        known = ~np.isnan(run.y[WARMUP:])
        squares.append(np.square((forecast.mean - run.y[WARMUP:]) / spread)[known])
        low, high = forecast.interval(LEVEL)
        inside.append(((low <= run.y[WARMUP:]) & (run.y[WARMUP:] <= high))[known])
    return {
        "mean_square": float(np.mean(np.concatenate(squares))),
        "coverage": float(np.mean(np.concatenate(inside))),
        "seconds": seconds,
        "model": fitted.description,
        "states": len(fitted.A),
        "alignment": fitted.alignment and list(fitted.alignment),
        "radius": float(np.abs(fitted.poles[0])),
        "versions": provenance(),
    }


def row(name: str, records: dict[str, Any]) -> list[str]:
    """The errors of one set over all of its folds, in spreads of its training part."""
    error = {model: _error(records[model]) for model in MODELS}
    ratio = error["forecasting"] / min(error["arx"], error["n4sid"])
    coverage = np.mean([each["coverage"] for each in records["forecasting"].values()])
    seconds = [
        np.mean([each["seconds"] for each in records[model].values()])
        for model in ("arx", "n4sid", "forecasting")
    ]
    return [
        name,
        *(f"{error[model]:.3f}" for model in MODELS),
        f"{ratio:.2f}",
        f"{coverage:.2f}",
        " / ".join(f"{s:.1f}" for s in seconds),
    ]


def _error(folds: dict[str, Any]) -> float:
    return float(np.sqrt(np.mean([each["mean_square"] for each in folds.values()])))


def page(results: dict[str, Any]) -> str:
    head = ["data set", "ARX", "N4SID", "forecasting", "ratio to the better", f"{LEVEL:.0%} covers"]
    done = [name for name in SETS if _is_complete(results.get(name, {}))]
    rows = [row(name, results[name]) for name in done]
    return "\n\n".join([
        f"RMSE of forecasts of held-out thirds after a warm-up of {WARMUP} rows, in spreads of the "
        "training part; coverage of the forecasting model; seconds per fit (ARX / N4SID / ours).",
        markdown_table([*head, "seconds"], rows),
    ])  # fmt: skip


def _is_complete(records: dict[str, Any]) -> bool:
    return all(len(records.get(model, {})) == FOLDS for model in MODELS)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.horizon.linear", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=SETS, metavar="NAME")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "horizon")
    options = parser.parse_args(arguments)
    gpssm.prepare()
    path = options.results / "linear.json"
    warnings.simplefilter("ignore", DataWarning)
    for name in options.datasets:
        data = training_part(name)
        for fold, model in ((f, m) for f in range(FOLDS) for m in MODELS):
            key = (name, model, str(fold))
            if read_record(path, key) is None:
                add_record(path, key, run_fold(data, fold, model))
        print(" | ".join(row(name, read_json(path)[name])), flush=True)
    write_text(options.results / "linear.md", page(read_json(path)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
