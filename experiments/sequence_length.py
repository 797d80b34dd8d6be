"""Test error against the length of the training sequences (figure 3a of the paper).

    python -m experiments.sequence_length dubins --lengths 25 300 --methods cbf-ssm-1

Every finished combination is `results/sequence_length/dubins/<method>/<length>.json`; a second
start goes on where the first stopped. At the end the figure and the table are written anew.
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
from gpssm.training.progress import ProgressFactory

from . import length_pages
from .config import CONFIGS, CellSettings, cell_settings, merge, plain, quick, read_config
from .dubins import Predict, Scored, cut_stretches, references
from .files import ROOT, provenance, write_json
from .grid import Job, add_cores_option, cores, run_jobs

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
    return cell_settings(merge(config, changes), data, method)


def make_job(config: dict[str, Any], data: Dataset, method: str, length: int, folder: Path) -> Job:
    settings = settings_for(config, data, method, length)
    return Job(
        label=f"{method} on sequences of {length}",
        path=folder / method / f"{length}.json",
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
    if run.model.target != "none":
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
    folder = options.results or ROOT / ("runs/quick" if options.quick else "results")
    config = read_config(options.config or CONFIGS / f"{options.system}.toml")
    lengths = options.lengths or LENGTHS
    if options.quick:
        config, lengths = quick(config, QUICK_SHARE), options.lengths or QUICK_LENGTHS
    data = gpssm.load_dataset(options.system)
    failed: list[str] = []
    if not options.pages:
        cells = folder / "sequence_length" / options.system
        write_json(cells / "references.json", references(cut_stretches(data)))
        jobs = [make_job(config, data, *pair, cells) for pair in product(options.methods, lengths)]
        failed = run_jobs(jobs)
    for path in length_pages.write(folder, options.system):
        print(path)
    return 1 if failed else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.sequence_length", description=__doc__)
    parser.add_argument("system", choices=("dubins",))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="NAME")
    parser.add_argument("--lengths", nargs="+", type=int, metavar="STEPS")
    parser.add_argument("--config", type=Path, help="default: configs/<system>.toml")
    parser.add_argument("--results", type=Path, help="default: results, with --quick runs/quick")
    add_cores_option(parser)
    parser.add_argument("--quick", action="store_true", help="one seed, few lengths and steps")
    parser.add_argument("--pages", action="store_true", help="only write the pages anew")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
