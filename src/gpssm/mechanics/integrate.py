"""One step of constant size through an ODE, with the solvers of diffrax.

A full `diffrax.diffeqsolve` brings step control, dense output and events. None of them is needed
for one step between two samples, and inside a training program each costs time to compile.
"""

from collections.abc import Callable, Sequence

import diffrax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

SOLVERS = ("rk4", "euler", "symplectic")
Rates = Callable[[Float[Array, " states"]], Float[Array, " states"]]

# The classical Runge-Kutta method. It has no error estimate: the step is constant.
RK4 = diffrax.ButcherTableau(
    c=np.array([1 / 2, 1 / 2, 1]),
    a_lower=(np.array([1 / 2]), np.array([0.0, 1 / 2]), np.array([0.0, 0.0, 1.0])),
    b_sol=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    b_error=np.zeros(4),
)


def integrate(
    rates: Rates,
    x: Float[Array, " states"],
    step: float,
    solver: str = "rk4",
    positions: Sequence[int] = (),
) -> Float[Array, " states"]:
    """x after a time `step` of ẋ = rates(x). A negative step goes back in time.

    `symplectic` needs to know which states are positions: it moves the other states, the
    velocities, with the old positions, and then the positions with the new velocities.
    """
    if solver == "rk4":
        return _explicit(RK4, rates, x, step)
    if solver == "euler":
        return _euler(rates, x, step)
    return _symplectic(rates, x, step, positions)


def _explicit(
    tableau: diffrax.ButcherTableau, rates: Rates, x: Float[Array, " states"], step: float
) -> Float[Array, " states"]:
    """An explicit Runge-Kutta step, its stages written out.

    diffrax loops over the stages of a tableau. Written out, XLA fuses them: inside a scan over
    time the gradient of a rigid body takes a third of the time. A test compares the two.
    """
    slopes = [rates(x)]
    for row in tableau.a_lower:
        slopes.append(rates(x + step * _weighted(row, slopes)))
    return x + step * _weighted(tableau.b_sol, slopes)


def _weighted(weights: Float[np.ndarray, " stages"], slopes: Sequence[Array]) -> Array:
    terms = [float(w) * slope for w, slope in zip(weights, slopes, strict=True) if w != 0]
    return sum(terms[1:], terms[0])


def _symplectic(
    rates: Rates, x: Float[Array, " states"], step: float, positions: Sequence[int]
) -> Float[Array, " states"]:
    """v⁺ = v + h a(q, v), then q⁺ = q + h q̇(q, v⁺): Euler's method for one half after the other.

    (`diffrax.SemiImplicitEuler` wants halves of the same size; a quaternion has one number more
    than its angular velocity.)
    """
    q_index = np.asarray(positions, dtype=int)
    v_index = np.setdiff1d(np.arange(x.shape[0]), q_index)
    back = np.argsort(np.concatenate([v_index, q_index]))
    v, q = x[v_index], x[q_index]
    v = _euler(lambda v: rates(jnp.concatenate([v, q])[back])[v_index], v, step)
    q = _euler(lambda q: rates(jnp.concatenate([v, q])[back])[q_index], q, step)
    return jnp.concatenate([v, q])[back]


def _euler(rates: Rates, x: Float[Array, " states"], step: float) -> Float[Array, " states"]:
    term = diffrax.ODETerm(lambda t, x, args: rates(x))  # noqa: ARG005
    return diffrax.Euler().step(term, 0.0, step, x, None, None, made_jump=False)[0]
