"""The charts of the report page, as plain dictionaries that plotly.js draws in the browser.

Colours are names such as "@ink": the page knows what they are on a light and on a dark ground.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from gpssm.data import Dataset
from gpssm.evaluation.scoring import ARX, Stretch
from gpssm.metrics.reliability import LEVELS, HorizonBin, pit_histogram

MAX_POINTS = 3000  # of a line: a screen has no more
_TRAINING_POINTS = 400
BANDS = ((0.95, "@band95"), (0.9, "@band90"), (0.5, "@band50"))
_SERIES = ("@blue", "@orange", "@green", "@purple", "@red", "@teal")

Figure = dict[str, Any]
Bands = Mapping[float, tuple[np.ndarray, np.ndarray]]  # lower and upper bound, by level
Variants = dict[tuple[str, ...], Figure]  # by what the reader has chosen


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
        return {
            "height": self.height,
            "choices": [{"label": label, "options": list(names)} for label, names in self.choices],
            "variants": {"|".join(key): figure for key, figure in self.variants.items()},
        }


def numbers(values: Any) -> list[float | None]:
    """Five digits are enough for a screen; what is not finite becomes a gap."""
    array = np.asarray(values, dtype=float)
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in array]


def line(x: Any, y: Any, name: str, color: str, **more: Any) -> dict[str, Any]:
    """A trace of type line."""
    style = {"color": color, "width": more.pop("width", 1.6), "dash": more.pop("dash", "solid")}
    base = {"type": "scatter", "mode": "lines", "x": numbers(x), "y": numbers(y)}
    return {**base, "name": name, "line": style, **more}


def series_color(i: int) -> str:
    """The colour of the i-th of several lines."""
    return _SERIES[i % len(_SERIES)]


def with_units(names: Sequence[str], units: Sequence[str]) -> list[str]:
    """Names of channels, each with its unit where it has one."""
    return [f"{n} [{u}]" if u else n for n, u in zip(names, units, strict=True)]


def time_title(data: Dataset) -> str:
    """Title of the time axis."""
    return "time [s]" if data.sampling_time else "time step"


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title."""
    return {"title": {"text": title}, **more}


def band(x: Any, low: Any, high: Any, name: str, color: str) -> list[dict[str, Any]]:
    """The area between two lines, which the legend switches as one."""
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


# ---------------------------------------------------------------------- forecast and training


def forecast_figure(stretch: Stretch, bands: Bands, output: int, data: Dataset) -> Figure:
    """Bands, mean and measurements above, the inputs below, one axis of time."""
    (forecast, y), u = stretch.scored, stretch.u
    step = (data.sampling_time or 1.0) / stretch.experiment.stride
    time = step * stretch.experiment.rows[: len(y)]
    label = with_units(data.output_names, data.output_units)[output]
    keep = slice(None, None, -(-len(time) // MAX_POINTS))
    x = time[keep]
    traces = []
    for level, color in BANDS:
        low, high = (bound[keep, output] for bound in bands[level])
        traces += band(x, low, high, f"{level:.0%} band", color)
    traces.append(line(x, forecast.mean[keep, output], "forecast", "@blue", hovertemplate=_VALUE))
    traces.append(line(x, y[keep, output], "measured", "@ink", width=1.1, hovertemplate=_VALUE))
    layout: dict[str, Any] = {
        "xaxis": axis(time_title(data)),
        "yaxis": axis(label, domain=[0.0, 1.0]),
        "hovermode": "x unified",
        "shapes": [_shade(time[0], time[max(forecast.warmup - 1, 0)])],
    }
    if u.shape[1]:
        _add_inputs(traces, layout, x, u[keep], with_units(data.input_names, data.input_units))
    return {"data": traces, "layout": layout}


def _add_inputs(
    traces: list[Figure], layout: Figure, x: np.ndarray, u: np.ndarray, names: Sequence[str]
) -> None:
    for j, name in enumerate(names):
        color, style = series_color(j + 1), {"yaxis": "y2", "hovertemplate": _VALUE}
        trace = line(x, u[:, j], name, color, width=1.2, **style)
        trace["line"]["shape"] = "hv"  # an input is held until the next step
        traces.append(trace)
    layout["yaxis"]["domain"] = [0.3, 1.0]
    layout["xaxis"]["anchor"] = "y2"
    title = names[0] if len(names) == 1 else "inputs"
    layout["yaxis2"] = axis(title, domain=[0.0, 0.22], anchor="x")


_VALUE = "%{y:.4~g}"


def _shade(first: float, last: float) -> dict[str, Any]:
    """Shade the warm-up."""
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": float(first), "x1": float(last),
        "y0": 0, "y1": 1, "line": {"width": 0}, "fillcolor": "@shade", "layer": "below",
        "label": {"text": "warm-up", "textposition": "top left", "font": {"size": 10}},
    }  # fmt: skip


PANELS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("per step", ("elbo", "log_likelihood"), False),
    ("KL per step", ("state_kl", "initial_kl"), False),
    ("KL of the GPs", ("inducing_kl", "smoother_kl"), False),
    ("entropy", ("entropy",), False),
    ("gradient", ("gradient_norm",), True),
    ("rate", ("learning_rate",), False),
    ("validation", ("validation_rmse", "validation_log_likelihood"), False),
)


