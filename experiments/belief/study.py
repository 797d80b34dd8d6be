"""What a belief knows on held-out thirds: one step ahead, and as the start of forecasts.

    make belief                                # after make horizon, whose models it reads
    make belief ARGS="--datasets tank hoop"

The default models of `make horizon`, each trained on two thirds of a training part, take in the
third that was held out. Their filters have the noises that are most likely on the rows of training.
Forecasts begin after 50 outputs, at twelve places of each third, by `Run.predict` and from a
belief, with the noises of the filter and with those of the model. Every third is a record in
`results/belief/scores.json` as soon as it is there. Test parts stay closed.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

import gpssm
from gpssm.belief import FilterNoise
from gpssm.data import DataWarning, Experiment, Normalisation
from gpssm.data.folds import cut_blocks
from gpssm.linear import arx

from ..common.files import ROOT, add_record, provenance, read_json, read_record, write_text
from ..common.tables import markdown_table
from ..horizon.lengths import DEFAULT, STEPS, Job
from ..horizon.linear import FOLDS, LEVEL, SETS, WARMUP, training_part

PATH, MODELS = ROOT / "results" / "belief", ROOT / "results" / "horizon"
SEEN, STARTS, NEAR, FAR = 50, 12, 10, 100  # rows before a forecast, their number, and its steps
FROM = ("library", "belief", "belief, noise of the model")


def run_fold(name: str, fold: int, models: Path) -> dict[str, Any]:
    """All scores of one third, as mean squares in spreads of the training part."""
    data = training_part(name)
    part, spread = cut_blocks(data, FOLDS)[fold], Normalisation.of(data).y_std
    run = gpssm.load(Job(name, DEFAULT, STEPS, fold).model(models)).tune_filter(part.train)
    linear = arx(part.train)
    errors: dict[str, list[np.ndarray]] = {}
    inside = []
    for experiment in part.test:
        ahead = one_step(run, linear, experiment)
        for model, mean in ahead.items():
            errors.setdefault(model, []).append(((mean - experiment.y) / spread)[WARMUP:])
        inside.append(covered(run, experiment))
    together = {model: np.concatenate(each) for model, each in errors.items()}
    known = np.all([~np.isnan(each) for each in together.values()], axis=0)
    forecasts = [each for e in part.test for each in compare_forecasts(run, e, spread)]
    return {
        "one_step": {m: float(np.mean(np.square(e[known]))) for m, e in together.items()},
        "coverage": float(np.mean(np.concatenate(inside))),
        "near": _mean_squares(forecasts, NEAR),
        "far": _mean_squares(forecasts, FAR),
        "versions": provenance(),
    }


def one_step(run: Any, linear: Any, experiment: Experiment) -> dict[str, np.ndarray]:
    """Forecasts of every row from those before it; NaN where there is none."""
    u, y = experiment.u, experiment.y
    return {
        "belief": run.filter(u, y).rows.mean,
        "held": np.concatenate([np.full((1, y.shape[1]), np.nan), y[:-1]]),
        "arx": linear.predict_one_step(u, y, WARMUP),
    }


def covered(run: Any, experiment: Experiment) -> np.ndarray:
    """Whether the interval one step ahead holds each measurement after the warm-up."""
    rows = run.filter(experiment.u, experiment.y).rows
    width = float(ndtri(0.5 + 0.5 * LEVEL)) * rows.std
    inside = np.abs(rows.mean - experiment.y) <= width
    return inside[WARMUP:][experiment.mask[WARMUP:]]


def compare_forecasts(
    run: Any, experiment: Experiment, spread: np.ndarray
) -> Iterator[dict[str, np.ndarray]]:
    """Squared errors of forecasts of up to `FAR` steps after `SEEN` outputs, by their start."""
    u, y = experiment.u, experiment.y
    steps = min(FAR, len(y) - SEEN)
    if steps < NEAR:
        return
    own = FilterNoise.of(run.system)
    for first in np.unique(np.linspace(0, len(y) - SEEN - steps, STARTS).round().astype(int)):
        seen, ahead = slice(first, first + SEEN), slice(first + SEEN, first + SEEN + steps)
        whole = u[first : first + SEEN + steps]
        means = (
            run.predict(whole, y[seen]).after(SEEN).mean,
            run.belief().update(u[seen], y[seen]).predict(u[ahead]).mean,
            run.belief(noise=own).update(u[seen], y[seen]).predict(u[ahead]).mean,
        )
        yield {n: np.square((m - y[ahead]) / spread) for n, m in zip(FROM, means, strict=True)}


def _mean_squares(forecasts: Sequence[dict[str, np.ndarray]], steps: int) -> dict[str, float]:
    return {
        start: float(np.nanmean(np.concatenate([each[start][:steps] for each in forecasts])))
        for start in FROM
        if forecasts
    }


# ---------------------------------------------------------------------- the page


def row(name: str, records: dict[str, Any]) -> list[str]:
    """Errors of one set over its thirds, in spreads of its training part."""
    errors = {model: _error(records, "one_step", model) for model in ("belief", "held", "arx")}
    starts = [
        _error(records, part, start) / _error(records, part, FROM[0])
        for part in ("near", "far")
        for start in FROM[1:]
    ]
    coverage = np.mean([each["coverage"] for each in records.values()])
    numbers = [f"{each:.4f}" for each in errors.values()]
    return [name, *numbers, f"{coverage:.2f}", *(f"{s:.2f}" for s in starts)]


def _error(records: dict[str, Any], part: str, model: str) -> float:
    return float(np.sqrt(np.mean([each[part][model] for each in records.values()])))


def page(results: dict[str, Any]) -> str:
    head = [
        "data set", "belief", "last value held", "ARX", f"{LEVEL:.0%} covers",
        f"first {NEAR} steps", "noise of the model", f"first {FAR} steps", "noise of the model",
    ]  # fmt: skip
    done = [name for name in SETS if len(results.get(name, {})) == FOLDS]
    intro = (
        f"RMSE one step ahead on held-out thirds, in spreads of the training part. Then the error "
        f"of forecasts that begin from a belief after {SEEN} outputs, relative to `Run.predict`, "
        "with the noises of the filter and with those of the model."
    )
    return f"{intro}\n\n{markdown_table(head, [row(name, results[name]) for name in done])}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.belief", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=SETS, metavar="NAME")
    parser.add_argument("--models", type=Path, default=MODELS, help="the results of make horizon")
    parser.add_argument("--results", type=Path, default=PATH)
    options = parser.parse_args(arguments)
    gpssm.prepare()
    warnings.simplefilter("ignore", DataWarning)
    path = options.results / "scores.json"
    for name, fold in ((n, f) for n in options.datasets for f in range(FOLDS)):
        if read_record(path, (name, str(fold))) is None:
            add_record(path, (name, str(fold)), run_fold(name, fold, options.models))
            print(name, fold, read_json(path)[name][str(fold)]["one_step"], flush=True)
    text = page(read_json(path))
    write_text(options.results / "scores.md", text + "\n")
    print(text)
    return 0
