"""Each check finds what was put into simulated data, and says nothing of the opposite."""

import numpy as np
import pytest

from gpssm import Dataset
from gpssm.data import preflight as checks
from gpssm.data.preflight import FEW_ROWS, MARGIN, OUTSIDE, preflight

ROWS = 400


def noise(rows=ROWS, seed=0):
    return np.random.default_rng(seed).standard_normal(rows)


def filtered(rows=ROWS, pole=0.9, seed=0):
    """A first-order system that white noise drives."""
    y = noise(rows, seed)
    for t in range(1, rows):
        y[t] += pole * y[t - 1]
    return y


def found(y, u=None, train=None, step=1.0):
    """(check, channel) of all remarks; input u, output y."""
    u = noise(len(y), 7) if u is None else u
    data = Dataset.from_arrays(y, u, sampling_time=step, input_names=["u"], output_names=["y"])
    remarks = preflight(data if train is None else data.split_at(train))
    return {(each.check, each.channel) for each in remarks}


def with_values(y, rows, value):
    changed = np.array(y)
    changed[rows] = value
    return changed


def test_clean_data_get_no_remark():
    assert found(filtered(), train=300) == set()


CLEAN = "drive", "dryer", "furnace", "flutter", "cascaded_tanks", "two_tanks", "cart_pole"


@pytest.mark.parametrize("name", CLEAN)
def test_benchmarks_get_no_remark_but_of_an_unknown_step(name, load):
    data = load(name)
    known = data.sampling_time is not None
    assert [each.check for each in preflight(data)] == ([] if known else ["time"])


# ---------------------------------------------------------------------- channels


@pytest.mark.parametrize("value", [-9999.0, 999.0, 65535.0, 1e30])
def test_a_known_code_is_a_sentinel_and_no_outlier(value):
    marked = with_values(filtered(), [50], value)
    assert found(marked) == {("sentinels", "y")}
    assert found(filtered(), u=with_values(noise(), [50, 51], value)) == {("sentinels", "u")}


def test_a_value_that_an_output_has_several_times_far_from_the_rest_is_a_sentinel():
    y = 500.0 + filtered()
    assert found(with_values(y, [50, 90, 91], 0.0)) == {("sentinels", "y")}
    assert checks.sentinels(with_values(y, [50, 90, 91], 0.0), is_input=False) == {0.0: 3}
    assert found(with_values(y, [50, 90], 0.0)) == {("outliers", "y")}  # twice may be chance


def test_a_third_of_the_rows_may_be_sentinels_of_two_kinds():
    y = with_values(filtered(), np.arange(0, ROWS, 3), -9999.0)
    y[[40, 100, 130]] = 9999.0
    times = {-9999.0: len(range(0, ROWS, 3)), 9999.0: 3}
    assert checks.sentinels(y, is_input=False) == times


def test_an_input_may_be_off_and_a_signal_may_have_two_levels():
    off = with_values(500.0 + noise(), slice(50, 90), 0.0)
    assert found(filtered(), u=off) == set()
    assert checks.sentinels(np.repeat([0.0, 1.0], [390, 10]), is_input=False) == {}
    assert checks.sentinels(np.repeat([-1.0, 999.0], [200, 200]), is_input=True) == {999.0: 200}


