"""The charts of the report page, as plain dictionaries that plotly.js draws in the browser.

Colours are names such as "@ink": the page knows what they are on a light and on a dark ground.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from gpssm.prediction.calibration import LEVELS, HorizonBin, pit_histogram

MAX_POINTS = 3000  # of a line: a screen has no more
_TRAINING_POINTS = 400
BANDS = ((0.95, "@band95"), (0.9, "@band90"), (0.5, "@band50"))
_SERIES = ("@blue", "@orange", "@green", "@purple", "@red", "@teal")

Figure = dict[str, Any]
Variants = dict[tuple[str, ...], Figure]  # by what the reader has chosen


@dataclass(frozen=True)
class Chart:
    """One place on the page: a figure, or several among which the reader chooses."""

    key: str
    variants: Variants
    choices: Sequence[tuple[str, Sequence[str]]] = ()
    height: int = 320
    note: str = field(default="")

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
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(x),
        "y": numbers(y),
        "name": name,
        "line": style,
        **more,
    }


def band(x: Any, low: Any, high: Any, name: str, color: str, **more: Any) -> list[dict[str, Any]]:
    """The area between two lines, which the legend switches as one."""
    shared = {"legendgroup": name, "line": {"width": 0, "color": color}, **more}
    base = {"type": "scatter", "mode": "lines", "x": numbers(x), **shared}
    words = f"{name}: %{{customdata:.4~g}} to %{{y:.4~g}}<extra></extra>"
    return [
        {**base, "y": numbers(low), "showlegend": False, "hoverinfo": "skip"},
        {
            **base,
            "y": numbers(high),
            "customdata": numbers(low),
            "fill": "tonexty",
            "fillcolor": color,
            "name": name,
            "hovertemplate": words,
        },
    ]


# ---------------------------------------------------------------------- forecast and training


@dataclass(frozen=True, eq=False)
class ForecastLines:
    """What one forecast chart shows of one output of one experiment."""

    time: Float[np.ndarray, " time"]
    mean: Float[np.ndarray, " time"]
    bands: Mapping[float, tuple[np.ndarray, np.ndarray]]
    y: Float[np.ndarray, " time"]
    u: Float[np.ndarray, "time inputs"]
    warmup: int


def forecast_figure(
    lines: ForecastLines, x_title: str, y_title: str, input_labels: Sequence[str]
) -> Figure:
    """Bands, mean and measurements above, the inputs below, one axis of time."""
    keep = slice(None, None, -(-len(lines.time) // MAX_POINTS))
    x = lines.time[keep]
    data = []
    for level, color in BANDS:
        low, high = (bound[keep] for bound in lines.bands[level])
        data += band(x, low, high, f"{level:.0%} band", color)
    data.append(line(x, lines.mean[keep], "forecast", "@blue", hovertemplate=_VALUE))
    data.append(line(x, lines.y[keep], "measured", "@ink", width=1.1, hovertemplate=_VALUE))
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": x_title}},
        "yaxis": {"title": {"text": y_title}, "domain": [0.0, 1.0]},
        "hovermode": "x unified",
        "shapes": [_shade(lines.time[0], lines.time[max(lines.warmup - 1, 0)])],
    }
    if len(input_labels):
        for j, label in enumerate(input_labels):
            color = _SERIES[(j + 1) % len(_SERIES)]
            step = {"yaxis": "y2", "hovertemplate": _VALUE}
            trace = line(x, lines.u[keep, j], label, color, width=1.2, **step)
            trace["line"]["shape"] = "hv"  # an input is held until the next step
            data.append(trace)
        title = input_labels[0] if len(input_labels) == 1 else "inputs"
        layout["yaxis"]["domain"] = [0.3, 1.0]
        layout["xaxis"]["anchor"] = "y2"
        layout["yaxis2"] = {"title": {"text": title}, "domain": [0.0, 0.22], "anchor": "x"}
    return {"data": data, "layout": layout}


_VALUE = "%{y:.4~g}"


def _shade(first: float, last: float) -> dict[str, Any]:
    """Where the forecast could see the outputs."""
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


def told(table: pd.DataFrame, name: str) -> bool:
    """Whether a column is there and is not zero throughout."""
    return name in table and bool(table[name].fillna(0.0).any())


def training_figure(table: pd.DataFrame) -> tuple[Figure, int]:
    """Every term of the ELBO in panels above each other, and the height that they need."""
    shown = [panel for panel in PANELS if any(told(table, name) for name in panel[1])]
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"xaxis": {"title": {"text": "gradient step"}}, "hovermode": "x"}
    share = 1.0 / max(len(shown), 1)
    for i, (title, names, logarithmic) in enumerate(shown):
        number = "" if i == 0 else str(i + 1)
        top = 1.0 - i * share
        layout[f"yaxis{number}"] = {
            "title": {"text": title},
            "domain": [max(top - 0.82 * share, 0.0), top],
            "type": "log" if logarithmic else "linear",
            "anchor": "x",
        }
        for name in (name for name in names if told(table, name)):
            x, y = _smoothed(table[name])
            color = _SERIES[len(data) % len(_SERIES)]
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
    ideal = {"color": "@muted", "dash": "dot", "width": 1}
    data = [
        {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "line": ideal,
         "name": "ideal", "hoverinfo": "skip"}
    ]  # fmt: skip
    for i, (name, shares) in enumerate(curves.items()):
        color = _SERIES[i % len(_SERIES)]
        words = "%{x:.0%} band covers %{y:.1%}<extra></extra>"
        trace = line(LEVELS, shares, name, color, hovertemplate=words)
        data.append({**trace, "mode": "lines+markers", "marker": {"size": 5}})
    percent = {"range": [0, 1], "tickformat": ".0%"}
    layout = {
        "xaxis": {"title": {"text": "level of the band"}, **percent},
        "yaxis": {"title": {"text": "measurements inside"}, **percent},
    }
    return {"data": data, "layout": layout}


def pit_figure(pit: Float[np.ndarray, " known"], bins: int = 10) -> Figure:
    """Where in the forecast distribution the measurements fell; flat is right."""
    density, limit = pit_histogram(pit, bins)
    centres = (np.arange(bins) + 0.5) / bins
    data = [
        {
            "type": "bar", "x": numbers(centres), "y": numbers(density), "name": "measurements",
            "marker": {"color": "@blue"}, "hovertemplate": "%{y:.2f}<extra></extra>",
        }
    ]  # fmt: skip
    shapes = [_level(1.0, "@ink", "solid")]
    shapes += [_level(1.0 + sign * limit, "@ink", "dot") for sign in (-1, 1)]
    layout = {
        "xaxis": {"title": {"text": "P(Y < measured)"}, "range": [0, 1]},
        "yaxis": {"title": {"text": "density"}, "rangemode": "tozero"},
        "bargap": 0.06, "shapes": shapes, "showlegend": False,
    }  # fmt: skip
    return {"data": data, "layout": layout}


def horizon_figure(
    profile: Sequence[HorizonBin],
    baselines: Mapping[str, Sequence[HorizonBin]],
    label: str,
) -> Figure:
    """Error, and the error that the band promises, against the steps since the warm-up."""
    x = [0.5 * (each.first + each.last) for each in profile]
    spans = [f"{each.first}–{each.last}" for each in profile]
    words = "steps %{text}: %{y:.4~g}"
    data = [
        {**line(x, [b.rmse for b in profile], "RMSE", "@blue", hovertemplate=words), "text": spans},
        {**line(x, [b.width / 3.92 for b in profile], "promised by the band", "@orange",
                dash="dash", hovertemplate=words), "text": spans},
    ]  # fmt: skip
    for i, (name, bins) in enumerate(baselines.items()):
        at = [0.5 * (each.first + each.last) for each in bins]
        color = ("@muted", "@green")[i % 2]
        data.append(line(at, [b.rmse for b in bins], f"RMSE, {name}", color, dash="dot"))
    covered = {"yaxis": "y2", "hovertemplate": "95 % band covers %{y:.0%}"}
    trace = line(x, [each.coverage for each in profile], "coverage", "@purple", **covered)
    data.append({**trace, "mode": "lines+markers", "marker": {"size": 5}})
    layout = {
        "xaxis": {"title": {"text": "steps after the warm-up"}, "anchor": "y2"},
        "yaxis": {"title": {"text": label}, "domain": [0.4, 1.0], "rangemode": "tozero"},
        "yaxis2": {
            "title": {"text": "covered"}, "domain": [0.0, 0.3], "tickformat": ".0%", "anchor": "x",
            "range": [0, 1.05],
        },
        "hovermode": "x unified",
        "shapes": [{**_level(0.95, "@muted", "dot"), "yref": "y2"}],
    }  # fmt: skip
    return {"data": data, "layout": layout}


def correlation_figure(
    lags: Sequence[int] | np.ndarray, values: Float[np.ndarray, " lags"], limit: float, title: str
) -> Figure:
    """Bars with the limits inside which those of a good model stay."""
    colors = ["@red" if abs(v) > limit and k != 0 else "@blue" for k, v in zip(lags, values)]  # noqa: B905
    data = [
        {
            "type": "bar", "x": [int(k) for k in lags], "y": numbers(values),
            "marker": {"color": colors}, "name": "correlation",
            "hovertemplate": "lag %{x}: %{y:.3f}<extra></extra>",
        }
    ]  # fmt: skip
    inside = {
        "type": "rect", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": -limit, "y1": limit,
        "line": {"width": 0}, "fillcolor": "@shade", "layer": "below",
    }  # fmt: skip
    largest = max(float(np.max(np.abs(values), initial=0.0)), 2.0 * limit)
    layout = {
        "xaxis": {"title": {"text": title}},
        "yaxis": {"title": {"text": "correlation"}, "range": [-1.1 * largest, 1.1 * largest]},
        "shapes": [inside], "showlegend": False, "bargap": 0.35,
    }  # fmt: skip
    return {"data": data, "layout": layout}


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
    floor = float(np.min(bounds[0]))
    ticks = visited[:: -(-len(visited) // 250)]
    data.append(
        {
            "type": "scatter", "mode": "markers", "x": numbers(ticks), "y": [floor] * len(ticks),
            "name": "visited", "hoverinfo": "skip",
            "marker": {"symbol": "line-ns-open", "size": 7, "color": "@muted"},
        }
    )  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": labels[1]}},
        "yaxis": {"title": {"text": f"change of {labels[0]} per step"}},
        "hovermode": "x unified",
    }
    return {"data": data, "layout": layout}


def inducing_figure(
    visited: Float[np.ndarray, "time 2"], inducing: Float[np.ndarray, "m 2"], labels: Sequence[str]
) -> Figure:
    """Where the states went, and the points that carry what is known of f."""
    path = visited[:: -(-len(visited) // 600)]
    points = {"symbol": "diamond", "size": 8, "color": "@orange"}
    data = [
        line(path[:, 0], path[:, 1], "states", "@blue", width=1, hoverinfo="skip"),
        {
            "type": "scatter", "mode": "markers", "x": numbers(inducing[:, 0]),
            "y": numbers(inducing[:, 1]), "name": "inducing inputs", "marker": points,
            "hovertemplate": "%{x:.4~g}, %{y:.4~g}<extra></extra>",
        },
    ]  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": labels[0]}},
        "yaxis": {"title": {"text": labels[1]}},
    }
    return {"data": data, "layout": layout}