def is_nonzero(table: pd.DataFrame, name: str) -> bool:
    """Whether a column exists and is not always zero."""
    return name in table and bool(table[name].fillna(0.0).any())


def training_figure(table: pd.DataFrame) -> tuple[Figure, int]:
    """Every term of the ELBO in panels above each other, and the height that they need."""
    shown = [panel for panel in PANELS if any(is_nonzero(table, name) for name in panel[1])]
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"xaxis": axis("gradient step"), "hovermode": "x"}
    share = 1.0 / max(len(shown), 1)
    for i, (title, names, logarithmic) in enumerate(shown):
        number = "" if i == 0 else str(i + 1)
        top = 1.0 - i * share
        domain, kind = [max(top - 0.82 * share, 0.0), top], "log" if logarithmic else "linear"
        layout[f"yaxis{number}"] = axis(title, domain=domain, type=kind, anchor="x")
        for name in (name for name in names if is_nonzero(table, name)):
            x, y = _smoothed(table[name])
            color = series_color(len(data))
            data.append(line(x, y, name.replace("_", " "), color, yaxis=f"y{number}"))
    layout["xaxis"]["anchor"] = f"y{len(shown)}" if len(shown) > 1 else "y"
    return {"data": data, "layout": layout}, 110 + 105 * len(shown)


