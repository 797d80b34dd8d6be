"""Writes two_tank.csv: what our simulator logs of a pump and the lower of two tanks.

python examples/two_tank.py
"""

from pathlib import Path

import jax
import numpy as np

import gpssm

PATH = Path(__file__).with_name("two_tank.csv")


def lines() -> list[str]:
    run = gpssm.simulators.two_tanks(jax.random.key(8), steps=1500, train=1000)
    u, y = (np.concatenate([getattr(each, kind)[:, 0] for each in run]) for kind in "uy")
    rows = zip(range(len(u)), u, y, strict=True)
    return ["time,pump,level", *(f"{t},{pump:.3f},{level:.2f}" for t, pump, level in rows)]


if __name__ == "__main__":
    PATH.write_text("\n".join(lines()) + "\n", encoding="utf-8")
