"""The simulated plants: a seed gives the same data for ever; the controller holds the pole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gpssm.data import simulators
from gpssm.data.benchmarks import cart

# A benchmark is the same data in every version: weighted means of 500 rows with seed 3. The kink
# is chaotic, so that only its first rows do not depend on how a program is compiled.
RECORDS = {
    simulators.dubins: ([0.130538, -0.034721], [0.790857, 0.262671]),
    simulators.dubins_full: ([0.130538, -0.034721], [0.791104, 0.262988, -0.011198, 0.04287]),
    simulators.spring: ([-0.185476], [-0.183909]),
    simulators.kink: ([], [-0.333439]),
    simulators.two_tanks: ([3.596539], [4.910604]),
    cart.cart_pole: ([0.099277], [0.026462, 0.001703]),
}


@pytest.mark.parametrize("simulator", RECORDS, ids=lambda each: each.__name__)
def test_a_seed_gives_the_same_record_in_every_version(simulator):
    data = simulator(jax.random.key(3), 500, 400)
    weights = np.cos(np.arange(500))[:, None] + 0.5
    for kind, wanted in zip("uy", RECORDS[simulator], strict=True):
        values = weights * np.concatenate([getattr(each, kind) for each in data])
        rows = 30 if simulator is simulators.kink else 500
        np.testing.assert_allclose(values[:rows].mean(axis=0), wanted, atol=2e-6)
    assert [each.part for each in data] == ["train", "test"]
    assert len(data.train[0]) == 400


def test_the_cart_moves_as_its_differential_equation_says():
    start, force = np.array([0.1, 0.2, 0.6, -0.5]), 3.0

    def rates(_, x):
        friction = float(cart.rail_friction(jnp.asarray(x[2])))
        return np.asarray(cart.cart_pole_rates(jnp.asarray(x), jnp.asarray(force + friction)))

    exact = solve_ivp(rates, (0, cart.STEP), start, rtol=1e-10, atol=1e-12).y[:, -1]
    moved = cart._advance(jnp.asarray(start), jnp.asarray(force))
    np.testing.assert_allclose(moved, exact, atol=2e-7)


def test_friction_of_the_rail_brakes():
    speeds = jnp.asarray([-2.0, 0.0, 2.0])
    np.testing.assert_allclose(jax.vmap(cart.rail_friction)(speeds), [2.5, 0.0, -2.5], atol=1e-6)


def test_a_seed_means_one_data_set_whatever_the_precision_flag():
    with jax.enable_x64(False):
        single = cart.cart_pole(jax.random.key(5), 300, 200)
    double = cart.cart_pole(jax.random.key(5), 300, 200)
    other = cart.cart_pole(jax.random.key(6), 300, 200)
    for a, b, c in zip(single, double, other, strict=True):
        np.testing.assert_array_equal(a.y, b.y)
        assert np.any(a.y != c.y)


def test_the_cart_stays_on_its_rail_and_the_pole_stays_up():
    data = cart.cart_pole(jax.random.key(0))
    y = np.concatenate([each.y for each in data])
    assert np.abs(y[:, 1]).max() < 0.5
    assert 0.2 < y[:, 0].std() < 2.0


def test_the_pole_falls_without_a_controller():
    x = jnp.asarray([0.0, 0.01, 0.0, 0.0])
    for _ in range(50):
        x = x + cart.STEP * cart.cart_pole_rates(x, jnp.zeros(()))
    assert float(x[1]) > 0.1