def test_spikes_are_outliers_and_new_levels_are_not():
    y = filtered()
    assert found(with_values(y, [100], 60.0)) == {("outliers", "y")}
    assert found(with_values(y, [100, 101], [60.0, -70.0])) == {("outliers", "y")}
    assert found(y + 60.0 * (np.arange(ROWS) // 40 == 3)) == set()  # for 40 rows


def test_outliers_begin_at_eight_robust_spreads():
    y = noise()
    spread = 1.4826 * np.median(np.abs(y - np.median(y)))
    near, far = (np.median(y) + factor * spread for factor in (7.9, 9.5))
    assert not checks.outliers(with_values(y, [9], near), y).any()
    np.testing.assert_array_equal(
        np.flatnonzero(checks.outliers(with_values(y, [9, 399], far), y)), [9, 399]
    )


def test_a_channel_that_stands_still_is_told():
    y = filtered()
    assert found(y, u=np.full(ROWS, 3.0)) == {("constant", "u")}
    assert found(np.where(np.arange(ROWS) < 3, 1.0, 2.0)) == {("constant", "y")}
    assert found(np.where(np.arange(ROWS) < 5, 1.0, 2.0)) == set()
    assert found(y, u=np.where(np.arange(ROWS) < 3, 1.0, 2.0)) == set()  # a valve that opens once
    for size in (1.0, 1e-300):
        assert not checks.is_flat(size * y)
        assert checks.is_flat(size * (300.0 + 1e-5 * y))
    assert found(300.0 + 1e-5 * y) == {("constant", "y")}
    assert found(300.0 + 1e-2 * y) == set()


def test_only_the_training_part_is_asked_whether_it_stands_still():
    still = with_values(noise(), slice(0, 300), 1.0)
    assert ("constant", "u") in found(filtered(), u=still, train=300)
    never = with_values(filtered(), slice(0, 300), np.nan)
    assert ("constant", "y") in found(never, train=300)


# ---------------------------------------------------------------------- sampling


def sine(rows, period):
    return np.sin(2 * np.pi * np.arange(rows) / period)


def test_the_change_of_a_sine_is_known():
    """sin(a + h) − sin(a) has the amplitude 2 sin(h/2)."""
    y = sine(20_000, 1000)
    assert checks.change([y], 20) == pytest.approx(2 * np.sin(np.pi * 20 / 1000), rel=1e-3)


@pytest.mark.parametrize(
    ("period", "factor"),
    # 2 sin(π k / period) < 0.1 up to k = 0.0159 period
    [(1000, None), (1400, 20), (3500, 50), (7000, 100)],
)
def test_slow_outputs_are_to_be_decimated_by_as_much_as_they_bear(period, factor):
    y = sine(30_000, period)
    assert checks.decimation([[y]]) == factor
    assert checks.decimation([[y + 0.02 * noise(30_000)]]) == factor
    assert checks.decimation([[y], [filtered(30_000)]]) is None  # another output moves


def test_a_short_record_keeps_enough_rows():
    assert checks.decimation([[sine(5000, 7000)[:5000]]]) == 50
    assert checks.decimation([[sine(1900, 7000)[:1900]]]) is None


@pytest.mark.parametrize(
    ("step", "advice"),
    [(0.002, "0.2 s (--resample 0.2, data.resample(0.2))"), (None, "data.decimate(100) in Python")],
)
def test_too_fast_sampling_is_told_with_what_to_do(step, advice):
    data = Dataset.from_arrays(sine(30_000, 7000), sampling_time=step)
    (text,) = (each.text for each in checks.preflight(data) if each.check == "sampling")
    assert advice in text


def test_too_fast_and_too_slow_are_told():
    slow = sine(30_000, 7000)
    assert found(slow, u=np.repeat(noise(300), 100)) == {("sampling", "")}
    assert found(slow, u=slow + 0.01 * noise(30_000)) == {("sampling", "")}
    assert found(noise(2000), u=noise(2000, 1)) == {("sampling", "y")}
    assert found(filtered(2000, pole=0.3), u=noise(2000, 1)) == set()


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_the_size_of_the_values_does_not_matter(size):
    with np.errstate(all="raise"):
        assert found(size * noise(2000), u=noise(2000, 1)) == {("sampling", "y")}
        assert found(size * filtered(2000), u=size * noise(2000, 1)) == set()


def test_fast_dynamics_on_a_slow_drift_are_not_to_be_decimated():
    u = np.repeat(np.sign(noise(3000)), 10)
    y = 0.02 * np.convolve(u, 0.8 ** np.arange(50))[:30_000] + 5 * sine(30_000, 20_000)
    assert checks.decimation([[y]])  # without a look at the input
    assert found(y, u=u) == set()


def test_responses_to_rare_pulses_are_no_outliers_and_no_noise():
    pulses = (np.arange(6000) % 100 == 50).astype(float)
    y = np.convolve(pulses, 0.5 ** np.arange(20))[:6000] + 0.01 * noise(6000)
    assert found(y, u=pulses) == set()
    levels = 0.1 * noise(6000)
    levels[1000:1200] += 999.0 - levels[1000:1200]  # set-points that look like a code
    assert found(levels, u=noise(6000, 1)) == {("sentinels", "y")}


def test_white_outputs_are_told_whatever_their_gaps():
    gaps = with_values(noise(2000), np.arange(0, 2000, 5), np.nan)
    assert ("sampling", "y") in found(gaps, u=noise(2000, 1))
    few = noise(FEW_ROWS)
    assert found(few) == set()  # too few rows to tell


# ---------------------------------------------------------------------- range, rows


@pytest.mark.parametrize(("beyond", "told"), [(1, False), (2, True)])
def test_test_inputs_outside_of_the_training_range_are_told_from_a_share_on(beyond, told):
    """1 of 100 test rows is exactly the limit, which is still inside."""
    assert OUTSIDE == 0.01
    u = np.tile([0.0, 1.0], 200)
    u[300 : 300 + beyond] = 1.5
    assert (("range", "u") in found(filtered(), u=u, train=300)) is told


def test_noise_of_a_level_is_no_new_level():
    for excess, told in ((MARGIN - 0.001, False), (MARGIN + 0.001, True)):
        u = np.tile([0.0, 1.0], 200)
        u[300:] *= 1.0 + excess
        assert (("range", "u") in found(filtered(), u=u, train=300)) is told


def test_shares_outside_count_missing_values_as_inside():
    y = np.concatenate([np.linspace(-1, 1, 80), np.linspace(0, 2, 20)])
    gaps = np.where(np.arange(100) % 4 == 0, np.nan, y)
    data = Dataset.from_arrays(gaps, y).split_at(80)
    assert checks.outputs_outside(data.train, data.test) == {"y": pytest.approx(0.4)}
    assert checks.inputs_outside(data.train, data.test) == {"u": pytest.approx(0.5)}


def test_gaps_few_rows_and_what_is_not_known_are_told():
    y = with_values(filtered(), [10, 11, 12, 20], np.nan)
    assert found(y) == {("gaps", "")}
    assert checks.longest_gap(y) == 3
    assert found(filtered(FEW_ROWS - 1)) == {("rows", "")}
    assert found(filtered(FEW_ROWS)) == set()
    assert found(filtered(), step=None) == {("time", "")}
    alone = Dataset.from_arrays(filtered(), sampling_time=1.0)
    assert [each.check for each in preflight(alone)] == ["inputs"]


def test_each_remark_names_what_it_is_about():
    y = with_values(filtered(), [100], 60.0)
    data = Dataset.from_arrays(y, noise(), sampling_time=1.0, output_names=["level"])
    (remark,) = preflight(data)
    assert remark.text.startswith("level has an outlier")
    assert "training row 101" in remark.text


def test_of_data_on_disk_the_first_rows_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("gpssm.data.disk.BLOCK", 200)
    y = with_values(with_values(filtered(), [100], 60.0), [300], -9999.0)
    np.save(tmp_path / "y.npy", y[:, None])
    data = Dataset.from_arrays(np.load(tmp_path / "y.npy", mmap_mode="r"), noise(), sampling_time=1)
    assert [each.check for each in preflight(data)] == ["outliers"]
