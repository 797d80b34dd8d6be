"""Formulas of the steps that can be undone, and whether two parts went through the same ones."""

import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data.steps import block_means, check_same_steps, fill_rows, fit_trend


def test_a_trend_is_the_polynomial_that_made_the_outputs():
    rows = np.arange(10, 40, 3)
    y = np.stack([2.0 - 0.5 * rows + 0.01 * rows**2, 7.0 * np.ones(10)], axis=1)
    y[[2, 5], 0], y[:7, 1] = np.nan, np.nan  # three values of a constant are enough
    trend = fit_trend(rows, y, 2, ["a", "b"])
    later = np.array([0, 100])
    wanted = np.stack([2.0 - 0.5 * later + 0.01 * later**2, [7.0, 7.0]], axis=1)
    np.testing.assert_allclose(trend(later), wanted, rtol=1e-8)
    assert trend.scale == 37.0


def test_a_polynomial_needs_more_values_than_its_order():
    y = np.array([[1.0, 1.0], [2.0, np.nan], [4.0, np.nan]])
    with pytest.raises(DataError, match="got 1 measured values of output 'b', expected more than"):
        fit_trend(np.arange(3), y, 1, ["a", "b"])
    np.testing.assert_allclose(fit_trend(np.arange(3), y[:, :1], 2, ["a"])(np.arange(3)), y[:, :1])


def test_the_last_block_may_be_shorter():
    u = np.array([[1.0, 10.0], [3.0, 20.0], [8.0, 60.0]])
    assert block_means(u, 2).tolist() == [[2.0, 15.0], [8.0, 60.0]]
    assert block_means(u, 3).tolist() == [[4.0, 30.0]]
    assert block_means(u, 1).tolist() == u.tolist()


def test_rows_in_between_lie_on_straight_lines_for_each_draw_and_output():
    values = np.array([[[0.0, 10.0], [3.0, 40.0], [9.0, 40.0]]])
    rows, filled = fill_rows(np.array([4, 7, 9]), np.concatenate([values, -values]))
    assert rows.tolist() == [4, 5, 6, 7, 8, 9]
    wanted = np.array([[0, 1, 2, 3, 6, 9], [10, 20, 30, 40, 40, 40]], dtype=float).T
    np.testing.assert_allclose(filled, [wanted, -wanted], atol=1e-12)


@pytest.mark.parametrize("step", ["decimate(2)", "resample(0.2)"])
def test_how_a_sampling_time_came_about_is_free_where_both_are_known(step):
    check_same_steps(([step], (), 0.2), ([], (), 0.2))
    for ours, theirs in ((None, 0.2), (0.2, None), (None, None)):
        with pytest.raises(DataError, match="the very same as in training, none"):
            check_same_steps(([], (), ours), ([step], (), theirs))
    check_same_steps(([step], (), None), ([step], (), None))


def test_a_trend_is_the_same_object_in_both_parts():
    rows, y = np.arange(5), np.arange(5.0)[:, None]
    one, other = (fit_trend(rows, y, 1, ["y"]) for _ in range(2))
    check_same_steps((["detrend(1)"], [one], 0.1), (["detrend(1)"], (one,), 0.1))
    with pytest.raises(DataError, match=r"got detrend\(1\), expected .* training, detrend\(1\)"):
        check_same_steps((["detrend(1)"], [one], 0.1), (["detrend(1)"], [other], 0.1))
    with pytest.raises(DataError, match=r"got detrend\(1\), expected .* detrend\(0\), decimate"):
        check_same_steps((["detrend(0)", "decimate(2)"], [], None), (["detrend(1)"], [], None))
