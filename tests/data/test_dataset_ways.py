"""Each argument of a way into a data set arrives, and each way out says what is there."""

import numpy as np
import pandas as pd
import pytest

from gpssm.base.errors import DataError
from gpssm.data import Dataset, Experiment

FRAME = pd.DataFrame(
    {
        "t": 100 * np.arange(12),
        "u": np.arange(12.0),
        "y": -np.arange(12.0),
        "run": np.repeat([1, 2], 6),
    }
)


def from_frame(**options):
    return Dataset.from_pandas(FRAME, outputs="y", inputs="u", **options)


def from_array(**options):
    xarray = pytest.importorskip("xarray")
    columns = {name: ("row", FRAME[name].to_numpy()) for name in ("u", "y", "run")}
    source = xarray.Dataset(columns, coords={"t": ("row", FRAME["t"].to_numpy())})
    source["u"].attrs["units"] = "V"
    return Dataset.from_xarray(source, outputs="y", inputs="u", **options)


# ---------------------------------------------------------------------- ways in


@pytest.mark.parametrize("read", [from_frame, from_array])
def test_the_options_of_a_frame_are_those_of_a_file(read):
    plain = read()
    assert (plain.name, plain.sampling_time, plain[0].name) == ("data", None, "data")
    assert plain[0].u[:, 0].tolist() == list(range(12))
    assert plain[0].y[:, 0].tolist() == [-i for i in range(12)]
    timed = read(time="t", time_unit="ms", name="log")
    assert (timed.name, timed.sampling_time, timed[0].name) == ("log", pytest.approx(0.1), "log")
    assert read(time="t", time_unit="s").sampling_time == 100.0
    assert read(sampling_time=0.3).sampling_time == 0.3
    runs = read(experiment="run")
    assert [(each.name, len(each)) for each in runs] == [("1", 6), ("2", 6)]
    late = read(input_lag=2)
    assert late[0].u[:, 0].tolist() == list(range(2, 12))
    assert late[0].y[:, 0].tolist() == [-i for i in range(10)]


@pytest.mark.parametrize("read", [from_frame, from_array])
def test_a_new_step_is_taken_with_a_time_column_or_a_sampling_time(read):
    for options in ({"time": "t", "time_unit": "ms"}, {"sampling_time": 0.1}):
        slow = read(resample=0.2, **options)
        assert (slow.steps, slow.num_rows) == (("resample(0.2)",), 6)
        np.testing.assert_allclose(slow[0].u[:-1, 0], [0.5, 2.5, 4.5, 6.5, 8.5], atol=1e-9)


def test_units_are_given_with_a_frame_and_stand_in_an_xarray():
    assert from_frame(units={"y": "m"}).output_units == ("m",)
    assert from_frame().output_units == ("",)
    assert (from_array().input_units, from_array().output_units) == (("V",), ("",))


def test_names_and_units_are_those_that_were_given():
    data = Dataset.from_arrays(
        [np.zeros((3, 2)), np.ones((4, 2))],
        [np.zeros(3), np.ones(4)],
        sampling_time=0.5,
        input_names=["pump"],
        output_names=["level", "flow"],
        input_units=["V"],
        output_units=["cm", "l"],
        name="tank",
        experiment_names=["calm", "rough"],
    )
    assert (data.name, data.sampling_time, data.dim_u, data.dim_y) == ("tank", 0.5, 1, 2)
    assert (data.input_names, data.output_names) == (("pump",), ("level", "flow"))
    assert (data.input_units, data.output_units) == (("V",), ("cm", "l"))
    assert [each.name for each in data] == ["calm", "rough"]
    assert [each.name for each in Dataset.from_arrays(np.zeros(3), name="tank")] == ["tank"]


def test_numbers_of_numpy_in_a_list_are_one_experiment():
    assert len(Dataset.from_arrays([np.float64(1.0), np.float64(2.0)])) == 1
    with pytest.raises(DataError, match="got 0 rows, expected at least 2"):
        Dataset.from_arrays([])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Dataset((), "log"), "data set 'log': got no experiment, expected at least one"),
        (
            lambda: Dataset.from_arrays([np.zeros(3)], [np.zeros(3)] * 2),
            "y and u: got 2 experiments of inputs and 1 of outputs",
        ),
        (lambda: Dataset.from_arrays(np.zeros(3), sampling_time=np.inf), "sampling_time: got inf"),
        (lambda: Dataset.from_arrays(np.zeros(3), sampling_time=-1.0), "sampling_time: got -1.0"),
        (lambda: from_frame().decimate(0), "decimate: got factor 0"),
    ],
)
def test_what_is_no_data_set_is_refused(make, words):
    with pytest.raises(DataError, match=words):
        make()


