"""How much of an error is an offset: does a plant do in the test part what it did before?

    python -m experiments.drift

The linear ARX of Table 1, fitted to the training part, simulates the whole record from its first
outputs; the mean of what it misses, in one part of the record after the other, tells how far the
plant has moved. Every data set that is one record.

For the plants that move also: how well the same ARX forecasts futures inside the training part
when a drift of some size is removed first (`Dataset.remove_drift`), each time by what came before.
Takes a minute.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import gpssm
from gpssm.data import Dataset
from gpssm.prediction import arx, blocked_folds
from gpssm.report import markdown_table

from .config import DATASETS
from .files import ROOT, provenance, read_json, write_json
from .pages import DOCS, publish

_WARMUP = 16
_THIRDS = 3
_EARLY, _SEEN = 8, 32  # outputs of the test part; a forecast of the protocol `paper` sees 32
_MOVE = ("dryer", "ballbeam")
_JUDGES = {"three futures": (5, 3), "second half": (2, 1)}  # stretches, and the last of them
SIZES = (None, 0.03, 0.1, 0.2, 0.3)
_SMOOTH = 25  # rows of the moving average in the figure
RECORDS = tuple(name for name in DATASETS if name != "sarcos")  # which has 66 of them


def misses(data: Dataset) -> tuple[np.ndarray, int]:
    """Measurement minus simulation over both parts [time, outputs], and where the test begins."""
    model = arx(data.train)
    u, y = (np.concatenate([getattr(run, kind) for run in data]) for kind in "uy")
    return y - model.predict_mean(u, y[:_WARMUP]), sum(len(run) for run in data.train)


def offsets(missed: np.ndarray, split: int) -> dict[str, Any]:
    """Means over the thirds of the training part and over the test part, and what is left there.

    Of several outputs the root mean square.
    """
    test = missed[split:]
    return {
        "training": [_offset(part) for part in np.array_split(missed[_WARMUP:split], _THIRDS)],
        "early": _offset(test[:_EARLY]),
        "seen": _offset(test[_EARLY:_SEEN]),
        "test": _offset(test),
        "rmse": _rms(test),
        "without_offset": _rms(test - test.mean(axis=0)),
    }


def _offset(values: np.ndarray) -> float:
    means = values.mean(axis=0)
    return float(means[0]) if len(means) == 1 else _rms(means)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def without_drift(train: Dataset) -> dict[str, dict[str, float]]:
    """By size and judge: the error of the ARX after the warm-up, in the units of the data.

    The test part is never looked at here.
    """
    rest = {_size(size): train if size is None else train.remove_drift(size) for size in SIZES}
    return {
        size: {
            judge: _rms(np.concatenate([_ahead(part) for part in _futures(data, *cut)]))
            for judge, cut in _JUDGES.items()
        }
        for size, data in rest.items()
    }


def _futures(train: Dataset, stretches: int, last: int) -> list[Dataset]:
    return blocked_folds(train, stretches, ahead=True)[-last:]


def _ahead(part: Dataset) -> np.ndarray:
    """What the ARX of the rows before misses in the stretch that follows, after its warm-up."""
    after = part.test[0]
    return (after.y - arx(part.train).predict_mean(after.u, after.y[:_WARMUP]))[_WARMUP:]


def _size(size: float | None) -> str:
    return "none" if size is None else f"{size:g}"


def size_table(record: dict[str, Any]) -> str:
    """A row for each plant that moves and each judge, a column for each size."""
    rows = [
        [name, judge, *(f"{record['without_drift'][name][_size(s)][judge]:.3f}" for s in SIZES)]
        for name in record["without_drift"]
        for judge in _JUDGES
    ]
    return markdown_table(["data set", "forecast", *map(_size, SIZES)], rows, words=2)


def table(record: dict[str, Any]) -> str:
    header = ["data set", *(f"training, third {i + 1}" for i in range(_THIRDS))]
    header += [f"test, 1–{_EARLY}", f"test, {_EARLY + 1}–{_SEEN}", "test"]
    header += ["test RMSE", "without the offset", "share of the offset"]
    keys = "early", "seen", "test", "rmse", "without_offset"
    rows = [
        [name, *(f"{v:.3f}" for v in (*row["training"], *(row[key] for key in keys))), _share(row)]
        for name, row in record["datasets"].items()
    ]
    return markdown_table(header, rows)


def _share(row: dict[str, Any]) -> str:
    """Of the mean square."""
    return f"{(row['test'] / row['rmse']) ** 2:.0%}"


def draw(found: dict[str, tuple[np.ndarray, int]], path: Path) -> Path:
    """What is missed, row by row, and its moving average."""
    figure, panels = plt.subplots(
        len(found), figsize=(8, 2.2 * len(found)), layout="constrained", squeeze=False
    )
    for axes, (name, (missed, split)) in zip(panels[:, 0], found.items(), strict=True):
        rows, values = np.arange(len(missed))[_WARMUP:], missed[_WARMUP:, 0]
        mean = np.convolve(values, np.ones(_SMOOTH) / _SMOOTH, "valid")
        middle = rows[_SMOOTH // 2 : _SMOOTH // 2 + len(mean)]
        axes.axhline(0.0, color="0.6", linewidth=0.8)
        axes.plot(rows, values, linewidth=0.6, label="measured − simulated")
        axes.plot(middle, mean, label=f"mean of {_SMOOTH} rows")
        axes.axvspan(split, rows[-1], color="0.9", zorder=0, label="test part")
        axes.set(ylabel=name, xlim=(0, rows[-1]))
    panels[0, 0].legend(loc="upper left", ncols=3, frameon=False, fontsize="small")
    panels[-1, 0].set_xlabel("row")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.drift", description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=RECORDS, default=RECORDS)
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    options = parser.parse_args(arguments)
    path = options.results / "drift.json"
    before = read_json(path) or {}
    known, rest = before.get("datasets", {}), before.get("without_drift", {})
    found = {name: misses(gpssm.load_dataset(name)) for name in options.datasets}
    known |= {name: offsets(*each) for name, each in found.items()}
    if set(_MOVE) <= set(found):
        drawn = {name: found[name] for name in _MOVE}
        figure = draw(drawn, options.results / "figures" / "drift.png")
        if options.results.resolve() == ROOT / "results":
            shutil.copy(figure, DOCS.parent / "images" / figure.name)
    moving = [name for name in _MOVE if name in options.datasets]
    rest |= {name: without_drift(gpssm.load_dataset(name).train) for name in moving}
    record = {
        "datasets": {name: known[name] for name in RECORDS if name in known},
        "without_drift": {name: rest[name] for name in _MOVE if name in rest},
        "versions": provenance(),
    }
    write_json(path, record)
    for body, place in ((table(record), "drift"), (size_table(record), "sizes")):
        publish(options.results, DOCS, body, place)
        print(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