def _smoothed(values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Running means, thinned out; scores that are known at some steps only, as they are."""
    known = values.dropna()
    if len(known) < 0.5 * len(values):
        return known.index.to_numpy(), known.to_numpy()
    width = max(len(values) // 200, 1)
    finite = values.where(np.isfinite(values))
    smooth = finite.rolling(width, min_periods=1, center=True).mean()
    kept = smooth.iloc[:: -(-len(smooth) // _TRAINING_POINTS)]
    return kept.index.to_numpy(), kept.to_numpy()


# ---------------------------------------------------------------------- calibration and residuals


def coverage_figure(curves: Mapping[str, Float[np.ndarray, " levels"]]) -> Figure:
    """Share of the measurements inside a band, against the level of the band."""
    data = [line([0, 1], [0, 1], "ideal", "@muted", dash="dot", width=1, hoverinfo="skip")]
    for i, (name, shares) in enumerate(curves.items()):
        words = "%{x:.0%} band covers %{y:.1%}<extra></extra>"
        trace = line(LEVELS, shares, name, series_color(i), hovertemplate=words)
        data.append({**trace, "mode": "lines+markers", "marker": {"size": 5}})
    percent = {"range": [0, 1], "tickformat": ".0%"}
    axes = axis("level of the band", **percent), axis("measurements inside", **percent)
    return {"data": data, "layout": {"xaxis": axes[0], "yaxis": axes[1]}}


def pit_figure(pit: Float[np.ndarray, " known"], bins: int = 10) -> Figure:
    """PIT histogram of the measurements; flat if calibrated."""
    density, limit = pit_histogram(pit, bins)
    bars = _bars((np.arange(bins) + 0.5) / bins, density, "measurements", "@blue", "%{y:.2f}")
    shapes = [_level(1.0, "@ink", "solid")]
    shapes += [_level(1.0 + sign * limit, "@ink", "dot") for sign in (-1, 1)]
    layout = {
        "xaxis": axis("P(Y < measured)", range=[0, 1]),
        "yaxis": axis("density", rangemode="tozero"),
        "bargap": 0.06, "shapes": shapes, "showlegend": False,
    }  # fmt: skip
    return {"data": [bars], "layout": layout}


def centres(profile: Sequence[HorizonBin]) -> list[float]:
    """The step in the middle of each bin."""
    return [0.5 * (each.first + each.last) for each in profile]


def horizon_figure(
    profile: Sequence[HorizonBin], linear: Sequence[HorizonBin], label: str
) -> Figure:
    """RMSE, and the error that the band implies, against the steps since the warm-up."""
    x = centres(profile)
    spans = [f"{each.first}–{each.last}" for each in profile]
    words = "steps %{text}: %{y:.4~g}"
    data = [
        {**line(x, [b.rmse for b in profile], "RMSE", "@blue", hovertemplate=words), "text": spans},
        {**line(x, [b.width / 3.92 for b in profile], "implied by the band", "@orange",
                dash="dash", hovertemplate=words), "text": spans},
    ]  # fmt: skip
    rmse = [b.rmse for b in linear]
    data.append(line(centres(linear), rmse, f"RMSE, {ARX}", "@muted", dash="dot"))
    covered = {"yaxis": "y2", "hovertemplate": "95 % band covers %{y:.0%}"}
    trace = line(x, [each.coverage for each in profile], "coverage", "@purple", **covered)
    data.append({**trace, "mode": "lines+markers", "marker": {"size": 5}})
    layout = {
        "xaxis": axis("steps after the warm-up", anchor="y2"),
        "yaxis": axis(label, domain=[0.4, 1.0], rangemode="tozero"),
        "yaxis2": axis("covered", domain=[0.0, 0.3], tickformat=".0%", anchor="x", range=[0, 1.05]),
        "hovermode": "x unified",
        "shapes": [{**_level(0.95, "@muted", "dot"), "yref": "y2"}],
    }
    return {"data": data, "layout": layout}


def correlation_figure(
    lags: Sequence[int] | np.ndarray, values: Float[np.ndarray, " lags"], limit: float, title: str
) -> Figure:
    """Bars with the limits inside which those of a good model stay."""
    colors = ["@red" if abs(v) > limit and k != 0 else "@blue" for k, v in zip(lags, values)]  # noqa: B905
    bars = _bars(lags, values, "correlation", colors, "lag %{x}: %{y:.3f}")
    inside = {
        "type": "rect", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": -limit, "y1": limit,
        "line": {"width": 0}, "fillcolor": "@shade", "layer": "below",
    }  # fmt: skip
    largest = max(float(np.max(np.abs(values), initial=0.0)), 2.0 * limit)
    layout = {
        "xaxis": axis(title),
        "yaxis": axis("correlation", range=[-1.1 * largest, 1.1 * largest]),
        "shapes": [inside], "showlegend": False, "bargap": 0.35,
    }  # fmt: skip
    return {"data": [bars], "layout": layout}


def _bars(x: Any, y: Any, name: str, color: str | list[str], words: str) -> dict[str, Any]:
    base = {"type": "bar", "x": numbers(x), "y": numbers(y), "marker": {"color": color}}
    return {**base, "name": name, "hovertemplate": f"{words}<extra></extra>"}


def _level(y: float, color: str, dash: str) -> dict[str, Any]:
    style = {"color": color, "width": 1, "dash": dash}
    return {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": y, "y1": y,
            "line": style}  # fmt: skip


# ---------------------------------------------------------------------- what was learned


def slice_figure(
    grid: Float[np.ndarray, " points"],
    mean: Float[np.ndarray, " points"],
    std: Float[np.ndarray, " points"],
    visited: Float[np.ndarray, " time"],
    labels: tuple[str, str],
) -> Figure:
    """f with its 95 % band along one axis; the ticks below show where the states have been."""
    bounds = mean - 1.96 * std, mean + 1.96 * std
    data = band(grid, *bounds, "95 % band", "@band95")
    data.append(line(grid, mean, "mean", "@blue", hovertemplate=_VALUE))
    ticks = visited[:: -(-len(visited) // 250)]
    marker = {"symbol": "line-ns-open", "size": 7, "color": "@muted"}
    floors = np.full(len(ticks), np.min(bounds[0]))
    data.append(_points(ticks, floors, "visited", marker, hoverinfo="skip"))
    axes = {"xaxis": axis(labels[1]), "yaxis": axis(f"change of {labels[0]} per step")}
    return {"data": data, "layout": {**axes, "hovermode": "x unified"}}


def inducing_figure(
    visited: Float[np.ndarray, "time 2"], inducing: Float[np.ndarray, "m 2"], labels: Sequence[str]
) -> Figure:
    """Where the states went, and the points that carry what is known of f."""
    path = visited[:: -(-len(visited) // 600)]
    points = {"symbol": "diamond", "size": 8, "color": "@orange"}
    words = "%{x:.4~g}, %{y:.4~g}<extra></extra>"
    data = [
        line(path[:, 0], path[:, 1], "states", "@blue", width=1, hoverinfo="skip"),
        _points(inducing[:, 0], inducing[:, 1], "inducing inputs", points, hovertemplate=words),
    ]
    return {"data": data, "layout": {"xaxis": axis(labels[0]), "yaxis": axis(labels[1])}}


def _points(x: Any, y: Any, name: str, marker: dict[str, Any], **more: Any) -> dict[str, Any]:
    base = {"type": "scatter", "mode": "markers", "x": numbers(x), "y": numbers(y)}
    return {**base, "name": name, "marker": marker, **more}
