"""What `experiments.drone` has found, as figures and as a page."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from ..common.files import ROOT, read_json, read_record, write_text
from ..common.pages import MISSING, pictures, plain_ticks, publish
from ..common.tables import markdown_table
from .physics import WRENCH
from .study import (
    LENGTHS,
    METHODS,
    RECORDS,
    SHOWN,
    STEP,
    estimated_forces,
    flights,
    physical_wrench,
    predicted_wrench,
    train,
)
from .voliro import ARM_LENGTH

HYBRID = ROOT / "docs" / "hybrid.md"

_COLOURS = {"cbf-ssm": "#1f5fbf", "vcdt": "#b8860b", "pr-ssm": "#a03030", "physics": "#555555"}
_TITLES = {"cbf-ssm": "CBF-SSM", "vcdt": "VCDT", "pr-ssm": "PR-SSM"}
_ERRORS = (0.2, 0.5, 1, 2, 5)  # ticks
_SECONDS = (4.0, 12.0)  # of the test flight that figure 4 shows


def write(results: Path, which: str) -> list[Path]:
    """Draws what there are results for, and writes its part of the documentation."""
    physics, records = read_record(results / RECORDS, ["physics"]), read_records(results)
    figures = []
    if which in ("3b", "both"):
        figures.append(_figure_3b(results, physics, records))
    if which in ("4", "both") and (shown := _shown(records)):
        figures.append(_figure_4(results, shown))
    path, body = results / "drone.md", page(physics, records)
    write_text(path, f"# The simulated VoliroX, unseen manoeuvre\n\n{body}\n")
    return [*figures, path, *publish(results, HYBRID, body, "drone")]


def read_records(results: Path) -> dict[tuple[str, int], dict[str, Any]]:
    content = read_json(results / RECORDS) or {}
    return {
        (method, int(length)): record
        for method in METHODS
        for length, record in content.get(method, {}).items()
    }


def _shown(records: dict) -> tuple[str, int, int] | None:
    """The run of figure 4: the one chosen, or else the longest CBF-SSM of a quick form."""
    ours = sorted(key for key, each in records.items() if key[0] == "cbf-ssm" and "force" in each)
    if not ours:
        return None
    key = SHOWN if SHOWN in ours else ours[-1]
    return *key, records[key]["settings"]["steps"]


def _figure_4(results: Path, shown: tuple[str, int, int]) -> Path:
    data, truth = flights()
    run = train(*shown, results.parent)
    mean, std = predicted_wrench(run, truth)
    estimated, physics = estimated_forces(data.test.experiments[0].y), physical_wrench(truth.u)
    rows = slice(*(int(second / STEP) for second in _SECONDS))
    time = STEP * np.arange(len(mean))[rows]
    figure, axes = plt.subplots(
        3, 2, figsize=(10.0, 5.6), sharex=True, sharey="row", layout="constrained"
    )
    for d, (left, right) in enumerate(axes):
        for axis in (left, right):
            axis.plot(
                time, estimated[rows, d], color="#222222", lw=0.8, label="estimated from data"
            )
            axis.grid(alpha=0.25)
            axis.margins(x=0)
        left.plot(time, physics[rows, d], color="#a03030", lw=1.2, label="physical model")
        right.plot(time, mean[rows, d], color="#1f5fbf", lw=1.2, label="physical model + CBF-SSM")
        low, high = (mean + sign * 1.96 * std for sign in (-1, 1))
        right.fill_between(
            time, low[rows, d], high[rows, d], color="#1f5fbf", alpha=0.25, lw=0, label="±1.96 std"
        )
        left.set_ylabel(f"{WRENCH[d]} [N]")
    for axis, title in zip(
        axes[0], ("Physical model only", "Physical model + CBF-SSM"), strict=True
    ):
        axis.set_title(title)
        axis.legend(fontsize=7, loc="upper right", frameon=False)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    return _save(figure, pictures(results) / "drone_forces.png")


def _figure_3b(results: Path, physics: dict, records: dict) -> Path:
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    for axis, quantity in zip(axes, ("position [m]", "attitude [rad]"), strict=True):
        for method in METHODS:
            points = sorted(
                (length, each["open_loop"][quantity]["1 s"])
                for (name, length), each in records.items()
                if name == method and "open_loop" in each
            )
            if points:
                axis.plot(*np.array(points).T, "o-", color=_COLOURS[method], label=_TITLES[method])
        axis.axhline(physics[quantity]["1 s"], color=_COLOURS["physics"], ls="--", label="physics")
        axis.set(xscale="log", yscale="log", xlabel="training sequence length")
        axis.set_ylabel(f"open-loop error at 1 s, {quantity}")
        axis.grid(alpha=0.25, which="both")
        plain_ticks(axis.xaxis, sorted(LENGTHS))
        plain_ticks(axis.yaxis, _ERRORS)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return _save(figure, pictures(results) / "drone_sequence_length.png")


def _save(figure: plt.Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


# ---------------------------------------------------------------------- the page


def page(physics: dict, records: dict) -> str:
    """A row for every training, and what the best of each method comes to."""
    head = [
        "model", "length", "force RMSE [N]", "of physics alone", "95 % band covers",
        "position at 1 s [m]", "attitude at 1 s [rad]", "pose at 1 s [m]", "of physics alone",
    ]  # fmt: skip
    rows = [["physics alone", "", *[MISSING] * 3, *_pose_cells(physics, physics)]]
    for (method, length), each in sorted(records.items()):
        cells = [_TITLES[method], str(length)]
        if "failure" in each:
            rows.append([*cells, f"failed: {each['failure']}", *[MISSING] * 6])
            continue
        force = each["force"]
        cells += [f"{force[key]:.3f}" for key in ("force RMSE [N]", "ratio", "coverage of forces")]
        rows.append([*cells, *_pose_cells(each["open_loop"], physics)])
    return "\n\n".join([
        "Open-loop errors are root mean squares over starts all along the flight. Pose error is "
        "that of a point at the tip of an arm: √(position² + (0.3 m · attitude)²).",
        markdown_table(head, rows),
        *_best_of_each(records),
    ])  # fmt: skip


def _best_of_each(records: dict) -> list[str]:
    """A sentence on the best length of every method."""
    best: dict[str, tuple[float, int]] = {}
    for (method, length), each in records.items():
        if "open_loop" in each:
            found = pose_error(each["open_loop"]), length
            best[method] = min(found, best.get(method, found))
    told = [f"{_TITLES[m]} {best[m][0]:.3f} m (length {best[m][1]})" for m in METHODS if m in best]
    return [f"Pose error at 1 s at the best length of each: {', '.join(told)}."] if told else []


def _pose_cells(found: dict, physics: dict) -> list[str]:
    position, attitude = found["position [m]"]["1 s"], found["attitude [rad]"]["1 s"]
    pose = pose_error(found)
    return [f"{each:.3f}" for each in (position, attitude, pose, pose / pose_error(physics))]


def pose_error(found: dict) -> float:
    """Of the tip of an arm after one second."""
    return float(
        np.hypot(found["position [m]"]["1 s"], ARM_LENGTH * found["attitude [rad]"]["1 s"])
    )
