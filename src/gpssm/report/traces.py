"""What charts are made of: plain dictionaries that plotly.js draws in the browser.

Colours are names such as "@ink": the page knows what they are on a light and on a dark ground.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpssm.data import Dataset

VALUE = "%{y:.4~g}"  # what the mouse reads off a line
_SERIES = ("@blue", "@orange", "@green", "@purple", "@red", "@teal")
_LONGEST = 48  # characters of a name in a chart: longer ones leave no room for it
# plotly.js reads markup and live links in texts, $…$ as TeX, and %{…} in what the mouse shows
_PLAIN = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "$": "&#36;"})

Figure = dict[str, Any]
Variants = dict[tuple[int, ...], Figure]  # by the places of what the reader has chosen


@dataclass(frozen=True)
class Chart:
    """One place on the page: a figure, or several among which the reader chooses."""

    key: str
    variants: Variants
    choices: Sequence[tuple[str, Sequence[str]]] = ()
    height: int = 320
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """What the page's script reads."""
        variants = {"|".join(map(str, key)): figure for key, figure in self.variants.items()}
        return {"height": self.height, "variants": variants}


def plain(text: str) -> str:
    """A text that plotly.js shows as it is, cut to what fits into a chart."""
    line = re.sub(r"\s", " ", text).strip()
    cut = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return cut.translate(_PLAIN)


def numbers(values: Any) -> list[float | None]:
    """Five digits are enough for a screen; what is not finite becomes a gap."""
    array = np.asarray(values, dtype=float)
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in array]


def line(x: Any, y: Any, name: str, color: str, **more: Any) -> Figure:
    """A trace of type line."""
    style = {"color": color, "width": more.pop("width", 1.6), "dash": more.pop("dash", "solid")}
    base = {"type": "scatter", "mode": "lines", "x": numbers(x), "y": numbers(y)}
    return {**base, "name": plain(name), "line": style, **more}


def band(x: Any, low: Any, high: Any, name: str, color: str) -> list[Figure]:
    """The area between two lines, which the legend switches as one."""
    name = plain(name)
    shared = {"legendgroup": name, "line": {"width": 0, "color": color}}
    base = {"type": "scatter", "mode": "lines", "x": numbers(x), **shared}
    words = f"{name}: %{{customdata:.4~g}} to %{{y:.4~g}}<extra></extra>"
    return [
        {**base, "y": numbers(low), "showlegend": False, "hoverinfo": "skip"},
        {
            **base, "y": numbers(high), "customdata": numbers(low), "fill": "tonexty",
            "fillcolor": color, "name": name, "hovertemplate": words,
        },
    ]  # fmt: skip


def points(x: Any, y: Any, name: str, marker: Figure, **more: Any) -> Figure:
    """A trace of markers."""
    base = {"type": "scatter", "mode": "markers", "x": numbers(x), "y": numbers(y)}
    return {**base, "name": plain(name), "marker": marker, **more}


def bars(x: Any, y: Any, name: str, color: str | list[str], words: str) -> Figure:
    """A trace of bars; `words`: what the mouse reads."""
    base = {"type": "bar", "x": numbers(x), "y": numbers(y), "marker": {"color": color}}
    return {**base, "name": plain(name), "hovertemplate": f"{words}<extra></extra>"}


def level_line(y: float, color: str, dash: str) -> Figure:
    """A horizontal line across the chart."""
    style = {"color": color, "width": 1, "dash": dash}
    return {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": y, "y1": y,
            "line": style}  # fmt: skip


def axis(title: str, **more: Any) -> Figure:
    """An axis with its title."""
    return {"title": {"text": plain(title)}, **more}


def series_color(i: int) -> str:
    """The colour of the i-th of several lines."""
    return _SERIES[i % len(_SERIES)]


def time_title(data: Dataset) -> str:
    """Title of the time axis."""
    return "time [s]" if data.sampling_time else "time step"
