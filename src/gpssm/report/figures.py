"""Static figures, in one style."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from gpssm.prediction import Forecast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE: dict[Any, Any] = {
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


def plot_forecast(
    forecast: Forecast,
    y: Float[np.ndarray, "time outputs"] | None = None,
    *,
    path: str | Path | None = None,
    title: str = "",
    units: tuple[str, ...] = (),
    sampling_time: float | None = None,
) -> "Figure":
    """The forecast with its 50 and 95 % bands, and what came true; a panel per output."""
    import matplotlib.pyplot as plt  # here: a program that never plots need not load it

    outputs = forecast.mean.shape[1]
    with plt.rc_context(_STYLE):
        height = 0.7 + 2.2 * outputs
        figure, axes = plt.subplots(
            outputs, 1, figsize=(9.0, height), sharex=True, squeeze=False, layout="constrained"
        )
        step = sampling_time or 1.0
        for d, axis in enumerate(axes[:, 0]):
            _draw_output(axis, forecast, d, step, None if y is None else y[:, d])
            axis.set_ylabel(_label(forecast, d, units))
        axes[-1, 0].set_xlabel("time step" if sampling_time is None else "time [s]")
        axes[0, 0].legend(ncols=5, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        figure.suptitle(title, x=0.01, ha="left")
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path)
            plt.close(figure)
    return figure


def _draw_output(
    axis: "Axes",
    forecast: Forecast,
    d: int,
    step: float,
    y: Float[np.ndarray, " time"] | None,
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


def _label(forecast: Forecast, d: int, units: tuple[str, ...]) -> str:
    name = forecast.output_names[d] if forecast.output_names else f"y{d + 1}"
    return f"{name} [{units[d]}]" if d < len(units) and units[d] else name
