"""Irregular and fast samples at equal steps, compared with formulas of the signals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gpssm import DataError
from gpssm import data as gd
from gpssm.data.stamps import Stamps
from gpssm.data.transforms.resample import resample_rows


def ticks(count=4000, usual=0.01, seed=0):
    """Times of a clock with steps of 9 to 11 ms."""
    steps = usual * np.random.default_rng(seed).uniform(0.9, 1.1, count)
    return np.cumsum(steps) - steps[0]


def outputs_at(step, signal, times=None):
    """Rows and outputs of a signal that is sampled at these times."""
    times = ticks() if times is None else times
    made = resample_rows(times, np.zeros((len(times), 0)), signal(times)[:, None], step)
    return made.times, made.y[:, 0]


# ---------------------------------------------------------------------- outputs


@pytest.mark.parametrize("step", [0.004, 0.01, 0.02, 0.05, 0.037])
@pytest.mark.parametrize("slope", [0.0, -3.0])
def test_constant_and_linear_outputs_are_exact(step, slope):
    rows, y = outputs_at(step, lambda t: 7.0 + slope * t)
    known = ~np.isnan(y)
    assert_allclose(y[known], 7.0 + slope * rows[known], rtol=1e-9)
    assert known.mean() > (0.99 if step >= 0.01 else 0.3)


def test_a_band_limited_signal_keeps_its_values():
    """The mean over a step damps a frequency f by sinc(f·dt), and shifts nothing."""
    step, f = 0.05, 1.0
    rows, y = outputs_at(step, lambda t: np.sin(2 * np.pi * f * t))
    expected = np.sinc(f * step) * np.sin(2 * np.pi * f * rows)
    assert_allclose(y[1:-1], expected[1:-1], atol=0.01)


@pytest.mark.parametrize("f", [12.0, 15.0, 20.0, 33.0])
def test_a_sinusoid_above_the_new_nyquist_frequency_is_attenuated(f):
    step = 0.1  # Nyquist frequency: 5 Hz
    _, y = outputs_at(step, lambda t: np.sin(2 * np.pi * f * t + 0.3))
    assert np.sqrt(np.mean(y[1:-1] ** 2)) < 0.25 * np.sqrt(0.5)


def test_regular_samples_stay_as_they_are():
    times = 0.01 * np.arange(500)
    y = np.random.default_rng(1).normal(size=(500, 2))
    u = np.random.default_rng(2).normal(size=(500, 1))
    made = resample_rows(times, u, y, 0.01)
    assert_allclose(made.y, y, atol=1e-9)
    assert_allclose(made.u, u, atol=1e-9)


def test_three_samples_become_their_mean():
    """Rows 3k − 1, 3k and 3k + 1 of regular samples lie around the new row k."""
    y = np.random.default_rng(1).normal(size=300)
    made = resample_rows(0.01 * np.arange(300), np.zeros((300, 0)), y[:, None], 0.03)
    assert_allclose(made.y[1:-1, 0], y[2:-4].reshape(-1, 3).mean(axis=1), atol=1e-9)


def test_a_sample_between_two_rows_belongs_to_both():
    """Averages of two samples stay in phase: weights 1/4, 1/2, 1/4."""
    y = np.random.default_rng(1).normal(size=301)
    made = resample_rows(0.01 * np.arange(301), np.zeros((301, 0)), y[:, None], 0.02)
    expected = 0.25 * y[1:-3:2] + 0.5 * y[2:-2:2] + 0.25 * y[3:-1:2]
    assert_allclose(made.y[1:-1, 0], expected, atol=1e-9)


def test_gaps_stay_gaps():
    times = ticks()
    y = np.sin(times)
    y[(times > 10) & (times < 12)] = np.nan
    y[(times > 20) & (times < 20.029)] = np.nan  # two or three samples
    made = resample_rows(times, np.zeros((4000, 0)), y[:, None], 0.01)
    missing = np.isnan(made.y[:, 0])
    inside = (made.times > 10.01) & (made.times < 11.99)
    assert missing[inside].all()
    assert missing[(made.times > 20) & (made.times < 20.03)].any()
    outside = ~((made.times > 9.98) & (made.times < 12.02))
    assert missing[outside].sum() <= 4


def test_a_slow_sensor_has_a_value_at_its_own_rows_only():
    times = 0.01 * np.arange(1000)
    fast, slow = np.sin(times), np.full(1000, np.nan)
    slow[::10] = times[::10]
    y = np.stack([fast, slow], axis=1)
    made = resample_rows(times, np.zeros((1000, 0)), y, 0.02)
    assert not np.isnan(made.y[:, 0]).any()
    known = ~np.isnan(made.y[:, 1])
    assert_array_equal(np.flatnonzero(known), np.arange(0, 500, 5))
    assert_allclose(made.y[known, 1], made.times[known], atol=1e-9)


def test_a_finer_step_invents_no_measurements():
    times = 0.1 * np.arange(50)
    made = resample_rows(times, np.zeros((50, 0)), np.sin(times)[:, None], 0.02)
    assert_array_equal(np.flatnonzero(~np.isnan(made.y[:, 0])), np.arange(0, 246, 5))


def test_noise_at_the_ends_is_not_blown_up():
    """Means that lie close together make no steep line beyond the last one."""
    times = np.array([0.0, 1.0, 2.0, 3.0, 4.4999, 4.5002, 5.6])
    y = np.array([0.0, 0.0, 0.0, 0.0, -1.0, 1.0, 0.0])
    for t, values in ((times, y), (5.6 - times[::-1], y[::-1])):
        made = resample_rows(t, np.zeros((7, 0)), values[:, None], 1.0)
        assert np.nanmax(abs(made.y)) <= 1.5


# ---------------------------------------------------------------------- inputs


@pytest.mark.parametrize("step", [0.004, 0.01, 0.05])
def test_an_input_is_the_mean_of_the_last_value_sent(step):
    times = ticks(200)
    u = np.random.default_rng(3).choice([0.0, 1.0, 5.0], 200)
    made = resample_rows(times, u[:, None], np.zeros((200, 1)), step)
    for row in (0, 1, 7, len(made.times) - 2, len(made.times) - 1):
        fine = made.times[row] + step * (np.arange(20000) + 0.5) / 20000
        sent = u[np.searchsorted(times, fine, side="right") - 1]
        assert_allclose(made.u[row, 0], sent.mean(), atol=2e-3)


def test_inputs_with_gaps_are_held_and_rows_begin_where_all_are_known():
    times = 0.1 * np.arange(8)
    nan = np.nan
    u = np.array([[1, nan], [nan, nan], [nan, 5], [2, nan], [nan, nan], [nan, 6], [3, 7], [4, 8]])
    made = resample_rows(times, u, np.arange(8.0)[:, None], 0.1)
    assert_allclose(made.times, times[2:])
    assert_allclose(made.u, [[1, 5], [2, 5], [2, 5], [2, 6], [3, 7], [4, 8]], atol=1e-12)
    assert_allclose(made.y[:, 0], np.arange(2.0, 8.0))


def test_a_constant_input_stays_constant():
    made = resample_rows(ticks(), np.full((4000, 1), 0.3), np.zeros((4000, 1)), 0.03)
    assert_array_equal(made.u, 0.3)


def test_two_rows_at_one_time_are_two_sensors():
    times = np.repeat(0.1 * np.arange(50), 2)
    y = np.full((100, 2), np.nan)
    y[::2, 0], y[1::2, 1] = np.arange(50), -np.arange(50)
    u = np.where(np.arange(100) % 2 == 0, np.arange(100.0), np.nan)[:, None]
    made = resample_rows(times, u, y, 0.1)
    assert_allclose(made.y, np.stack([np.arange(50), -np.arange(50)], axis=1), atol=1e-9)
    assert_allclose(made.u[:, 0], np.arange(0.0, 100.0, 2.0), atol=1e-9)


# ---------------------------------------------------------------------- a data set


def two_experiments(change=0.0):
    rng = np.random.default_rng(0)
    u, y = ([rng.normal(size=(n, 1)) for n in (90, 121)] for _ in range(2))
    return gd.Dataset.from_arrays([y[0], y[1] + change], [u[0], u[1] + change], sampling_time=0.5)


def test_inputs_are_those_of_decimate():
    data = two_experiments()
    ours, theirs = data.resample(1.5), data.decimate(3, average_inputs=True)
    assert ours.sampling_time == 1.5
    assert ours.steps == ("resample(1.5)",)
    assert [len(each) for each in ours] == [30, 41]
    # in the last row, decimate has fewer inputs to average, and resample holds the last one
    assert_allclose(ours[0].u, theirs[0].u, atol=1e-9)
    assert_allclose(ours[1].u[:-1], theirs[1].u[:-1], atol=1e-9)


def test_experiments_and_parts_do_not_see_each_other():
    plain, changed = (two_experiments(c).resample(1.2) for c in (0.0, 100.0))
    assert_array_equal(plain[0].y, changed[0].y)
    assert_array_equal(plain[0].u, changed[0].u)
    y = np.arange(100.0)
    other = np.where(np.arange(100) < 70, y, 1e6)
    parts = [
        gd.Dataset.from_arrays(each, each, sampling_time=0.5).split_at(70).resample(1.3)
        for each in (y, other)
    ]
    assert_array_equal(parts[0].train[0].y, parts[1].train[0].y)
    assert_array_equal(parts[0].train[0].u, parts[1].train[0].u)


def test_parts_stay_at_their_time_in_the_record():
    data = gd.Dataset.from_arrays(np.arange(100.0), sampling_time=0.5).split_at(71)
    slow = data.resample(2.0)
    seconds, values = slow.test.restore(slow.test[0].y)
    assert_allclose(seconds[:3], [36.0, 38.0, 40.0])  # the test part begins at 35.5 s
    assert_allclose(values[:, 0], 2.0 * seconds, atol=1e-9)


def test_a_data_set_without_sampling_time_cannot_be_resampled():
    with pytest.raises(DataError, match="without a sampling time"):
        gd.Dataset.from_arrays(np.arange(9.0)).resample(0.1)


def test_a_trend_is_removed_after_resampling():
    data = gd.Dataset.from_arrays(np.arange(50.0) ** 2, sampling_time=0.5).detrend()
    with pytest.raises(DataError, match="Resample first"):
        data.resample(1.0)


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, np.inf, True])
def test_a_step_is_a_positive_number(step):
    with pytest.raises(DataError, match="positive number of seconds"):
        two_experiments().resample(step)


def test_a_step_with_absurdly_many_or_too_few_rows_is_refused():
    with pytest.raises(DataError, match="time unit"):
        two_experiments().resample(1e-6)
    with pytest.raises(DataError, match="smaller step"):
        two_experiments().resample(1e4)


# ---------------------------------------------------------------------- limits


def timed(count=5):
    """Rows at 0, 1, … s."""
    return gd.Dataset.from_arrays(np.arange(float(count)), sampling_time=1.0)


def test_a_row_may_become_a_hundred_and_no_more():
    assert timed().resample(4.0 / 499).num_rows == 500
    with pytest.raises(DataError, match=r"which makes 501 rows of 5, expected at most 100 for"):
        timed().resample(4.0 / 500)


def test_two_rows_must_be_left():
    assert timed().resample(4.0).num_rows == 2
    with pytest.raises(DataError, match=r"4\.1 s, which leaves 1 of 5 rows, expected at least 2"):
        timed().resample(4.1)


@pytest.mark.parametrize(("apart", "filled"), [(1.49, True), (1.5, False), (1.51, False)])
def test_a_row_between_samples_is_filled_if_they_are_near(apart, filled):
    times = np.array([0.0, 1.0, 2.0 - apart / 2, 2.0 + apart / 2, 3.0, 4.0])
    for rows in (times, 4.0 - times[::-1]):
        made = resample_rows(rows, np.zeros((6, 0)), 3.0 + rows[:, None], 1.0)
        assert np.isnan(made.y[:, 0]).tolist() == [False, False, not filled, False, False]
        known = ~np.isnan(made.y[:, 0])
        assert_allclose(made.y[known, 0], 3.0 + made.times[known])


def test_nothing_is_known_outside_of_the_samples():
    """Of the rows 0 to 5 the samples lie around 2 and 3."""
    y = np.array([np.nan, np.nan, 2.2, 3.1, np.nan, np.nan])[:, None]
    times = np.array([0.0, 1.0, 2.2, 3.1, 4.0, 5.0])
    made = resample_rows(times, np.zeros((6, 0)), y, 1.0)
    assert_allclose(made.y[:, 0], [np.nan, np.nan, 2.2, 3.0, np.nan, np.nan], atol=0.21)
    assert_array_equal(np.isnan(made.y[:, 0]), [True, True, False, False, True, True])
    never = resample_rows(times, np.zeros((6, 0)), np.full((6, 1), np.nan), 1.0)
    assert never.u.shape == (6, 0)
    assert never.y.shape == (6, 1)
    assert np.isnan(never.y).all()


def test_three_means_tell_the_line_at_the_ends():
    """Before the last row the samples end at 1.8."""
    times, y = np.array([0.0, 1.0, 1.8, 2.2]), np.array([3.0, 4.0, 4.8, np.nan])
    made = resample_rows(times, np.zeros((4, 0)), y[:, None], 1.0)
    assert_allclose(made.y[:, 0], [3.0, 4.0, 5.0])
    made = resample_rows(times[1:], np.zeros((3, 0)), y[1:, None], 1.0)
    assert_allclose(made.y[:, 0], [4.0, 4.8])  # two means tell none


def test_rows_of_an_origin_begin_after_the_first_sample():
    times = np.array([0.3, 1.3, 2.3, 3.3])
    made = resample_rows(times, np.zeros((4, 0)), times[:, None], 0.5, origin=0.1)
    assert_allclose(made.times, 0.1 + 0.5 * np.arange(1, 7))
    exact = resample_rows(times, np.zeros((4, 0)), times[:, None], 1.0, origin=-0.7 + 1e-9)
    assert_allclose(exact.times, times, atol=1e-8)  # a stamp that is rounded is not left out


# ---------------------------------------------------------------------- what a run keeps


def test_a_thinned_record_keeps_its_times_and_stamps():
    y = np.arange(40.0)
    run = gd.Experiment.of(y, y, "calm", Stamps("t", 100.0 + 0.5 * y))
    data = gd.Dataset((run,), sampling_time=0.5).split_at(21)
    slow = data.decimate(2).resample(2.0)  # of rows at 0, 1, … s
    assert [(each.name, each.part, each.start, each.stride) for each in slow] == [
        ("calm", "train", 0, 1),
        ("calm", "test", 6, 1),
    ]
    assert slow.train[0].stamps.values.tolist() == [100, 102, 104, 106, 108, 110]
    assert slow.test[0].stamps.values.tolist() == [112, 114, 116, 118]  # from 10.5 s on
    assert_allclose(slow.test.restore(slow.test[0].y)[0], [12, 14, 16, 18])
    assert isinstance(slow.resample(4).sampling_time, float)


def test_a_part_knows_its_row_though_its_time_is_rounded():
    """In floating point 3 · 0.7 / 0.7 is less than 3."""
    assert int(3 * 0.7 / 0.7) == 2
    data = gd.Dataset.from_arrays(np.arange(9.0), sampling_time=0.7).split_at(3)
    assert data.resample(0.7).test[0].start == 3


def test_data_on_disk_are_refused(tmp_path):
    np.save(tmp_path / "y.npy", np.ones((50, 1)))
    y = np.load(tmp_path / "y.npy", mmap_mode="r")
    with pytest.raises(DataError, match="resample: got data on disk, expected data in memory"):
        gd.Dataset.from_arrays(y, sampling_time=1.0).resample(2.0)
    with pytest.raises(DataError, match="detrend: got data on disk, expected data in memory"):
        gd.Dataset.from_arrays(y).detrend()
    with pytest.raises(DataError, match="remove_drift: got data on disk"):
        gd.Dataset.from_arrays(y).remove_drift()
