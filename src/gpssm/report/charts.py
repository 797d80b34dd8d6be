"""The figures of the report page, each from the numbers that it shows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from gpssm.data import Dataset
from gpssm.data.channels import with_units
from gpssm.evaluation.scoring import ARX, Stretch
from gpssm.metrics.reliability import LEVELS, HorizonBin, pit_histogram

from .traces import (
    VALUE,
    Figure,
    axis,
    band,
    bars,
    level_line,
    line,
    points,
    series_color,
    time_title,
)

MAX_POINTS = 2000  # of a line: a screen has no more
_TRAINING_POINTS = 400
BANDS = ((0.95, "@band95"), (0.5, "@band50"))
LINEAR_LINE: dict[str, Any] = {"color": "@orange", "dash": "dash"}

Bands = Mapping[float, tuple[np.ndarray, np.ndarray]]  # lower and upper bound, by level


# ---------------------------------------------------------------------- forecast and training


def forecast_figure(
    stretch: Stretch,
    bands: Bands,
    output: int,
    data: Dataset,
    linear: Float[np.ndarray, "time outputs"] | None = None,
    most: int = MAX_POINTS,
) -> Figure:
    """Bands, mean and measurements above, the inputs below, one axis of time.

    `linear`: the forecast of the linear model, as a line that the legend switches. `most`: points.
    """
    (forecast, y), u = stretch.scored, stretch.u
    step = (data.sampling_time or 1.0) / stretch.experiment.stride
    time = step * stretch.experiment.rows[: len(y)]
    label = with_units(data.output_names, data.output_units)[output]
    keep = slice(None, None, -(-len(time) // most))
    x = time[keep]
    traces = []
    for level, color in BANDS:
        low, high = (bound[keep, output] for bound in bands[level])
        traces += band(x, low, high, f"{level:.0%} band", color)
    if linear is not None:
        around = y, *bands[BANDS[0][0]]
        near = stays_near(linear[:, output], [each[:, output] for each in around])
        more = {} if near else {"visible": "legendonly"}
        traces.append(_value_line(x, linear[keep, output], ARX, **LINEAR_LINE, **more))
    traces.append(_value_line(x, forecast.mean[keep, output], "forecast", "@blue"))
    traces.append(_value_line(x, y[keep, output], "measured", "@ink", width=1.1))
    layout: dict[str, Any] = {
        "xaxis": axis(time_title(data)),
        "yaxis": axis(label, domain=[0.0, 1.0]),
        "hovermode": "x unified",
        "shapes": [_shade(time[0], time[max(forecast.warmup - 1, 0)])],
    }
    if u.shape[1]:
        _add_inputs(traces, layout, x, u[keep], with_units(data.input_names, data.input_units))
    return {"data": traces, "layout": layout}


def _value_line(x: Any, y: Any, name: str, color: str, **more: Any) -> Figure:
    return line(x, y, name, color, hovertemplate=VALUE, **more)


def stays_near(values: Float[np.ndarray, " time"], others: Sequence[np.ndarray]) -> bool:
    """Whether the others stay readable beside a line: not beside one that diverges."""
    rest = np.concatenate(others)
    rest = rest[np.isfinite(rest)]
    if not len(rest):
        return True
    room = np.ptp(rest)
    return bool(np.all((values > rest.min() - room) & (values < rest.max() + room)))


def _add_inputs(
    traces: list[Figure], layout: Figure, x: np.ndarray, u: np.ndarray, names: Sequence[str]
) -> None:
    for j, name in enumerate(names):
        trace = _value_line(x, u[:, j], name, series_color(j + 2), width=1.2, yaxis="y2")
        trace["line"]["shape"] = "hv"  # an input is held until the next step
        traces.append(trace)
    layout["yaxis"]["domain"] = [0.3, 1.0]
    layout["xaxis"]["anchor"] = "y2"
    title = names[0] if len(names) == 1 else "inputs"
    layout["yaxis2"] = axis(title, domain=[0.0, 0.22], anchor="x")


def _shade(first: float, last: float) -> dict[str, Any]:
    """Shade the warm-up. The caption names it: a label would lie on the lines of the grid."""
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": first, "x1": last,
        "y0": 0, "y1": 1, "line": {"width": 0}, "fillcolor": "@shade", "layer": "below",
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
    return name in table and bool(table[name].any())


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
    shown = bars((np.arange(bins) + 0.5) / bins, density, "measurements", "@blue", "%{y:.2f}")
    shapes = [level_line(1.0, "@ink", "solid")]
    shapes += [level_line(1.0 + sign * limit, "@ink", "dot") for sign in (-1, 1)]
    layout = {
        "xaxis": axis("P(Y < measured)", range=[0, 1]),
        "yaxis": axis("density", rangemode="tozero"),
        "bargap": 0.06, "shapes": shapes, "showlegend": False,
    }  # fmt: skip
    return {"data": [shown], "layout": layout}


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
        {**line(x, [b.width / 3.92 for b in profile], "implied by the band", "@blue",
                dash="dot", hovertemplate=words), "text": spans},
    ]  # fmt: skip
    rmse = [b.rmse for b in linear]
    data.append(line(centres(linear), rmse, f"RMSE, {ARX}", **LINEAR_LINE))
    covered = {"yaxis": "y2", "hovertemplate": "95 % band covers %{y:.0%}"}
    trace = line(x, [each.coverage for each in profile], "coverage", "@purple", **covered)
    data.append({**trace, "mode": "lines+markers", "marker": {"size": 5}})
    layout = {
        "xaxis": axis("steps after the warm-up", anchor="y2"),
        "yaxis": axis(label, domain=[0.4, 1.0], rangemode="tozero"),
        "yaxis2": axis("covered", domain=[0.0, 0.3], tickformat=".0%", anchor="x", range=[0, 1.05]),
        "hovermode": "x unified",
        "shapes": [{**level_line(0.95, "@muted", "dot"), "yref": "y2"}],
    }
    return {"data": data, "layout": layout}


def correlation_figure(
    lags: Sequence[int] | np.ndarray, values: Float[np.ndarray, " lags"], limit: float, title: str
) -> Figure:
    """Bars with the limits inside which those of a good model stay."""
    colors = ["@red" if abs(v) > limit and k != 0 else "@blue" for k, v in zip(lags, values)]  # noqa: B905
    shown = bars(lags, values, "correlation", colors, "lag %{x}: %{y:.3f}")
    inside = {
        "type": "rect", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": -limit, "y1": limit,
        "line": {"width": 0}, "fillcolor": "@shade", "layer": "below",
    }  # fmt: skip
    largest = max(np.max(np.abs(values)), 2.0 * limit)
    layout = {
        "xaxis": axis(title),
        "yaxis": axis("correlation", range=[-1.1 * largest, 1.1 * largest]),
        "shapes": [inside], "showlegend": False, "bargap": 0.35,
    }  # fmt: skip
    return {"data": [shown], "layout": layout}


# ---------------------------------------------------------------------- what was learned


def slice_figure(
    grid: Float[np.ndarray, " points"],
    mean: Float[np.ndarray, " points"],
    std: Float[np.ndarray, " points"],
    visited: Float[np.ndarray, " time"],
    labels: tuple[str, str],
    most: int = 250,
) -> Figure:
    """f with its 95 % band along one axis; the ticks below show where the states have been."""
    bounds = mean - 1.96 * std, mean + 1.96 * std
    data = band(grid, *bounds, "95 % band", "@band95")
    data.append(line(grid, mean, "mean", "@blue", hovertemplate=VALUE))
    ticks = visited[:: -(-len(visited) // most)]
    marker = {"symbol": "line-ns-open", "size": 7, "color": "@muted"}
    floors = np.full(len(ticks), np.min(bounds[0]))
    data.append(points(ticks, floors, "visited", marker, hoverinfo="skip"))
    axes = {"xaxis": axis(labels[1]), "yaxis": axis(f"change of {labels[0]} per step")}
    return {"data": data, "layout": {**axes, "hovermode": "x unified"}}


def inducing_figure(
    visited: Float[np.ndarray, "time 2"],
    inducing: Float[np.ndarray, "m 2"],
    labels: Sequence[str],
    most: int = 600,
) -> Figure:
    """Where the states went, and the points that carry what is known of f."""
    path = visited[:: -(-len(visited) // most)]
    diamonds = {"symbol": "diamond", "size": 8, "color": "@orange"}
    words = "%{x:.4~g}, %{y:.4~g}<extra></extra>"
    data = [
        line(path[:, 0], path[:, 1], "states", "@blue", width=1, hoverinfo="skip"),
        points(inducing[:, 0], inducing[:, 1], "inducing inputs", diamonds, hovertemplate=words),
    ]
    return {"data": data, "layout": {"xaxis": axis(labels[0]), "yaxis": axis(labels[1])}}