# ---------------------------------------------------------------------- another test part


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"input_names": ["v"]}, r"input_names of the test part: got \('v',\), .* \('u',\)"),
        (
            {"output_names": ["z"]},
            r"output_names of the test part: got \('z',\), .* \('y',\)",
        ),
        ({"input_units": ["A"]}, "unit of 'u': got 'A', expected 'V'"),
        ({"sampling_time": 0.2}, "a step of 0.2 s.*0.1 s as in training"),
    ],
)
def test_a_test_part_has_the_channels_and_the_step_of_training(change, words):
    options = {"sampling_time": 0.1, "input_units": ["V"]}
    train, test = (
        Dataset.from_arrays(np.zeros(4), np.zeros(4), **{**options, **more})
        for more in ({}, change)
    )
    with pytest.raises(DataError, match=words):
        train.with_test(test)


def test_a_test_part_follows_all_of_the_training_part():
    train, test = (Dataset.from_arrays([np.zeros(n), np.ones(n)], name="a") for n in (4, 3))
    both = train.with_test(test)
    assert [(each.part, len(each)) for each in both] == [("train", 4)] * 2 + [("test", 3)] * 2


# ---------------------------------------------------------------------- back to the record


def test_without_a_sampling_time_a_forecast_stands_at_rows():
    data = Dataset.from_arrays([np.arange(9.0), 10 + np.arange(9.0)]).decimate(4)
    time, values = data.restore([[0.0], [1.0]])
    assert time.tolist() == [0.0, 4.0]
    assert values.tolist() == [[0.0], [1.0]]
    time, values = data.restore([[0], [4], [8]], 1, every_row=True)
    assert time.tolist() == list(range(9))
    assert values[:, 0].tolist() == list(range(9))
    assert values.dtype == np.float64


@pytest.mark.parametrize("shape", [(3,), (2, 2), (4, 1)])
def test_a_forecast_has_rows_and_outputs_of_its_experiment(shape):
    data = Dataset.from_arrays(np.arange(3.0))
    wanted = r"\[\.\.\., up to 3 time steps, 1 outputs\]"
    with pytest.raises(DataError, match=rf"got an array of shape .*, expected {wanted}"):
        data.restore(np.zeros(shape))


def test_every_row_may_be_kept():
    data = Dataset.from_arrays(np.arange(5.0), sampling_time=0.5).decimate(1)
    assert (data.num_rows, data.sampling_time, data.steps) == (5, 0.5, ("decimate(1)",))


def test_only_a_drift_is_a_drift():
    data = Dataset.from_arrays(np.random.default_rng(0).normal(size=40))
    assert not data.has_drift
    assert not data.detrend().has_drift
    assert data.refitted() is data


# ---------------------------------------------------------------------- in print


def test_it_prints_all_that_is_known():
    runs = tuple(Experiment.of(np.zeros((n, 2)), np.zeros(n)) for n in (4, 6))
    data = Dataset(
        runs, "tank", 0.25, ("pump",), ("level", "flow"), ("V",), ("cm", ""), ("smoothed",)
    )
    assert str(data.decimate(2)) == (
        "Dataset 'tank': 5 rows, sampling time 0.5 s\n"
        "  inputs     pump [V]\n"
        "  outputs    level [cm], flow\n"
        "  all        2 experiments of 2 to 3 rows\n"
        "  step       decimate(2)\n"
        "  note       smoothed"
    )
    assert repr(Dataset.from_arrays(np.zeros(10)).split_at(4, 7)) == (
        "Dataset 'data': 10 rows, sampling time unknown\n"
        "  inputs     none\n"
        "  outputs    y\n"
        "  train      1 experiment of 4 rows\n"
        "  validation 1 experiment of 3 rows\n"
        "  test       1 experiment of 3 rows"
    )
