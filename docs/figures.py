"""Draws the figure of method.md: how the factor k lowers the gain of the conditioning.

python docs/figures.py
"""

from pathlib import Path

import jax.numpy as jnp
import matplotlib
import numpy as np

from gpssm.inference import soft_condition

matplotlib.use("agg")
import matplotlib.pyplot as plt

OUT = Path(__file__).with_name("images") / "soft_conditioning.png"
FACTORS = {1.0: "#1f5fbf", 5.0: "#3a9a5b", 50.0: "#c0562b"}


def conditioned(k: float, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gain, and v/v⁻, for targets of noise r = 1 and predictions of variance v⁻ = ratio."""
    variance = jnp.asarray(ratio)[None]
    zero, one = jnp.zeros_like(variance), jnp.ones_like(variance)
    known = jnp.ones_like(variance, bool)
    mean, new = soft_condition(zero, variance, one, one, known, k)
    return np.asarray(mean[0]), np.asarray(new[0] / variance[0])


def main() -> None:
    """Write the figure."""
    ratio = np.logspace(-3, 3, 121)
    style = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    with plt.rc_context(style):
        figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
        for k, colour in FACTORS.items():
            for axis, values in zip(axes, conditioned(k, ratio), strict=True):
                axis.semilogx(ratio, values, color=colour, label=f"k = {k:g}")
        for axis, title in zip(axes, ("gain K", "variance left, v / v⁻"), strict=True):
            axis.set(title=title, xlabel="v⁻ / r", ylim=(-0.03, 1.03))
        axes[0].legend(frameon=False)
        figure.savefig(OUT, dpi=120)


if __name__ == "__main__":
    main()
