"""Writes two_tank.csv: what our simulator logs of a pump and the lower of two tanks.

python examples/two_tank.py

And two_tank_tomorrow.csv, of another day: 100 rows that were measured, and the plan of the pump for
the 200 that follow, whose levels nobody knows yet.
"""

from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np

import gpssm

PATH = Path(__file__).with_name("two_tank.csv")
TOMORROW = Path(__file__).with_name("two_tank_tomorrow.csv")


def simulated(seed: int, steps: int) -> Iterator[tuple[int, float, float]]:
    """Time, pump and level of every row."""
    run = gpssm.simulators.two_tanks(jax.random.key(seed), steps=steps, train=steps // 3 * 2)
    u, y = (np.concatenate([getattr(each, kind)[:, 0] for each in run]) for kind in "uy")
    return zip(range(steps), u, y, strict=True)


def lines() -> list[str]:
    rows = simulated(8, 1500)
    return ["time,pump,level", *(f"{t},{pump:.3f},{level:.2f}" for t, pump, level in rows)]


def tomorrow(measured: int = 100) -> list[str]:
    cells = (
        (t, pump, f"{level:.2f}" if t < measured else "") for t, pump, level in simulated(9, 300)
    )
    return ["time,pump,level", *(f"{t},{pump:.3f},{level}" for t, pump, level in cells)]


if __name__ == "__main__":
    for path, content in ((PATH, lines()), (TOMORROW, tomorrow())):
        path.write_text("\n".join(content) + "\n", encoding="utf-8")
