"""The figure and the tables of the sequence-length study, from its records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.data.benchmarks.simulators import CAR_OBSERVATION_VARIANCE, CAR_PROCESS_VARIANCE

from ..common.files import ROOT, read_json, write_text
from ..common.pages import MISSING, TITLES, pictures, plain_ticks, publish
from ..common.tables import markdown_table, mean_std
from .dubins import HORIZON, HORIZONS

UNSTABLE = ROOT / "docs" / "unstable.md"

_COLOURS = {"pr-ssm": "#b5482a", "vcdt": "#8a6bb8", "cbf-ssm-1": "#1f5fbf"}
_OURS = "cbf-ssm-1"
_ERRORS = (0.03, 0.1, 0.3, 1, 3)  # ticks
_DASHES = {"hold the last position": ":", "true equations": "--"}


def write(results: Path) -> list[Path]:
    """Write the page, the figure and the part of the documentation; return their paths."""
    records, references = read_study(results)
    page, body = results / "figure3a.md", tables(records, references)
    write_text(page, body + "\n")
    figure = draw(records, references, pictures(results) / "sequence_length_dubins.png")
    return [page, figure, *publish(results, UNSTABLE, body, "lengths")]


def read_study(results: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The records, sorted by method and length, and the two reference lines."""
    study = read_json(results / "figure3a.json")
    found = [record for row in study["cells"].values() for record in row.values()]
    order = list(_COLOURS)
    records = sorted(found, key=lambda r: (order.index(r["method"]), r["length"]))
    return records, study["references"]


# ---------------------------------------------------------------------- tables


def tables(records: Sequence[dict[str, Any]], references: dict[str, Any]) -> str:
    """RMSE and calibration of every cell, and the noise that each has found."""
    head = ["method", "length", "RMSE", *(f"at {h}" for h in HORIZONS), "log-likelihood", "95 %"]
    rows = [_row(record) for record in records]
    rows += [_reference_row(name, each) for name, each in references.items()]
    noise = [_noise_row(record) for record in records]
    true = f"{CAR_OBSERVATION_VARIANCE:.1e}", f"{CAR_PROCESS_VARIANCE:.1e}"
    noise.append(["truth", "", *true])
    return "\n\n".join([
        f"Open-loop error of the position over {HORIZON} steps and at some of them, mean (standard "
        "deviation) over the seeds; log-likelihood per step of a Gaussian with the moments "
        "of the forecast; coverage of the 95 % band.",
        markdown_table(head, rows),
        *ratios(records),
        "Fitted variances in the units of the data, the larger one of the coordinates, mean over "
        "the seeds.",
        markdown_table(["method", "length", "observation", "process"], noise),
    ])  # fmt: skip


def ratios(records: Sequence[dict[str, Any]]) -> list[str]:
    """A sentence on our method beside the others, at the greatest length that all of them have."""
    errors: dict[int, dict[str, float]] = {}
    for record in records:
        values = [seed["rmse"] for seed in record["seeds"]]
        if None not in values:
            errors.setdefault(record["length"], {})[record["method"]] = float(np.mean(values))
    shared = [length for length, found in errors.items() if set(found) == set(_COLOURS)]
    if not shared:
        return []
    length = max(shared)
    others = [name for name in _COLOURS if name != _OURS]
    shares = [
        f"{errors[length][_OURS] / errors[length][name]:.2f} of that of {TITLES[name]}"
        for name in others
    ]
    told = " and ".join(shares)
    return [f"Trained at length {length}, the error of {TITLES[_OURS]} over all steps is {told}."]


def _row(record: dict[str, Any]) -> list[str]:
    seeds = record["seeds"]
    cells = [_cell([s["rmse"] for s in seeds])]
    cells += [_cell([s["rmse_at"][str(h)] for s in seeds]) for h in HORIZONS]
    cells += [_cell([s["gaussian_log_likelihood"] for s in seeds])]
    cells += [_cell([s["coverage"]["95%"] for s in seeds])]
    return [TITLES[record["method"]], str(record["length"]), *cells]


def _cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return mean_std(known) if len(known) == len(values) else "diverged"


def _reference_row(name: str, errors: dict[str, Any]) -> list[str]:
    numbers = [errors["rmse"], *(errors["rmse_at"][str(h)] for h in HORIZONS)]
    return [name, "", *(f"{value:.3f}" for value in numbers), MISSING, MISSING]


def _noise_row(record: dict[str, Any]) -> list[str]:
    found = [
        np.mean([max(seed[name]) for seed in record["seeds"]])
        for name in ("observation_variance", "process_variance")
    ]
    return [TITLES[record["method"]], str(record["length"]), *(f"{v:.1e}" for v in found)]


# ---------------------------------------------------------------------- figure


def draw(records: Sequence[dict[str, Any]], references: dict[str, Any], path: Path) -> Path:
    """Test error against training length, mean and spread over the seeds."""
    import matplotlib.pyplot as plt

    from gpssm.plots import STYLE

    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
        for method, colour in _COLOURS.items():
            mine = [r for r in records if r["method"] == method]
            _draw_method(axis, mine, colour, TITLES[method])
        for name, dashes in _DASHES.items():
            axis.axhline(references[name]["rmse"], color="0.4", ls=dashes, lw=1.0, label=name)
        axis.set(xscale="log", yscale="log", xlabel="length of the training sequences")
        axis.set_ylabel(f"RMSE over {HORIZON} steps of open loop")
        plain_ticks(axis.xaxis, sorted({r["length"] for r in records}))
        plain_ticks(axis.yaxis, _ERRORS)
        axis.legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 0.12))
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
        plt.close(figure)
    return path


def _draw_method(axis: Any, records: Sequence[dict[str, Any]], colour: str, label: str) -> None:
    values = [np.array([s["rmse"] for s in r["seeds"]], float) for r in records]
    lengths = [r["length"] for r in records]
    mean = np.array([v.mean() for v in values])
    axis.plot(lengths, mean, color=colour, marker="o", ms=4, lw=1.4, label=label)
    low, high = ([f(v) for v in values] for f in (np.min, np.max))
    axis.fill_between(lengths, low, high, color=colour, alpha=0.2, lw=0)
