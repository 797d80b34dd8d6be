"""The container: ways in, parts, steps that can be undone, what it prints."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm.base.errors import DataError
from gpssm.data import Dataset, Experiment

LENGTHS = (40, 25, 33)


def random_data(lengths=LENGTHS, dim_u=2, dim_y=2, seed=0, **options):
    rng = np.random.default_rng(seed)
    y = [rng.normal(size=(n, dim_y)) for n in lengths]
    u = [rng.normal(size=(n, dim_u)) for n in lengths]
    return Dataset.from_arrays(y, u, **options)


# ---------------------------------------------------------------------- arrays in


def test_the_arrays_are_copies_that_cannot_be_written():
    y = np.zeros((5, 1))
    data = Dataset.from_arrays(y, np.ones(5))
    y[0] = 7.0
    assert data[0].y[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        data[0].y[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        data[0].u[0, 0] = 1.0


def test_a_list_of_numbers_is_one_experiment_and_a_list_of_arrays_several():
    one = Dataset.from_arrays([1.0, 2.0, 3.0])
    assert (len(one), one.dim_u, one.dim_y) == (1, 0, 1)
    rows = Dataset.from_arrays([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert (len(rows), rows.num_rows, rows.dim_y) == (1, 3, 2)
    several = Dataset.from_arrays([np.zeros(3), np.ones(4)])
    assert [len(each) for each in several] == [3, 4]
    assert [each.name for each in several] == ["data-0", "data-1"]


def test_nan_in_an_output_is_a_gap():
    data = Dataset.from_arrays([1.0, np.nan, 3.0], [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(data[0].mask[:, 0], [True, False, True])
    assert "33.3 % of the outputs missing" in str(data)


@pytest.mark.parametrize(
    ("y", "u", "words"),
    [
        ([1.0, 2.0], [1.0, np.nan], ["inputs", "row 1, channel 0", "nan", "without gaps"]),
        ([1.0, np.inf], [1.0, 1.0], ["outputs", "row 1, channel 0", "inf", "NaN"]),
        ([1.0, 2.0, 3.0], [1.0, 2.0], ["2 rows of inputs and 3 of outputs"]),
        ([1.0], None, ["1 rows", "at least 2"]),
        ([np.nan, np.nan], None, ["output 'y'", "missing values only", "Leave this output out"]),
        (np.zeros((2, 2, 2)), None, ["(2, 2, 2)", "[time, channels]", "list"]),
        (["a", "b"], None, ["no numbers", "expected numbers"]),
        ([np.zeros(3), np.zeros((3, 2))], None, ["2 outputs", "expected 0 and 1"]),
    ],
)
def test_bad_arrays_are_refused_with_a_reason(y, u, words):
    with pytest.raises(DataError) as error:
        Dataset.from_arrays(y, u)
    for word in words:
        assert word in str(error.value)


def test_an_experiment_without_any_output_is_named():
    with pytest.raises(DataError, match=r"experiment 'data-1': got no output value"):
        Dataset.from_arrays([np.zeros(3), np.full(3, np.nan)])


def test_names_must_fit_the_channels():
    with pytest.raises(DataError, match=r"input_names.*1 of them"):
        Dataset.from_arrays(np.zeros(3), np.zeros(3), input_names=("a", "b"))
    with pytest.raises(DataError, match="sampling_time"):
        Dataset.from_arrays(np.zeros(3), sampling_time=0.0)
    with pytest.raises(DataError, match="part"):
        Experiment(np.zeros((3, 1)), np.zeros((3, 1)), part="exam")


# ---------------------------------------------------------------------- pandas and xarray


def test_pandas_with_gaps_experiments_and_dates():
    times = pd.date_range("2024-01-01", periods=4, freq="500ms")
    frame = pd.DataFrame(
        {
            "when": [*times, *times],
            "run": ["a"] * 4 + ["b"] * 4,
            "force": pd.array(range(8), dtype="Int64"),
            "speed": [1.0, None, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        }
    )
    data = Dataset.from_pandas(
        frame, inputs="force", outputs="speed", time="when", experiment="run", units={"force": "N"}
    )
    assert data.sampling_time == 0.5
    assert [each.name for each in data] == ["a", "b"]
    assert data.input_units == ("N",)
    np.testing.assert_array_equal(data[1].u[:, 0], [4, 5, 6, 7])
    np.testing.assert_array_equal(data[0].mask[:, 0], [True, False, True, True])


def test_xarray_experiments_of_different_lengths_share_a_padded_axis():
    xarray = pytest.importorskip("xarray")
    y = np.arange(24.0).reshape(2, 6, 2)
    u = np.ones((2, 6))
    y[1, 4:], u[1, 4:] = np.nan, np.nan  # the second run is shorter
    y[0, 2, 1] = np.nan  # a gap inside a run stays
    source = xarray.Dataset(
        {"y": (("run", "time", "channel"), y, {"units": "m"}), "u": (("run", "time"), u)},
        coords={"time": np.arange(6) * 0.1, "run": ["first", "second"]},
    )
    data = Dataset.from_xarray(source, inputs="u", outputs="y", time="time", experiment="run")
    assert [(each.name, len(each)) for each in data] == [("first", 6), ("second", 4)]
    assert data.output_names == ("y[0]", "y[1]")
    assert data.output_units == ("m", "m")
    assert data.sampling_time == pytest.approx(0.1)
    np.testing.assert_array_equal(data[0].y, y[0])
    np.testing.assert_array_equal(data[1].y, y[1, :4])


# ---------------------------------------------------------------------- parts


@given(
    lengths=st.lists(st.integers(20, 60), min_size=1, max_size=4),
    train=st.floats(0.2, 0.6),
    validation=st.one_of(st.just(0.0), st.floats(0.15, 0.25)),
)
@settings(max_examples=50, deadline=None)
def test_the_parts_of_a_split_put_together_are_the_data(lengths, train, validation):
    data = random_data(lengths)
    split = data.split(train=train, validation=validation)
    assert split.num_rows == data.num_rows
    for i, whole in enumerate(data):
        pieces = [part[i] for part in (getattr(split, p) for p in split.parts)]
        np.testing.assert_array_equal(np.concatenate([p.y for p in pieces]), whole.y)
        np.testing.assert_array_equal(np.concatenate([p.u for p in pieces]), whole.u)
        assert abs(len(pieces[0]) - train * len(whole)) <= 0.5
    assert ("validation" in split.parts) == (validation > 0)


def test_split_at_an_index_and_at_two():
    data = random_data()
    two = data.split_at(10)
    assert [len(each) for each in two.train] == [10, 10, 10]
    assert [len(each) for each in two.test] == [30, 15, 23]
    three = data.split_at(10, 20)
    assert [len(each) for each in three.validation] == [10, 10, 10]
    np.testing.assert_array_equal(three.test[1].y, data[1].y[20:])


def test_split_by_experiment_takes_names_and_positions():
    data = random_data()
    split = data.split_experiments(train=["data-2", 0])
    assert [each.name for each in split.train] == ["data-0", "data-2"]
    assert [each.name for each in split.test] == ["data-1"]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda d: d.test, ["data that is not split", "Call split"]),
        (lambda d: d.split(1.0).test, ["('train',)", "a test part"]),
        (lambda d: d.split(0.0), ["train=0.0", "sum to at most 1"]),
        (lambda d: d.split(0.8, 0.4), ["validation=0.4"]),
        (lambda d: d.split(0.98), ["the test part of experiment 'data-0' (40 rows)", "1 rows"]),
        (lambda d: d.split_at(26), ["1 to 25", "'data-1'"]),
        (lambda d: d.split().split(), ["already split into test, train", "data.train.split"]),
        (lambda d: d.split_experiments(["data-7"]), ["'data-7'", "Nearest: ['data-"]),
        (lambda d: d.split_experiments([0, "data-0"]), ["twice"]),
        (lambda d: d.split_experiments([0], test=[1]), ["['data-2']", "leave `test` out"]),
    ],
)
def test_bad_splits_are_refused_with_a_reason(action, words):
    with pytest.raises(DataError) as error:
        action(random_data())
    for word in words:
        assert word in str(error.value)


# ---------------------------------------------------------------------- steps that can be undone


@given(
    factor=st.integers(1, 5),
    order=st.integers(0, 2),
    cut=st.integers(12, 19),
    decimate_first=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_restore_undoes_any_order_of_steps(factor, order, cut, decimate_first):
    data = random_data(sampling_time=0.5)
    split = data.split_at(cut)
    if decimate_first:
        done = split.decimate(factor).detrend(order)
    else:
        done = split.detrend(order).decimate(factor)
    assert done.sampling_time == 0.5 * factor
    for i, run in enumerate(done.test):
        time, values = done.test.restore(run.y, i)
        np.testing.assert_allclose(time, 0.5 * np.arange(cut, LENGTHS[i], factor))
        np.testing.assert_allclose(values, data[i].y[cut::factor], atol=1e-12)


def test_a_split_after_the_steps_knows_its_place_in_the_record():
    data = random_data(sampling_time=0.5)
    test = data.decimate(3).detrend(2).split_at(4).test
    for i, run in enumerate(test):
        time, values = test.restore(run.y, i)
        np.testing.assert_allclose(time, 0.5 * np.arange(12, LENGTHS[i], 3))
        np.testing.assert_allclose(values, data[i].y[12::3], atol=1e-12)


def test_a_trend_is_removed_and_comes_from_the_training_part_alone():
    rows = np.arange(100.0)
    y = 3.0 + 0.5 * rows
    y[70:] += 1000.0 * np.sin(rows[70:])  # what the test part does must not matter
    y[10] = np.nan
    split = Dataset.from_arrays(y).split(0.7).detrend(order=1)
    np.testing.assert_allclose(np.nan_to_num(split.train[0].y), 0.0, atol=1e-9)
    expected = (1000.0 * np.sin(rows[70:]))[:, None]
    np.testing.assert_allclose(split.test[0].y, expected, atol=1e-7)


def test_restore_fills_the_rows_that_decimate_left_out():
    straight = np.linspace(0.0, 30.0, 31)
    data = Dataset.from_arrays(straight, sampling_time=0.1).decimate(4).detrend(0)
    particles = np.stack([data[0].y, data[0].y + 1.0])
    time, values = data.restore(particles, every_row=True)
    np.testing.assert_allclose(time, 0.1 * np.arange(29))
    np.testing.assert_allclose(values[0, :, 0], straight[:29], atol=1e-12)
    np.testing.assert_allclose(values[1], values[0] + 1.0)


def test_decimate_may_average_the_input_until_the_next_row():
    data = Dataset.from_arrays(np.arange(5.0), np.array([1.0, 3.0, 5.0, 7.0, 10.0]))
    assert data.decimate(2)[0].u[:, 0].tolist() == [1.0, 5.0, 10.0]
    assert data.decimate(2, average_inputs=True)[0].u[:, 0].tolist() == [2.0, 6.0, 10.0]


def test_steps_refuse_what_makes_no_sense():
    data = Dataset.from_arrays([1.0, np.nan, np.nan, 2.0])
    with pytest.raises(DataError, match="factor 0"):
        data.decimate(0)
    with pytest.raises(DataError, match=r"2 measured values of output 'y'.*order 2.*Lower"):
        data.detrend(2)
    with pytest.raises(DataError, match=r"shape \(9, 1\).*4 time steps"):
        data.restore(np.zeros((9, 1)))


def test_it_prints_as_a_short_table():
    data = random_data(sampling_time=0.1, name="crane", input_names=("force", "torque"))
    text = str(data.split().decimate(2))
    assert text == repr(data.split().decimate(2))
    for word in ("crane", "0.2 s", "force, torque", "y1, y2", "train", "test", "decimate(2)"):
        assert word in text
    assert len(text.splitlines()) < 10


# ---------------------------------------------------------------------- another test part


def _level(unit="degC", **more):
    return Dataset.from_arrays(np.arange(20.0), np.ones(20), output_units=[unit], **more)


def test_a_test_part_has_the_units_of_training():
    with pytest.raises(DataError, match=r"unit of 'y': got 'degF', expected 'degC'"):
        _level().with_test(_level("degF"))
    assert _level().with_test(_level("")).parts == ("train", "test")


@pytest.mark.parametrize(
    ("change", "other"),
    [
        (lambda d: d.detrend(), lambda d: d),
        (lambda d: d, lambda d: d.detrend()),
        (lambda d: d.detrend(), lambda d: d.detrend()),  # each has a trend of its own
        (lambda d: d.decimate(2), lambda d: d),
        (lambda d: d.remove_drift(), lambda d: d),
    ],
)
def test_a_test_part_is_prepared_as_training_was(change, other):
    with pytest.raises(DataError, match=r"steps of the test part: .* Join the data first"):
        change(_level()).with_test(other(_level()))


def test_steps_that_the_sampling_time_tells_may_differ():
    slow, fast = _level(sampling_time=0.2), _level(sampling_time=0.1)
    assert slow.with_test(fast.decimate(2)).test.num_rows == 10
    assert slow.resample(0.4).with_test(fast.decimate(4)).test.num_rows == 5


def test_parts_of_one_data_set_have_the_same_trends():
    data = _level().split(0.5).detrend()
    np.testing.assert_array_equal(data.train.with_test(data.test).test[0].y, data.test[0].y)
