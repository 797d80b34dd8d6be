"""The integration of equations of motion, against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.model import integrate
from gpssm.model.integrate import EULER, RK4


@pytest.mark.parametrize(("solver", "order"), [("rk4", 4), ("euler", 1), ("symplectic", 1)])
def test_the_error_of_a_solver_falls_with_its_order(solver, order):
    """ẍ = −x: halving the step divides the error by two to the order."""
    swing = lambda x: jnp.stack([x[1], -x[0]])  # noqa: E731
    errors = []
    for steps in (20, 40):
        x = jnp.asarray([1.0, 0.0])
        for _ in range(steps):
            x = integrate(swing, x, 1.0 / steps, solver, positions=(0,))
        errors.append(np.linalg.norm(x - np.array([np.cos(1.0), -np.sin(1.0)])))
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), order, atol=0.15)


def test_the_symplectic_form_keeps_the_energy_of_a_swing_where_euler_does_not():
    swing = lambda x: jnp.stack([x[1], -x[0]])  # noqa: E731

    def final_energy(solver):
        step = lambda i, x: integrate(swing, x, 0.1, solver, positions=(0,))  # noqa: E731
        return float(jnp.sum(jax.lax.fori_loop(0, 1000, step, jnp.asarray([1.0, 0.0])) ** 2))

    assert abs(final_energy("symplectic") - 1.0) < 0.1
    assert final_energy("euler") > 1e3


@pytest.mark.parametrize(("tableau", "order"), [(RK4, 4), (EULER, 1)])
def test_a_tableau_meets_the_conditions_of_its_order_and_no_higher_one(tableau, order):
    """One condition for each rooted tree (Hairer, Nørsett and Wanner, II.2)."""
    b = np.array(tableau.b)
    a = np.zeros((len(b), len(b)))
    for i, row in enumerate(tableau.a, start=1):
        a[i, : len(row)] = row
    c = a.sum(axis=1)
    residuals = {
        1: [b.sum() - 1],
        2: [b @ c - 1 / 2],
        3: [b @ c**2 - 1 / 3, b @ a @ c - 1 / 6],
        4: [b @ c**3 - 1 / 4, b @ (c * (a @ c)) - 1 / 8,
            b @ a @ c**2 - 1 / 12, b @ a @ a @ c - 1 / 24],
        5: [b @ c**4 - 1 / 5],
    }  # fmt: skip
    met = [p for p, each in residuals.items() if np.allclose(each, 0.0, atol=1e-15)]
    assert met == list(range(1, order + 1))


@pytest.mark.parametrize(
    ("solver", "growth"),
    [("rk4", lambda z: 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24), ("euler", lambda z: 1 + z)],
)
def test_one_step_of_a_linear_ode_is_the_truncated_exponential(solver, growth):
    """ẋ = A x: an explicit method of s = p stages gives the Taylor series of exp(hA) up to p."""
    A = np.array([[0.3, -2.0], [1.5, -0.7]])
    values, vectors = np.linalg.eig(0.1 * A)
    oracle = (vectors @ np.diag(growth(values)) @ np.linalg.inv(vectors)).real @ [1.0, -2.0]
    ours = integrate(lambda x: jnp.asarray(A) @ x, jnp.asarray([1.0, -2.0]), 0.1, solver)
    np.testing.assert_allclose(ours, oracle, rtol=1e-13)


def test_a_symplectic_step_moves_the_velocities_first():
    """v⁺ = v − h sin q, q⁺ = q + h v⁺, with the states in another order than their halves."""
    q, v, h = np.array([0.4, -1.1]), np.array([2.0, 0.3]), 0.05
    swing = lambda x: jnp.stack([x[1], -jnp.sin(x[0]), x[3], -jnp.sin(x[2])])  # noqa: E731
    x = jnp.asarray([q[0], v[0], q[1], v[1]])
    after = integrate(swing, x, h, "symplectic", positions=(0, 2))
    new_v = v - h * np.sin(q)
    np.testing.assert_allclose(after[jnp.array([1, 3])], new_v, rtol=1e-14)
    np.testing.assert_allclose(after[jnp.array([0, 2])], q + h * new_v, rtol=1e-14)
