"""Test error against the length of the training sequences (figure 3a of the paper).

    python -m experiments.car.figure3a --lengths 25 300 --methods cbf-ssm-1

Every finished combination is a record in `results/figure3a.json`; a second start goes on where
the first stopped. At the end the figure and the table are written again.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np

import gpssm
from gpssm.data import Dataset
from gpssm.inference.methods.abstract import find_method
from gpssm.training.progress import ProgressFactory

from ..common.config import CellSettings, gpssm_settings, merge, plain, quick, read_config
from ..common.files import ROOT, add_record, provenance
from ..common.grid import Job, add_cores_option, cores, run_jobs
from . import pages
from .dubins import Predict, Scored, cut_stretches, references

CONFIG = Path(__file__).with_name("dubins.toml")

METHODS = ("pr-ssm", "vcdt", "cbf-ssm-1")
LENGTHS = (10, 25, 50, 100, 200, 300)
QUICK_LENGTHS, QUICK_SHARE = (25, 300), 0.4  # enough to see the order of the methods


def settings_for(config: dict[str, Any], data: Dataset, method: str, length: int) -> CellSettings:
    """One method at one length. Windows never leave a gap; a recognition network fits into them.

    Stages of sequences as long or longer are left out. At least half of a sequence has hidden
    targets, whatever their `lookahead`.
    """
    model, training = (config.get(name, {}) for name in ("model", "training"))
    warmup = min(gpssm.Model.model_fields["warmup"].default, length)
    shorter = [s for s in training.get("stages", ()) if s["sequence_length"] < length]
    lookahead = config.get("methods", {}).get(method, {}).get("model", {}).get("lookahead", 0)
    changes = {
        "model": {"warmup": model.get("warmup", warmup)},
        "methods": {method: {"model": {"lookahead": min(lookahead, length // 2)}}},
        "training": {
            "sequence_length": length,
            "stride": min(training.get("stride", 1), length),
            "stages": shorter,
        },
    }
    return gpssm_settings(merge(config, changes), data.name, method)


def make_job(config: dict[str, Any], data: Dataset, method: str, length: int, results: Path) -> Job:
    settings = settings_for(config, data, method, length)
    return Job(
        label=f"{method} on sequences of {length}",
        path=results / "figure3a.json",
        key=("cells", method, str(length)),
        settings=settings,
        run=lambda progress: run_length(data, method, length, settings, progress),
    )


def run_length(
    data: Dataset, method: str, length: int, settings: CellSettings, progress: ProgressFactory
) -> dict[str, Any]:
    """Train all seeds, forecast the test stretches, and note what noise each seed has found."""
    runs = fit_runs(data, settings, progress)
    stretches, particles = cut_stretches(data), settings.forecast_particles
    return {
        "dataset": data.name,
        "method": method,
        "length": length,
        "settings": plain(settings),
        "seeds": [
            {**Scored.of(open_loop(run, particles), stretches).to_json(), **fitted_noise(run)}
            for run in runs
        ],
        "versions": provenance(),
    }


def fit_runs(data: Dataset, settings: CellSettings, progress: ProgressFactory) -> list[gpssm.Run]:
    model, training = settings.model, settings.training
    assert model is not None
    assert training is not None
    given = {name: getattr(training, name) for name in type(training).model_fields}
    common = {"seeds": settings.seeds, "progress": progress, "validation": settings.validation}
    return gpssm.fit(model, data.train, **common, **given)


def open_loop(run: gpssm.Run, particles: int | None = None) -> Predict:
    """A method that cannot condition starts late, from the last outputs that it can use."""
    if find_method(run.model).conditions:
        return lambda u, seen: run.predict(u, seen, particles=particles)
    return _started_late(run, particles)


def _started_late(run: gpssm.Run, particles: int | None) -> Predict:
    def predict(u: np.ndarray, seen: np.ndarray) -> gpssm.Forecast:
        skipped = len(seen) - run.model.shortest_warmup
        late = run.predict(u[skipped:], seen[skipped:], particles=particles)
        before = np.broadcast_to(seen[:skipped], (len(late.particles), *seen[:skipped].shape))
        whole = np.concatenate([before, late.particles], axis=1)
        return gpssm.Forecast(whole, late.noise_std, late.seed, len(seen), late.output_names)

    return predict


def fitted_noise(run: gpssm.Run) -> dict[str, list[float]]:
    """Σy and the observed entries of Σx, in the units of the data."""
    model, scale = run.system.model, np.square(np.asarray(run.normalisation.y_std))
    with jax.enable_x64(True):  # which the parameters are in
        outputs, states = np.asarray(model.emission.noise), np.asarray(model.transition.noise)
    return {
        "observation_variance": (outputs * scale).tolist(),
        "process_variance": (states[: model.dim_y] * scale).tolist(),
    }


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    gpssm.prepare(cores(options))
    results = options.results or ROOT / ("runs/quick" if options.quick else "results")
    failed = [] if options.pages else _compute(options, results)
    for path in pages.write(results):
        print(path)
    return 1 if failed else 0


def _compute(options: argparse.Namespace, results: Path) -> list[str]:
    config, lengths = read_config(options.config), options.lengths or LENGTHS
    if options.quick:
        config, lengths = quick(config, QUICK_SHARE), options.lengths or QUICK_LENGTHS
    data = gpssm.load_dataset("dubins")
    add_record(results / "figure3a.json", ["references"], references(cut_stretches(data)))
    pairs = product(options.methods, lengths)
    return run_jobs([make_job(config, data, *pair, results) for pair in pairs])


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.car.figure3a", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="NAME")
    parser.add_argument("--lengths", nargs="+", type=int, metavar="STEPS")
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--results", type=Path, help="default: results, with --quick runs/quick")
    add_cores_option(parser)
    parser.add_argument("--quick", action="store_true", help="one seed, few lengths and steps")
    parser.add_argument("--pages", action="store_true", help="only write the pages again")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
