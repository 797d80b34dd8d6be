"""Open-loop predictions of the Dubins car as paths in the plane (figure 1 of the paper).

    python -m experiments.car.figure1

Four panels, each a model trained on sequences of 300: PR-SSM and VCDT on the car whose whole state
is observed, VCDT and CBF-SSM on the car of which only the position is. Every finished panel is a
record in `results/figure1.json` and is not computed again.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gpssm
from gpssm.data import Dataset, Experiment
from gpssm.training.progress import ProgressFactory

from ..common.config import CellSettings, merge, plain, quick, read_config
from ..common.files import ROOT, provenance, read_json
from ..common.grid import Job, add_cores_option, cores, run_jobs
from ..common.pages import TITLES, pictures
from .dubins import WARMUP, Scored, cut_stretches
from .figure3a import CONFIG, QUICK_SHARE, fit_runs, fitted_noise, open_loop, settings_for

LENGTH, SHOWN, CLOUD = 300, 3, (10, 25, 50, 100, 200, 300)  # steps at which particles are drawn


@dataclass(frozen=True)
class Panel:
    name: str
    method: str
    dataset: str

    @property
    def title(self) -> str:
        seen = "whole state" if self.dataset == "dubins_full" else "position only"
        return f"{TITLES[self.method]}, {seen}"


PANELS = (
    Panel("pr-ssm-full", "pr-ssm", "dubins_full"),
    Panel("vcdt-full", "vcdt", "dubins_full"),
    Panel("vcdt-partial", "vcdt", "dubins"),
    Panel("cbf-ssm-partial", "cbf-ssm-1", "dubins"),
)


def make_job(config: dict[str, Any], panel: Panel, results: Path) -> Job:
    data = gpssm.load_dataset(panel.dataset)
    settings = settings_for(config, data, panel.method, LENGTH)
    return Job(
        label=panel.title,
        path=results / "figure1.json",
        key=(panel.name,),
        settings=settings,
        run=lambda progress: run_panel(panel, data, settings, progress),
    )


def run_panel(
    panel: Panel, data: Dataset, settings: CellSettings, progress: ProgressFactory
) -> dict[str, Any]:
    """Train one seed, score it on all stretches, and keep what some of them look like."""
    (run,) = fit_runs(data, settings, progress)
    stretches = cut_stretches(data)
    scored = Scored.of(open_loop(run, settings.forecast_particles), stretches)
    shown = range(0, len(stretches), len(stretches) // SHOWN)[:SHOWN]
    return {
        "panel": panel.name,
        "settings": plain(settings),
        **scored.to_json(),
        **fitted_noise(run),
        "paths": [_path(stretches[i], scored, i) for i in shown],
        "versions": provenance(),
    }


def _path(stretch: Experiment, scored: Scored, i: int) -> dict[str, Any]:
    """The true path, the mean, and clouds of particles, all of the position."""
    forecast = scored.forecasts[i]
    plane = lambda values: np.round(np.asarray(values)[..., :2], 4).tolist()  # noqa: E731
    return {
        "warmup": plane(stretch.y[:WARMUP]),
        "truth": plane(scored.truth[i]),
        "mean": plane(forecast.mean),
        "clouds": {str(step): plane(forecast.particles[:, step - 1]) for step in CLOUD},
    }


# ---------------------------------------------------------------------- figure


def draw(records: dict[str, dict[str, Any]], path: Path) -> Path:
    """A column per panel, a row per stretch."""
    import matplotlib.pyplot as plt

    from gpssm.plots import STYLE

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            SHOWN, len(PANELS), figsize=(11.0, 8.6), sharex=True, sharey=True, layout="constrained"
        )
        for column, panel in zip(axes.T, PANELS, strict=True):
            record = records[panel.name]
            column[0].set_title(f"{panel.title}\nRMSE {record['rmse']:.2f}", fontsize=9)
            for axis, shown in zip(column, record["paths"], strict=True):
                _draw_path(axis, shown)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, fontsize=7, loc="outside lower center", ncols=len(labels))
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
        plt.close(figure)
    return path


def _draw_path(axis: Any, path: dict[str, Any]) -> None:
    warmup, truth, mean = (np.array(path[name]) for name in ("warmup", "truth", "mean"))
    axis.plot(*warmup.T, color="0.6", lw=0.8, label="warm-up")
    axis.plot(*truth.T, color="#222222", lw=0.9, label="true path")
    axis.plot(*mean.T, color="#1f5fbf", lw=1.1, label="mean of the forecast")
    for i, (step, cloud) in enumerate(path["clouds"].items()):
        points = np.array(cloud)
        colour = f"C{i}"
        axis.scatter(*points.T, s=3, color=colour, alpha=0.5, lw=0, label=f"particles at {step}")
        axis.plot(*truth[int(step) - 1], "x", color=colour, ms=5)
    axis.set(xlim=(-10, 10), ylim=(-10, 10), aspect="equal")


# ---------------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    gpssm.prepare(cores(options))
    results = options.results or ROOT / ("runs/quick" if options.quick else "results")
    config = merge(read_config(CONFIG), {"seeds": 1, "seeds_at_once": 1})
    config = quick(config, QUICK_SHARE) if options.quick else config
    failed = run_jobs([make_job(config, panel, results) for panel in PANELS])
    if not failed:
        print(draw(read_json(results / "figure1.json"), pictures(results) / "figure1.png"))
    return 1 if failed else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments.car.figure1", description=__doc__)
    parser.add_argument("--results", type=Path, help="default: results, with --quick runs/quick")
    add_cores_option(parser)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
