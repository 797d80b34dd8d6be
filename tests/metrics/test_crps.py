"""CRPS against its definition as an integral, brute force and known special cases."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from gpssm import Forecast
from gpssm.metrics import metrics
from gpssm.metrics.formulas.crps import crps


def sample(particles, y, noise):
    particles = np.asarray(particles, float)[:, None, None]
    return Forecast(particles, np.array([noise])).sample(np.array([float(y)]))


@pytest.mark.parametrize("count", [1, 2, 5, 8])
@pytest.mark.parametrize("y", [-2.0, 0.4, 7.0])
def test_crps_is_the_integral_of_the_squared_difference_of_distributions(count, y):
    particles = np.random.default_rng(count).choice([-3.0, 1.0, 4.0], count) + np.arange(count) / 9
    noise = 0.6

    def cdf(x):
        return stats.norm.cdf(x, particles, noise).mean()

    below, _ = integrate.quad(lambda x: cdf(x) ** 2, -30, y, limit=500, points=[-3, 1])
    above, _ = integrate.quad(lambda x: (cdf(x) - 1.0) ** 2, y, 40, limit=500, points=[y + 3])
    assert crps(sample(particles, y, noise)).item() == pytest.approx(below + above, rel=1e-6)


def test_crps_of_one_gaussian_is_the_closed_form():
    z = (2.5 - 1.0) / 0.7
    exact = 0.7 * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert crps(sample([1.0], 2.5, 0.7)).item() == pytest.approx(exact, rel=1e-12)


def test_crps_is_that_of_brute_force_draws():
    rng, count = np.random.default_rng(3), 200_000
    particles = rng.normal(0.0, 2.0, 7)
    one, other = (rng.choice(particles, count) + 0.5 * rng.standard_normal(count) for _ in range(2))
    terms = np.abs(one - 1.5) - 0.5 * np.abs(one - other)
    error = terms.std() / np.sqrt(count)
    assert abs(crps(sample(particles, 1.5, 0.5)).item() - terms.mean()) < 5.0 * error


def test_a_certain_forecast_has_the_absolute_error():
    assert crps(sample([2.0, 2.0], 5.0, 1e-9)).item() == pytest.approx(3.0, rel=1e-6)


def test_the_true_distribution_has_the_lowest_mean():
    y = np.random.default_rng(0).standard_normal((4000, 1))
    scores = [
        Forecast(np.zeros((1, 4000, 1)), np.array([std])).score(y)["crps"][0]
        for std in (0.5, 1.0, 2.0)
    ]
    assert scores[1] < min(scores[0], scores[2])


def test_jax_and_numpy_agree():
    rng = np.random.default_rng(1)
    found = Forecast(rng.standard_normal((6, 9, 2)), np.array([0.3, 0.5])).sample(
        rng.standard_normal((9, 2))
    )
    traced = type(found)(*map(jnp.asarray, found))
    np.testing.assert_allclose(crps(traced), crps(found), rtol=1e-10)


def test_it_is_in_the_table():
    assert metrics()["crps"].selects
