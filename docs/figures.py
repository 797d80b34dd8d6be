"""Draws a figure of method.md, how the factor k lowers the gain of the conditioning, and the figure
of belief.md, how a belief narrows.

python docs/figures.py
"""

from pathlib import Path

import jax.numpy as jnp
import matplotlib
import numpy as np

import gpssm
from gpssm.inference import soft_condition

matplotlib.use("agg")
import matplotlib.pyplot as plt

OUT = Path(__file__).with_name("images")
STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
SEEN, AHEAD = (1, 10, 40), 60  # rows before a forecast, and after it
FACTORS = {1.0: "#1f5fbf", 5.0: "#3a9a5b", 50.0: "#c0562b"}


def conditioned(k: float, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gain, and v/v⁻, for targets of noise r = 1 and predictions of variance v⁻ = ratio."""
    variance = jnp.asarray(ratio)[None]
    zero, one = jnp.zeros_like(variance), jnp.ones_like(variance)
    known = jnp.ones_like(variance, bool)
    mean, new = soft_condition(zero, variance, one, one, known, k)
    return np.asarray(mean[0]), np.asarray(new[0] / variance[0])


def draw_conditioning() -> None:
    """Gain and variance over the ratio of the variances."""
    ratio = np.logspace(-3, 3, 121)
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    for k, colour in FACTORS.items():
        for axis, values in zip(axes, conditioned(k, ratio), strict=True):
            axis.semilogx(ratio, values, color=colour, label=f"k = {k:g}")
    for axis, title in zip(axes, ("gain K", "variance left, v / v⁻"), strict=True):
        axis.set(title=title, xlabel="v⁻ / r", ylim=(-0.03, 1.03))
    axes[0].legend(frameon=False)
    figure.savefig(OUT / "soft_conditioning.png", dpi=120)


def draw_belief() -> None:
    """Forecasts from beliefs that have seen more and more outputs."""
    data = gpssm.load_dataset("two_tanks")
    model = gpssm.cbf_ssm(dim_x=3, k=1)
    run = gpssm.fit(model, data.train, steps=1500, learning_rate=0.02, quiet=True)
    u, y = data.test[0].u, data.test[0].y
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained", sharey=True)
    for axis, rows in zip(axes, SEEN, strict=True):
        forecast = run.belief().update(u[:rows], y[:rows]).predict(u[rows : rows + AHEAD])
        time, (low, high) = np.arange(rows, rows + AHEAD), forecast.interval(0.95)
        axis.fill_between(time, low[:, 0], high[:, 0], color="#1f5fbf", alpha=0.25, lw=0)
        axis.plot(time, forecast.mean[:, 0], color="#1f5fbf", label="forecast, 95 %")
        axis.plot(y[: rows + AHEAD, 0], color="black", lw=0.8, label="measured")
        axis.axvspan(-0.5, rows - 0.5, color="#888888", alpha=0.25, lw=0)
        title = f"after {rows} output{'s' if rows > 1 else ''}"
        axis.set(title=title, xlabel="time [s]", xlim=(-2, SEEN[-1] + AHEAD))
    axes[0].set_ylabel("level [cm]")
    axes[0].legend(frameon=False)
    figure.savefig(OUT / "belief.png", dpi=120)


def main() -> None:
    """Write the figures."""
    with plt.rc_context(STYLE):
        draw_conditioning()
        draw_belief()


if __name__ == "__main__":
    main()
