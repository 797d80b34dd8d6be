"""Each check at its limit: what is just told, what is just not, and in which words."""

import numpy as np
import pytest

from gpssm import Dataset
from gpssm.data import preflight as checks
from gpssm.data.preflight import preflight

ROWS = 400


def noise(rows=ROWS, seed=0):
    return np.random.default_rng(seed).standard_normal(rows)


def moving(rows=ROWS):
    """A sum of sines that no check remarks on."""
    time = np.arange(rows)
    return np.sin(0.37 * time) + np.sin(0.11 * time)


def texts(y, u=None, train=None, step=1.0):
    u = moving(len(y)) if u is None else u
    data = Dataset.from_arrays(y, u, sampling_time=step)
    return [each.text for each in preflight(data if train is None else data.split_at(train))]


def changed(values, rows, value):
    copy = np.array(values, dtype=float)
    copy[rows] = value
    return copy


# ---------------------------------------------------------------------- words and numbers


def test_the_remarks_about_a_channel_in_words():
    y = moving()
    assert texts(changed(y, slice(0, 300), np.nan), train=300) == [
        "y is never measured in the training part",
        "the longest gap of an output is 300 rows",
    ]
    assert texts(np.full(ROWS, 3.0)) == ["y is constant in the training part: leave it out"]
    assert texts(300.0 + 1e-5 * y) == [
        "y is nearly constant in the training part: nothing can be learned about it"
    ]
    assert texts(changed(y, [4, 9, 300], -999.0)) == [
        "y is -999 in 3 rows, far from all its other values: if it marks missing values, empty "
        "these cells"
    ]
    assert texts(changed(y, [7], 60.0)) == [
        "y has an outlier, more than 8 robust spreads from the median, in training row 8: check it"
    ]
    assert texts(changed(y, [7, 100], [60.0, -50.0])) == [
        "y has 2 outliers, more than 8 robust spreads from the median, the first in training row "
        "8: check it"
    ]


@pytest.mark.filterwarnings("error")
def test_nothing_is_divided_by_the_spread_of_zeros():
    assert texts(np.zeros(ROWS)) == ["y is constant in the training part: leave it out"]


def test_the_remarks_about_a_record_in_words():
    assert texts(changed(moving(), [7], np.nan)) == ["the longest gap of an output is 1 row"]
    assert texts(moving(99)) == ["99 rows to train on are few: expect wide prediction intervals"]
    assert texts(moving(200), train=99)[-1].startswith("99 rows to train on are few")
    u = changed(np.tile([0.0, 1.0], 200), slice(300, 320), 1.5)
    assert texts(moving(), u, train=300) == [
        "20 % of the test values of u lie outside of the training range: there the model "
        "extrapolates"
    ]


def test_inputs_are_looked_at_after_outputs():
    data = Dataset.from_arrays(np.ones(ROWS), np.ones(ROWS), sampling_time=1.0)
    assert [(each.check, each.channel) for each in preflight(data)] == [
        ("constant", "y"),
        ("constant", "u"),
    ]


# ---------------------------------------------------------------------- still and flat


def test_a_channel_is_flat_below_a_millionth_of_its_mean():
    square = np.tile([-1.0, 1.0], 50)  # of standard deviation 1
    for mean in (1.0, -50.0):
        assert checks.is_flat(mean + 0.99e-6 * abs(mean) * square)
        assert not checks.is_flat(mean + 1.01e-6 * abs(mean) * square)
    assert not checks.is_flat(np.zeros(9))


def test_an_output_is_still_if_it_has_one_value_in_more_than_99_of_100_rows():
    y = changed(np.ones(ROWS), slice(0, 4), [5.0, 6.0, 7.0, 8.0])
    assert checks.still_share(y) == 0.99
    assert not any("nearly constant" in text for text in texts(y))
    assert any("nearly constant" in text for text in texts(changed(y, [3], 1.0)))


# ---------------------------------------------------------------------- sentinels


@pytest.mark.parametrize(
    ("value", "is_code"),
    [
        (99.0, False),
        (999.0, True),
        (-999.0, True),
        (9999.0, True),
        (999.5, False),
        (998.0, False),
        (9989.0, False),
        (32767.0, True),
        (-32768.0, True),
        (32769.0, False),
        (65535.0, True),
        (2147483647.0, True),
        (2147483648.0, True),
        (4294967295.0, True),
        (9.9e19, False),
        (1e20, True),
        (-1e30, True),
    ],
)
def test_usual_marks_of_missing_values(value, is_code):
    assert checks.is_code(value) is is_code


def test_a_sentinel_is_three_widths_away_from_the_rest():
    """The middle 90 % of a uniform channel from 0 to 10 are 9 wide, from 0.5 to 9.5."""
    rest = np.linspace(0.0, 10.0, 10_001)
    for sign in (1.0, -1.0):
        near, far = (sign * (rest - 5.0), np.full(3, sign * 31.4)), np.full(3, sign * 31.6)
        assert checks.sentinels(np.concatenate(near), is_input=False) == {}
        found = checks.sentinels(np.concatenate([near[0], far]), is_input=False)
        assert found == {sign * 31.6: 3}
        assert checks.sentinels(np.concatenate([near[0], far]), is_input=True) == {}
        assert checks.sentinels(np.concatenate([near[0], far[:2]]), is_input=False) == {}


def test_a_code_beside_a_constant_is_a_sentinel_and_a_second_level_is_none():
    level = np.full(50, 2.0)
    assert checks.sentinels(np.append(level, -999.0), is_input=False) == {-999.0: 1}
    assert checks.sentinels(np.append(level, np.full(5, 7.0)), is_input=False) == {}
    assert checks.sentinels(np.full(5, -999.0), is_input=False) == {}


