"""The laws of the simulated systems, their noise, and that a seed means one data set."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from gpssm.base.errors import DataError
from gpssm.data import simulate, simulators

KEY = jax.random.key(11)


@pytest.fixture(scope="module")
def drive():
    return simulators.dubins_trajectory(KEY, 30000)


def car(x, speed, curvature):
    with jax.enable_x64(True):
        return np.asarray(
            simulators.dubins_step(jnp.array(x), jnp.array(speed), jnp.array(curvature))
        )


def assert_variance(samples, variance):
    """Within five standard errors of a Gaussian's sample variance, and centred."""
    count = samples.size
    assert abs(samples.var() / variance - 1) < 5 * np.sqrt(2 / count)
    assert abs(samples.mean()) < 5 * np.sqrt(variance / count)


# ---------------------------------------------------------------------- Dubins car


@given(st.floats(-3, 3), st.floats(0.01, 0.5), st.floats(-1.5, 1.5))
@settings(max_examples=30, deadline=None)
def test_the_car_moves_along_the_exact_arc(heading, speed, curvature):
    """Against the differential equation of the arc, integrated numerically."""
    moved = car([0.3, -0.7, heading], speed, curvature)
    arc = solve_ivp(
        lambda s, p: [np.sin(p[2]), np.cos(p[2]), curvature if abs(curvature) >= 1e-5 else 0.0],
        (0, speed),
        [0.3, -0.7, heading],
        rtol=1e-10,
        atol=1e-12,
    )
    np.testing.assert_allclose(moved, arc.y[:, -1], atol=1e-8)


def test_the_arc_has_the_radius_of_its_curvature_and_closes():
    x = np.array([1.0, 2.0, 0.4])
    centre = x[:2] + np.array([np.cos(0.4), -np.sin(0.4)]) / 0.8
    for _ in range(10):
        x = car(x, 2 * np.pi / 0.8 / 10, 0.8)
        assert np.hypot(*(x[:2] - centre)) == pytest.approx(1 / 0.8)
    np.testing.assert_allclose(x, [1.0, 2.0, 0.4 + 2 * np.pi], atol=1e-12)


def test_below_the_threshold_the_car_drives_straight():
    for curvature in (0.0, 9e-6, -9e-6):
        np.testing.assert_allclose(
            car([0.0, 0.0, 0.5], 0.4, curvature), [0.4 * np.sin(0.5), 0.4 * np.cos(0.5), 0.5]
        )
    for curvature in (1e-5, -1e-5, 1.1e-5):
        turned = car([0.0, 0.0, 0.5], 0.4, curvature)[2]
        assert turned == pytest.approx(0.5 + 0.4 * curvature, abs=1e-15)


def test_process_and_observation_noise_have_the_stated_variances(drive):
    with jax.enable_x64(True):
        exact = jax.vmap(simulators.dubins_step)(
            drive.states[:-1], drive.u[:-1, 0], drive.u[:-1, 1]
        )
    error = drive.states[1:] - np.asarray(exact)
    assert_variance(error[:, :2], 1e-5)
    np.testing.assert_array_equal(error[:, 2], 0.0)
    for data, columns in ((simulators.dubins(KEY), 2), (simulators.dubins_full(KEY), 4)):
        y = np.concatenate([data.train[0].y, data.test[0].y])
        heading = drive.states[:, 2:]
        truth = np.concatenate([drive.states[:, :2], np.sin(heading), np.cos(heading)], axis=1)
        assert_variance(y - truth[:, :columns], 1e-4)
        np.testing.assert_array_equal(data.train[0].u, drive.u[:25000])


