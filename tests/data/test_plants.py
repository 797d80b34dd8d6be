"""The simulated cart and pole: a seed gives one data set, and the controller holds the pole."""

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.data.benchmarks import cart


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
