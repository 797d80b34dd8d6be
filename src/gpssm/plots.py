"""Static figures, in one style.

Protocols stand for the forecast, history and stability, whose classes import this module.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 9.0,
    "legend.frameon": False,
    "figure.dpi": 150.0,
}
_TRUTH, _FORECAST = "#222222", "#1f5fbf"
_BANDS = ((0.95, 0.18), (0.5, 0.35))  # level, opacity
# Panels of a history: what it shows, the columns of the table, and whether the axis is logarithmic.
_PANELS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("per step", ("elbo", "log_likelihood"), False),
    ("KL per step", ("state_kl", "initial_kl"), True),
    ("KL of the GPs", ("inducing_kl", "smoother_kl"), False),
    ("gradient", ("gradient_norm",), True),
    ("rate", ("learning_rate",), False),
    ("RMSE", ("validation_rmse",), False),
    ("log-likelihood", ("validation_log_likelihood",), False),
)
_SMOOTH = 0.02  # share of all steps over which a line is averaged


@runtime_checkable
class _Forecast(Protocol):
    @property
    def warmup(self) -> int: ...
    @property
    def output_names(self) -> tuple[str, ...]: ...
    @property
    def mean(self) -> Float[np.ndarray, "time outputs"]: ...
    def interval(
        self, level: float
    ) -> tuple[Float[np.ndarray, "time outputs"], Float[np.ndarray, "time outputs"]]: ...


@runtime_checkable
class _History(Protocol):
    @property
    def table(self) -> pd.DataFrame: ...


@runtime_checkable
class _Stability(Protocol):
    @property
    def variance(self) -> Float[np.ndarray, "time states"]: ...
    @property
    def state_names(self) -> tuple[str, ...]: ...
    @property
    def growing(self) -> tuple[bool, ...]: ...
    @property
    def exponent(self) -> Float[np.ndarray, " states"]: ...


def plot_forecast(
    forecast: _Forecast,
    y: Float[np.ndarray, "time outputs"] | None = None,
    *,
    path: str | Path | None = None,
    title: str = "",
    units: tuple[str, ...] = (),
    sampling_time: float | None = None,
) -> "Figure":
    """The forecast with its 50 and 95 % bands, and the measurements; a panel per output."""
    import matplotlib.pyplot as plt  # here: a program that never plots need not load it

    outputs = forecast.mean.shape[1]
    with plt.rc_context(STYLE):
        figure, axes = _panels(outputs, 2.2)
        step = sampling_time or 1.0
        for d, axis in enumerate(axes):
            _draw_output(axis, forecast, d, step, None if y is None else y[:, d])
            axis.set_ylabel(_label(forecast, d, units))
        axes[-1].set_xlabel("time step" if sampling_time is None else "time [s]")
        axes[0].legend(ncols=5, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        _finish(figure, title, path)
    return figure


def _draw_output(
    axis: "Axes", forecast: _Forecast, d: int, step: float, y: Float[np.ndarray, " time"] | None
) -> None:
    time = step * np.arange(len(forecast.mean))
    for level, opacity in _BANDS:
        low, high = forecast.interval(level)
        label = f"{level:.0%} band"
        axis.fill_between(
            time, low[:, d], high[:, d], color=_FORECAST, alpha=opacity, lw=0, label=label
        )
    axis.plot(time, forecast.mean[:, d], color=_FORECAST, lw=1.2, label="forecast")
    if y is not None:
        axis.plot(time, y, color=_TRUTH, lw=0.9, label="measured")
    if forecast.warmup:
        axis.axvspan(0.0, step * (forecast.warmup - 1), color="0.85", lw=0, label="warm-up")
    axis.margins(x=0)


def _label(forecast: _Forecast, d: int, units: tuple[str, ...]) -> str:
    name = forecast.output_names[d] if forecast.output_names else f"y{d + 1}"
    return f"{name} [{units[d]}]" if d < len(units) and units[d] else name


def plot_history(history: _History, *, path: str | Path | None = None, title: str = "") -> "Figure":
    """The terms of the ELBO, the learning rate and the validation scores over the steps.

    Faint: every step. Strong: running means over a fiftieth of all steps.
    """
    import matplotlib.pyplot as plt

    table = history.table
    shown = [panel for panel in _PANELS if any(_tells(table, name) for name in panel[1])]
    with plt.rc_context(STYLE):
        figure, axes = _panels(len(shown), 1.3)
        for axis, (label, names, logarithmic) in zip(axes, shown, strict=True):
            for i, name in enumerate(name for name in names if _tells(table, name)):
                _draw_column(axis, table[name], f"C{i}")
            axis.set_yscale("log" if logarithmic else "linear")
            axis.set_ylabel(label)
            axis.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.97), fontsize=8)
            axis.margins(x=0)
        axes[-1].set_xlabel("step")
        _finish(figure, title, path)
    return figure


def plot_stability(
    stability: _Stability, *, path: str | Path | None = None, title: str = ""
) -> "Figure":
    """How the spread of copies of one known state grows, a line per state."""
    import matplotlib.pyplot as plt

    std = np.sqrt(stability.variance)
    steps = np.arange(1, len(std) + 1)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
        for d, name in enumerate(stability.state_names):
            growing = stability.growing[d]
            label = f"{name}, t^{stability.exponent[d] / 2:.1f}" if growing else f"{name}, settles"
            axis.plot(steps, std[:, d], color=f"C{d}", lw=1.6 if growing else 1.0, label=label)
        axis.set(xscale="log", yscale="log", xlabel="steps of open loop")
        axis.set_ylabel("standard deviation, normalised")
        axis.legend(fontsize=8)
        _finish(figure, title or str(stability).splitlines()[0], path)
    return figure


def _panels(count: int, height: float) -> tuple["Figure", list["Axes"]]:
    """Panels below each other, of one height in inches, that share their time axis."""
    import matplotlib.pyplot as plt

    size = (9.0, 0.7 + height * count)
    figure, axes = plt.subplots(
        count, 1, figsize=size, sharex=True, squeeze=False, layout="constrained"
    )
    return figure, list(axes[:, 0])


def _finish(figure: "Figure", title: str, path: str | Path | None) -> None:
    """Add the title, and save the figure if a file is given."""
    import matplotlib.pyplot as plt

    figure.suptitle(title, x=0.01, ha="left")
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
        plt.close(figure)


def _tells(table: pd.DataFrame, name: str) -> bool:
    """Whether a column is there and says anything."""
    return name in table and bool(table[name].fillna(0.0).any())


def _draw_column(axis: "Axes", values: pd.Series, color: str) -> None:
    """A line through what was measured; smoothed where that is every step."""
    label = str(values.name).replace("_", " ")
    known = values.dropna()
    if len(known) < len(values):
        axis.plot(known.index, known, color=color, marker=".", lw=1.2, label=label)
        return
    finite = values.where(np.isfinite(values))
    width = max(int(_SMOOTH * len(values)), 1)
    smooth = finite.rolling(width, min_periods=1, center=True).mean()
    axis.plot(values.index, finite, color=color, lw=0.6, alpha=0.3)
    axis.plot(values.index, smooth, color=color, lw=1.2, label=label)