def test_inside_the_radius_the_inputs_are_those_of_the_paper(drive):
    inside = np.hypot(*drive.states[:, :2].T) < 5
    speed, curvature = drive.u[inside].T
    count = inside.sum()
    for seen, share in (((speed == 0).mean(), 1 / 6), ((curvature == 0).mean(), 0.3)):
        assert abs(seen - share) < 5 * np.sqrt(share * (1 - share) / count)
    assert (speed.min(), speed.max() <= 0.5) == (0.0, True)
    moving = speed[speed > 0]
    assert abs(moving.mean() - 0.25) < 5 * 0.5 / np.sqrt(12 * moving.size)
    assert np.abs(curvature).max() <= 1.5
    assert abs(curvature.mean()) < 5 * curvature.std() / np.sqrt(count)


def excursions(drive):
    outside = np.hypot(*drive.states[:, :2].T) >= 5
    edges = np.flatnonzero(np.diff(outside.astype(int)))
    starts = edges[~outside[edges]] + 1
    ends = [edges[edges >= s][0] + 1 for s in starts if (edges >= s).any()]
    return list(zip(starts, ends, strict=False))


def test_outside_one_turning_command_is_held_with_a_decaying_extra(drive):
    runs = excursions(drive)
    assert len(runs) > 50
    signs = []
    for start, end in runs:
        speed, curvature = drive.u[start:end].T
        assert np.ptp(speed) == 0.0
        assert 0.2 <= speed[0] <= 0.5
        assert 0.5 <= abs(curvature[0]) <= 0.8
        decay = 0.8 + 0.2 / np.arange(1, end - start + 1)
        np.testing.assert_allclose(curvature, curvature[0] * decay)
        signs.append(np.sign(curvature[0]))
    assert abs(np.mean(signs)) < 5 / np.sqrt(len(signs))


def test_the_car_always_comes_back(drive):
    assert np.hypot(*drive.states[:, :2].T).max() < 5 + 2 / (0.8 * 0.5) + 0.5
    # from the border and back is at most one circle, 2π/(0.8·0.5) long, at speed 0.2 or more ...
    longest = max(end - start for start, end in excursions(drive))
    # ... and a drifting circle may need a few of them
    assert longest < 10 * 2 * np.pi / (0.8 * 0.5) / 0.2


# ---------------------------------------------------------------------- spring, kink, tanks


def test_the_spring_is_the_linear_system_behind_a_tanh():
    data = simulators.spring(KEY)
    u = np.concatenate([data.train[0].u, data.test[0].u])[:, 0]
    y = np.concatenate([data.train[0].y, data.test[0].y])[:, 0]
    levels = u.reshape(-1, 100)
    assert (np.ptp(levels, axis=1) == 0).all()
    assert np.abs(levels).max() <= 2
    assert len(set(levels[:, 0])) == 100
    x, truth = np.array([1.0, 0.0, 0.0]), []
    for force in np.tanh(2 * u):
        truth.append(x[0])
        position, velocity, acceleration = x
        x = np.array(
            [
                position + 0.01 * velocity,
                velocity + 0.01 * acceleration,
                (force - position * 1.0 - 0.05 * velocity) / 0.002,
            ]
        )
    assert_variance(y - np.array(truth), 1e-4)
    assert data.sampling_time == 0.01


def test_the_kink_has_the_literature_s_shape_and_noise():
    f = simulators.kink_function
    assert float(f(jnp.array(-0.2))) == pytest.approx(0.8, abs=1e-6)
    assert float(f(jnp.array(0.0))) == pytest.approx(0.8 + 0.2 * (1 - 2.5), abs=1e-6)
    assert float(f(jnp.array(3.0))) == pytest.approx(
        0.8 + 3.2 * (1 - 5 / (1 + np.exp(-6))), rel=1e-5
    )
    y = simulators.kink(KEY, 20000, 10000, observation_variance=1e-12).train[0].y
    assert_variance(y[1:] - np.asarray(f(jnp.asarray(y[:-1]))), 0.05)
    noisy = simulators.kink(KEY, 20000, 10000, observation_variance=0.3).train[0].y
    assert_variance(noisy - y, 0.3)