def test_at_most_five_sentinels_are_listed():
    codes = [-9999.0, -999.0, 999.0, 9999.0, 99999.0, 999999.0]
    found = checks.sentinels(np.append(noise(), codes), is_input=False)
    assert list(found) == [-9999.0, -999.0, 999999.0, 99999.0, 9999.0]


# ---------------------------------------------------------------------- outliers


def test_an_outlier_is_far_from_its_neighbours_too():
    """A level of six rows has five rows of its own around each; of five rows it has four."""
    y = changed(np.tile([-1.0, 0.0, 1.0], 100), slice(100, 106), 60.0)
    assert not checks.outliers(y, y).any()
    y = changed(y, [105], 0.0)
    assert np.flatnonzero(checks.outliers(y, y)).tolist() == [100, 101, 102, 103, 104]


def test_a_channel_that_mostly_stands_has_no_outliers():
    y = changed(np.ones(50), [7], 60.0)
    assert not checks.outliers(y, y).any()


def test_the_limit_of_outliers_is_eight_spreads_of_the_median_deviation():
    y = np.tile([-1.0, 0.0, 1.0], 100)  # of a median deviation of one
    for sign in (1, -1):
        for factor, told in ((7.99, False), (8.01, True)):
            values = changed(y, [50], sign * factor * 1.4826)
            assert checks.outliers(values, y).any() == told


@pytest.mark.parametrize(("rows", "most"), [(200, 3), (500, 5)])
def test_more_outliers_than_one_in_a_hundred_are_how_a_channel_moves(rows, most):
    for count, told in ((most, True), (most + 1, False)):
        y = changed(moving(rows), 40 + 20 * np.arange(count), 100.0 + np.arange(count))
        assert any("outlier" in text for text in texts(y)) is told


# ---------------------------------------------------------------------- sampling


def test_the_change_is_relative_to_the_spread_and_without_the_steady_rise():
    y = np.arange(50.0)
    assert checks.change([y], 5) == pytest.approx(0.0, abs=1e-12)
    square = np.tile([0.0, 1.0], 25)
    assert checks.change([square, square], 1) == pytest.approx(2.0, rel=1e-3)
    assert checks.change([square], 50) == np.inf
    assert checks.change([np.where(np.arange(50) % 2, np.nan, 1.0)], 1) == np.inf


@pytest.mark.parametrize(("rows", "factor"), [(2000, 20), (1999, None), (5000, 50), (4999, 20)])
def test_decimation_leaves_a_hundred_rows(rows, factor):
    assert checks.decimation([[np.sin(np.arange(rows) / 3000.0)]]) == factor


def test_the_shortest_output_counts_for_decimation():
    slow = np.sin(np.arange(10_000) / 3000.0)
    assert checks.decimation([[slow]]) == 100
    assert checks.decimation([[slow[:5000], slow[5000:]], [slow[:6000]]]) == 50
    assert checks.decimation([]) is None


def test_an_input_moves_within_the_rows_in_which_it_usually_does():
    u = np.repeat(noise(60), 20)
    assert checks.changes_within([u], 21)
    assert not checks.changes_within([u], 20)
    assert not checks.changes_within([np.ones(50)], 20)
    assert not checks.changes_within([np.arange(50.0) + 1e-4 * noise(50)], 20)  # noise of a ramp


def test_outputs_are_unrelated_if_no_autocorrelation_is_a_tenth():
    white = noise(20_000)
    for lag in (1, 10):
        for weight, unrelated in ((0.07, True), (0.14, False)):
            y = white.copy()
            y[lag:] += weight * white[:-lag]
            assert checks.is_unrelated([y]) is unrelated
    y = white.copy()
    y[11:] += white[:-11]  # beyond the ten rows that are looked at
    assert checks.is_unrelated([y])


def test_short_records_may_have_larger_autocorrelations_by_chance():
    """3/√n is a fifth of n = 225 pairs."""
    white = noise(235, seed=3)
    for weight, unrelated in ((0.0, True), (0.35, False)):
        y = white.copy()
        y[1:] += weight * white[:-1]
        assert checks.is_unrelated([y]) is unrelated
    assert checks.is_unrelated([noise(110)])
    assert not checks.is_unrelated([noise(109)])  # 99 pairs of rows ten apart


# ---------------------------------------------------------------------- ranges and gaps


def test_outputs_that_are_constant_or_never_measured():
    y = np.stack([np.zeros(9), np.arange(9.0), np.full(9, np.nan)], axis=1)
    data = Dataset.from_arrays([y, np.ones((9, 3))], output_names=["a", "b", "c"])
    parts = data.split_experiments([0])
    assert checks.constant_outputs(parts.train) == ["a", "c"]


def test_the_range_is_that_of_all_training_records():
    y = [np.array([0.0, 1.0, 2.0]), np.array([8.0, 9.0, 10.0]), np.array([-0.19, 10.19, 5.0, 11.0])]
    data = Dataset.from_arrays(y, y).split_experiments([0, 1])
    assert checks.inputs_outside(data.train, data.test) == {"u": 0.25}
    assert checks.outputs_outside(data.train, data.test) == {"y": 0.25}
    data = Dataset.from_arrays([*y[:2], y[2] - [0.02, 0, 0, 6]]).split_experiments([0, 1])
    assert checks.outputs_outside(data.train, data.test) == {"y": 0.25}


def test_a_gap_may_stand_at_either_end():
    nan = np.nan
    assert checks.longest_gap(np.array([nan, nan, 1.0, nan])) == 2
    assert checks.longest_gap(np.array([1.0, nan, nan, nan])) == 3
    assert checks.longest_gap(np.array([1.0, 2.0])) == 0
