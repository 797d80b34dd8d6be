"""What was learned, of a linear system: its slices, its noise and its length scales are known."""

from dataclasses import replace

import equinox as eqx
import numpy as np
import pytest

from gpssm.gp.kernels import Stationary
from gpssm.gp.positive import raw_positive
from gpssm.report import html, page, report_data
from gpssm.report.learned import Axis, learned_function, make_axes, noise_levels
from support_report import (
    INDUCING_STD,
    PROCESS,
    SENSOR,
    UNITS,
    A,
    B,
    make_data,
    make_given,
    make_run,
)

AXES = (
    Axis("level [cm]", 7.0, 30.0), Axis("flow", -3.0, 0.1), Axis("hidden state 1", 0.0, 1.0),
    Axis("pump [V]", 1.0, 2.0), Axis("valve", 5.0, 0.5),
)  # fmt: skip
MEANS, STDS = (np.array(each) for each in zip(*(axis[1:] for axis in AXES), strict=True))


@pytest.fixture(scope="module")
def run():
    return make_run()


@pytest.fixture(scope="module")
def data():
    return make_data()


def test_states_come_before_inputs_and_hidden_ones_have_no_unit(run, data):
    assert make_axes(run, data) == AXES


def test_slices_of_a_linear_system_are_lines_through_the_median(run, data):
    """f is the change per step; its values at z = 2 I have a known spread."""
    visited = np.random.default_rng(0).standard_normal((30, 5))
    visited[:, 4] = 0.25  # an axis along which nothing moved
    found = learned_function(run, data, visited)
    assert (found.axes, found.states) == (AXES, 3)
    low, high = visited.min(axis=0), visited.max(axis=0)
    room = 0.15 * (high - low)
    room[4] = 1e-3
    change = np.concatenate([A - np.eye(3), B], axis=1)
    for j in range(5):
        along = np.linspace(low[j] - room[j], high[j] + room[j], 41)
        points = np.tile(np.median(visited, axis=0), (41, 1))
        points[:, j] = along
        np.testing.assert_allclose(found.grids[j], MEANS[j] + STDS[j] * along)
        wanted = STDS[:3, None] * (change @ points.T)
        np.testing.assert_allclose(found.mean[:, j], wanted, rtol=2e-8, atol=1e-9)
        spread = np.sqrt(np.square(INDUCING_STD) @ np.square(points.T / 2.0))
        np.testing.assert_allclose(found.std[:, j], STDS[:3, None] * spread, rtol=1e-5)
    np.testing.assert_allclose(found.inducing, MEANS + 2.0 * STDS * np.eye(5))
    np.testing.assert_allclose(found.visited, MEANS + STDS * visited)


def test_noise_is_told_in_units_and_a_hidden_state_has_no_sensor(run, data):
    names, process, sensor = zip(*noise_levels(run, data), strict=True)
    assert names == ("level [cm]", "flow", "hidden state 1")
    np.testing.assert_allclose(process, np.sqrt(PROCESS) * STDS[:3])
    np.testing.assert_allclose(sensor, [*(np.sqrt(SENSOR) * STDS[:2]), np.nan])


def test_the_section_has_the_noise_and_the_length_scales(run, data):
    lengths = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [10.0, 20.0, 30.0, 40.0, 50.0]])
    kernel = Stationary(raw_positive(np.ones(2)), raw_positive(lengths), "rbf")
    smooth = replace(
        run, system=eqx.tree_at(lambda s: s.model.transition.gp.kernel, run.system, kernel)
    )
    given = make_given(smooth, data)
    scales = [
        ("level [cm]", "30, 300"), ("flow", "0.2, 2"), ("hidden state 1", "3, 30"),
        ("pump [V]", "8, 80"), ("valve", "2.5, 25"),
    ]  # fmt: skip
    table = html.table(("axis", "lengthscale of f"), scales)
    assert page._lengthscale_table(given) == table
    assert page._lengthscale_table(make_given(run, data)) == ""  # those of a line are none


def test_the_function_is_shown_around_the_states_of_all_forecasts(run, data, monkeypatch):
    given, asked, shown = make_given(run, data), [], []

    def states(self, u, y, *, particles):
        asked.append((u, y, particles))
        return np.stack([np.full((len(u), 3), 1.0), np.full((len(u), 3), 3.0)])

    def learned(run, data, visited):
        shown.append((run, data, visited))
        return learned_function(run, data, visited)

    monkeypatch.setattr("gpssm.Run.states", states)
    monkeypatch.setattr(report_data, "learned_function", learned)
    report_data.around_the_test(given)
    for (u, y, particles), each in zip(asked, data.test, strict=True):
        np.testing.assert_array_equal(u, each.u)
        np.testing.assert_array_equal(y, each.y[:2])
        assert particles == 20
    ((_, _, visited),) = shown
    inputs = np.concatenate([each.u for each in data.test])
    np.testing.assert_allclose(visited[:, 3:], (inputs - UNITS.u_mean) / UNITS.u_std)
    np.testing.assert_array_equal(visited[:, :3], 2.0)