def test_the_tanks_settle_where_inflow_is_outflow():
    levels = jax.lax.fori_loop(
        0,
        4000,
        lambda _, h: h + 0.25 * simulators.tank_rates(h, jnp.array(8.0)),
        jnp.array([3.0, 20.0]),
    )
    root = (3.3 * 8.0 / 0.178) ** 2 / (2 * 981.0)  # Torricelli: h = (q/a)²/(2g)
    np.testing.assert_allclose(np.asarray(levels), root, rtol=0.02)
    empty = simulators.tank_rates(jnp.zeros(2), jnp.array(0.0))
    np.testing.assert_allclose(np.asarray(empty), 0.0, atol=1e-6)
    data = simulators.two_tanks(KEY)
    y = np.concatenate([data.train[0].y, data.test[0].y])
    assert y.min() > -0.5
    assert y.max() < 31
    assert y.std() > 3
    assert data.output_units == ("cm",)


# ---------------------------------------------------------------------- one's own simulator


def test_any_step_function_becomes_a_data_set():
    def step(key, x, u):
        return 0.5 * x + u, jnp.append(x, 10.0 * u[0])

    u = np.arange(5.0)
    data = simulate(KEY, step, u, [4.0], sampling_time=0.1, name="mine")
    x = [4.0]
    for value in u:
        x.append(0.5 * x[-1] + value)
    np.testing.assert_array_equal(data[0].y, np.stack([x[:-1], 10.0 * u], axis=1))
    np.testing.assert_array_equal(data[0].u[:, 0], u)
    assert (data.name, data.sampling_time) == ("mine", 0.1)


def test_a_step_function_gets_floating_point_and_starts_where_it_is_told():
    kinds = []

    def step(key, x, u):
        kinds.append((x.dtype, u.dtype, u.shape))
        return jnp.stack([x[1], x[0] + u[0] + u[1]]), x

    data = simulate(KEY, step, np.array([[1, 2], [3, 4], [5, 6]]), [10, 20], name="two")
    assert set(kinds) == {(np.dtype(float), np.dtype(float), (2,))}
    assert data[0].y.tolist() == [[10, 20], [20, 13], [13, 27]]
    assert data[0].u.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.sampling_time is None


def test_every_step_has_a_key_of_its_own():
    data = simulate(KEY, lambda key, x, u: (x, jax.random.normal(key)), None, 0.0, steps=4000)
    assert len(np.unique(data[0].y)) == 4000
    assert_variance(data[0].y, 1.0)


def test_a_simulation_that_explodes_is_refused():
    with pytest.raises(DataError, match=r"not finite after step \d+.*unstable"):
        simulate(KEY, lambda key, x, u: (x * 1e100, 0.0), None, 1.0, steps=9)
    both = jnp.array([1.0, 1e100])
    with pytest.raises(DataError, match=r"simulation 'twins': .* after step 3"):
        simulate(KEY, lambda key, x, u: (x * both, 0.0), None, [1.0, 1.0], steps=9, name="twins")
    with pytest.raises(DataError, match="neither u nor steps"):
        simulate(KEY, lambda key, x, u: (x, x), None, 1.0)


# ---------------------------------------------------------------------- seeds, precision, speed

ALL = [
    simulators.dubins,
    simulators.dubins_full,
    simulators.spring,
    simulators.kink,
    simulators.two_tanks,
]


@pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
def test_a_seed_means_one_data_set_whatever_the_precision_flag(make):
    with jax.enable_x64(False):
        single = make(jax.random.key(5), 300, 200)
    with jax.enable_x64(True):
        double = make(jax.random.key(5), 300, 200)
    other = make(jax.random.key(6), 300, 200)
    for a, b in zip(single, double, strict=True):
        np.testing.assert_array_equal(a.y, b.y)
        np.testing.assert_array_equal(a.u, b.u)
    assert not np.array_equal(single.train[0].y, other.train[0].y)


@pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
def test_thirty_thousand_steps_take_less_than_a_second(make):
    make(jax.random.key(0), 30000)
    start = time.perf_counter()
    make(jax.random.key(1), 30000)
    assert time.perf_counter() - start < 1.0
