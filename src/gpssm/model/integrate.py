"""One step of constant size through an ODE, by explicit Runge-Kutta methods.

Step control and events are not needed between two samples, and would take time to compile.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

SOLVERS = ("rk4", "euler", "symplectic")
State = Float[Array, " states"]
Rates = Callable[[State], State]


class Tableau(NamedTuple):
    """A Butcher tableau: kᵢ = rates(x + h Σⱼ aᵢⱼ kⱼ), then x⁺ = x + h Σᵢ bᵢ kᵢ.

    `a` begins with the second stage: the first is at x itself.
    """

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]


EULER = Tableau(a=(), b=(1.0,))
RK4 = Tableau(a=((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)), b=(1 / 6, 1 / 3, 1 / 3, 1 / 6))


def integrate(
    rates: Rates, x: State, step: float, solver: str = "rk4", positions: Sequence[int] = ()
) -> State:
    """x after a time `step` of ẋ = rates(x). A negative step goes back in time.

    `symplectic` needs to know which states are positions: it moves the other states, the
    velocities, with the old positions, and then the positions with the new velocities.
    """
    if solver == "rk4":
        return _explicit(RK4, rates, x, step)
    if solver == "euler":
        return _explicit(EULER, rates, x, step)
    return _symplectic(rates, x, step, positions)


def _explicit(tableau: Tableau, rates: Rates, x: State, step: float) -> State:
    """An explicit Runge-Kutta step, its stages written out: a loop takes three times as long."""
    slopes = [rates(x)]
    for row in tableau.a:
        slopes.append(rates(x + step * _weighted(row, slopes)))
    return x + step * _weighted(tableau.b, slopes)


def _weighted(weights: Sequence[float], slopes: Sequence[Array]) -> Array:
    terms = [w * slope for w, slope in zip(weights, slopes, strict=True) if w != 0]
    return sum(terms[1:], terms[0])


def _symplectic(rates: Rates, x: State, step: float, positions: Sequence[int]) -> State:
    """v⁺ = v + h a(q, v), then q⁺ = q + h q̇(q, v⁺): Euler's method for one half after the other."""
    q_index = np.asarray(positions, dtype=int)
    v_index = np.setdiff1d(np.arange(x.shape[0]), q_index)
    back = np.argsort(np.concatenate([v_index, q_index]))
    v, q = x[v_index], x[q_index]
    v = v + step * rates(jnp.concatenate([v, q])[back])[v_index]
    q = q + step * rates(jnp.concatenate([v, q])[back])[q_index]
    return jnp.concatenate([v, q])[back]
