"""Time as real loggers write it: units, jitter, dates, sensors with rates of their own."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gpssm
from gpssm import DataError
from gpssm.data.io.archive import load_saved_dataset, save_dataset
from gpssm.data.io.timing import guess_unit
from support_cli import answer, invoke, write_csv

COLUMNS = {"inputs": "u", "outputs": "y", "time": "t"}


def log(path, t, name="t", **columns):
    """A file with these times; the input counts the rows, the output is twice as much."""
    rows = np.arange(float(len(t)))
    pd.DataFrame({name: t, "u": rows, "y": 2 * rows, **columns}).to_csv(path, index=False)
    return path


def complaint(path, **columns):
    with pytest.raises(DataError) as error:
        gpssm.read(path, **{**COLUMNS, **columns})
    return str(error.value)


# ---------------------------------------------------------------------- units of time

GUESSES = {
    "ms": ("tempo_ms", "time [ms]", "Time (ms)", "timeMs", "t.ms", "ms", "time_msec", "millis"),
    "us": ("t_us", "t [µs]", "time/us", "timestampUs", "micros"),
    "ns": ("stamp_ns", "time{ns}"),
    "min": ("zeit [min]", "minutes"),
    "h": ("t (h)", "hours"),
    "s": ("time_s", "time [s]", "t sec", "Seconds"),
    None: ("t", "time", "items", "times", "bus", "forms", "t1", "", "0"),
}


@pytest.mark.parametrize(
    ("unit", "column"), [(unit, name) for unit, names in GUESSES.items() for name in names]
)
def test_the_name_of_a_column_says_its_unit(unit, column):
    assert guess_unit(column) == unit


def test_ten_milliseconds_are_not_ten_seconds(tmp_path):
    path = log(tmp_path / "log.csv", 10.0 * np.arange(30), "tempo_ms")
    data = gpssm.read(path, **{**COLUMNS, "time": "tempo_ms"})
    assert data.sampling_time == pytest.approx(0.01)
    assert "'tempo_ms' is read in ms, as its name says" in str(data)
    other = gpssm.read(path, **{**COLUMNS, "time": "tempo_ms"}, time_unit="us")
    assert other.sampling_time == pytest.approx(1e-5)
    assert other.notes == ()


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1), ("min", 60), ("h", 3600)],
)
def test_a_unit_is_given(tmp_path, unit, seconds):
    path = log(tmp_path / "log.csv", 5e9 + 5.0 * np.arange(30))
    data = gpssm.read(path, **COLUMNS, time_unit=unit)
    assert data.sampling_time == pytest.approx(5.0 * seconds, rel=1e-9)


def test_a_unit_needs_a_column_of_numbers(tmp_path):
    path = log(tmp_path / "log.csv", pd.date_range("2024-01-01", periods=30, freq="s"))
    assert "a column of dates" in complaint(path, time_unit="ms")
    assert "no time column" in complaint(path, time=None, time_unit="ms")
    assert "one of ns, us, ms" in complaint(path, time_unit="days")


# ---------------------------------------------------------------------- unequal steps


def test_stamps_that_a_clock_rounds_are_equal_steps(tmp_path):
    path = log(tmp_path / "log.csv", np.round(0.015 * np.arange(400), 2))
    data = gpssm.read(path, **COLUMNS)
    assert data.sampling_time == pytest.approx(0.015, rel=1e-4)
    assert data.num_rows == 400
    assert "of a step) off equal steps, and are read as equal steps of 0.015 s" in str(data)


@pytest.mark.parametrize("lost", [1, 20, 199, 398])
def test_a_lost_row_is_no_jitter(tmp_path, lost):
    t = np.delete(0.015 * np.arange(400), lost)
    message = complaint(log(tmp_path / "log.csv", t))
    assert f"row {lost + 2}" in message
    assert "1 of 398 steps" in message
    assert "by 0.015 s at most" in message


@pytest.mark.parametrize("rows", [4, 5, 10, 21, 22, 40])
def test_a_lost_row_of_a_short_record_is_no_jitter(tmp_path, rows):
    t = np.delete(np.arange(float(rows)), rows // 2)
    assert "irregular sampling" in complaint(log(tmp_path / "log.csv", t))


def test_ticks_that_wander_are_counted_and_the_remedy_works(tmp_path):
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(9, 11, 3000)).round(3)
    path = log(tmp_path / "log.csv", t, "t_ms")
    arguments = "data", "check", path, "--inputs", "u", "--outputs", "y", "--time", "t_ms"
    said = " ".join(invoke(*arguments).output.split())
    count = np.sum(abs(np.diff(t) - np.median(np.diff(t))) > 0.05 * np.median(np.diff(t)))
    assert f"{count} of 2999 steps are off the usual" in said
    assert "(--resample 0.01)" in said
    found = answer(*arguments, "--resample", 0.01)
    assert found["sampling_time"] == 0.01
    assert found["rows"] == pytest.approx(t[-1] / 10 - t[0] / 10 + 1, abs=1)
    assert any("read in ms" in note for note in found["notes"])


def test_sensors_with_rates_of_their_own_are_put_on_one_grid(tmp_path):
    """One row per message: the inputs every 10 ms, two outputs every 20 ms and every 100 ms."""
    sent, slow, slower = 0.01 * np.arange(500), 0.02 * np.arange(250), 0.1 * np.arange(50) + 0.001
    rows = [
        *({"t": t, "u": np.floor(t)} for t in sent),
        *({"t": t, "y": 3 * t} for t in slow),
        *({"t": t, "z": -t} for t in slower),
    ]
    path = tmp_path / "log.csv"
    pd.DataFrame(rows).sort_values("t").to_csv(path, index=False)
    data = gpssm.read(path, inputs="u", outputs=["y", "z"], time="t", resample=0.02)
    run, t = data[0], 0.02 * np.arange(250)
    assert data.num_rows == 250
    np.testing.assert_allclose(run.y[:, 0], 3 * t, atol=1e-9)
    np.testing.assert_array_equal(np.flatnonzero(run.mask[:, 1]), np.arange(0, 250, 5))
    np.testing.assert_allclose(run.y[::5, 1], -t[::5], atol=1e-9)
    np.testing.assert_allclose(run.u[:, 0], np.floor(t + 1e-6), atol=1e-9)
    assert "gap in an input" in complaint(path)  # without a new step


def test_a_step_without_a_time_column(tmp_path):
    path = log(tmp_path / "log.csv", np.arange(60))
    check = "data", "check", path, "--inputs", "u", "--outputs", "y"
    assert answer(*check, "--sampling-time", 0.2)["sampling_time"] == 0.2
    assert answer(*check, "--sampling-time", 0.2, "--resample", 0.6)["rows"] == 20
    result = invoke(*check, "--resample", 0.6)
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert "--resample: got data without a sampling time" in said
    assert said.endswith("Name the time column or the step (--sampling-time).")


def test_two_steps_contradict_each_other(tmp_path):
    path = log(tmp_path / "log.csv", 0.1 * np.arange(60))
    assert "as in sampling_time" in complaint(path, sampling_time=0.5, resample=0.2)


# ---------------------------------------------------------------------- inputs that come late


def test_a_lag_moves_the_inputs_of_each_experiment(tmp_path):
    t = np.tile(0.5 * np.arange(10), 2)
    path = log(tmp_path / "log.csv", t, run=np.repeat(["a", "b"], 10))
    data = gpssm.read(path, **COLUMNS, experiment="run", input_lag=2)
    assert [len(each) for each in data] == [8, 8]
    for first, run in zip((0, 10), data, strict=True):
        np.testing.assert_array_equal(run.y[:, 0], 2.0 * np.arange(first, first + 8))
        np.testing.assert_array_equal(run.u[:, 0], np.arange(first + 2.0, first + 10.0))
        np.testing.assert_array_equal(run.stamps.values, 0.5 * np.arange(8))
    assert "10 rows of data, expected at least 11" in complaint(path, experiment="run", input_lag=9)
    assert "0 rows or more" in complaint(path, input_lag=-1)


@pytest.mark.parametrize("option", [{"resample": 0.1}, {"input_lag": 1}])
def test_blocks_on_disk_take_neither_steps_nor_lags(tmp_path, option):
    path = tmp_path / "log.parquet"
    pd.DataFrame({"t": [0.0, 1.0], "u": [0.0, 1.0], "y": [0.0, 1.0]}).to_parquet(path)
    message = complaint(path, **option, on_disk=tmp_path / "arrays")
    assert "together with on_disk" in message


def test_blocks_on_disk_have_a_unit_of_time(tmp_path):
    path = tmp_path / "log.parquet"
    rows = np.arange(50.0)
    pd.DataFrame({"t_ms": 10 * rows, "u": rows, "y": rows}).to_parquet(path)
    for _ in range(2):  # converted, and found
        data = gpssm.read(path, **{**COLUMNS, "time": "t_ms"}, on_disk=tmp_path / "arrays")
        assert data.sampling_time == pytest.approx(0.01)
        assert "read in ms" in data.notes[0]


def test_a_registered_data_set_has_its_own_time():
    result = invoke("fit", "two_tanks", "--resample", 2)
    assert result.exit_code == 1
    assert "--resample: got 2.0 together with the data set" in " ".join(result.output.split())


# ---------------------------------------------------------------------- stamps of a forecast


def forecast_of(folder, path, out):
    result = invoke("predict", folder, path, "--out", out)
    assert result.exit_code == 0, result.output
    return pd.read_csv(out)


def with_times(path, times):
    frame = pd.read_csv(write_csv(path, rows=40, seed=1))
    frame["t"] = times
    frame.loc[30:, "level"] = np.nan  # rows to be forecast
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("times", "first", "last"),
    [
        (100.25 + 0.5 * np.arange(40), 100.25, 119.75),
        (
            pd.date_range("2024-03-01 10:00", periods=40, freq="500ms").astype(str),
            "2024-03-01T10:00:00.000",
            "2024-03-01T10:00:19.500",
        ),
        (
            [f"{t.isoformat()}+02:00" for t in pd.date_range("2024-03-01", None, 40, "500ms")],
            "2024-02-29T22:00:00.000Z",
            "2024-02-29T22:00:19.500Z",
        ),
        (
            [
                f"{t:%H:%M:%S}.{t:%f}"
                for t in pd.date_range("2024-03-01 23:59:50", None, 40, "500ms")
            ],
            "23:59:50.000",
            "00:00:09.500",
        ),
    ],
)
def test_a_forecast_has_the_stamps_of_its_rows(folder, tmp_path, times, first, last):
    table = forecast_of(folder, with_times(tmp_path / "new.csv", times), tmp_path / "f.csv")
    assert "time" not in table
    assert (table["t"].iloc[0], table["t"].iloc[-1]) == (first, last)
    assert (table["part"] == "open loop").sum() == 10


def test_stamps_survive_in_the_data_of_a_run(folder):
    run = gpssm.workflow.open_folder(folder).data.test[0]
    np.testing.assert_array_equal(run.stamps.values, 0.5 * run.rows)
    assert run.stamps.name == "t"


def test_times_of_the_day_survive_in_the_data_of_a_run(tmp_path):
    clock = [f"23:59:{30 + i}" if i < 30 else f"00:00:{i - 30:02d}" for i in range(60)]
    data = gpssm.read(log(tmp_path / "log.csv", clock), **COLUMNS)
    save_dataset(tmp_path / "data.npz", data)
    stamps = load_saved_dataset(tmp_path / "data.npz")[0].stamps
    assert list(stamps.written()) == clock
    assert list(stamps.after(np.array([59.0, 60.0])).written()) == ["00:00:29", "00:00:30"]


@pytest.mark.parametrize(("unit", "size"), [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
def test_stamps_since_1970_say_their_unit_by_their_size(tmp_path, unit, size):
    stamps = [int((1_700_000_000 + 0.5 * t) / size) for t in range(30)]
    data = gpssm.read(log(tmp_path / "log.csv", stamps), **COLUMNS)
    assert data.sampling_time == pytest.approx(0.5)
    assert f"'t' is read in {unit}, as numbers of this size count from 1970 on" in str(data)
    seconds = log(tmp_path / "seconds.csv", [1_700_000_000 + t for t in range(30)])
    assert gpssm.read(seconds, **COLUMNS).sampling_time == 1.0


def test_a_step_of_a_tenth_is_a_tenth(tmp_path):
    data = gpssm.read(log(tmp_path / "log.csv", [f"{t / 10:.1f}" for t in range(300)]), **COLUMNS)
    assert data.sampling_time == 0.1


def test_stamps_of_a_coarse_clock_have_another_remedy_than_one_row_twice(tmp_path):
    coarse = log(tmp_path / "log.csv", np.round(0.007 * np.arange(40), 2))
    message = complaint(coarse)
    assert "12 of 39 time stamps equal to the one before" in message
    assert "leave the time column out and give the step (--sampling-time" in message
    assert gpssm.read(coarse, inputs="u", outputs="y", sampling_time=0.007).num_rows == 40


def test_a_gap_in_an_input_may_be_held_at_a_new_step(tmp_path):
    path = log(tmp_path / "log.csv", np.arange(30.0))
    frame = pd.read_csv(path)
    frame.loc[4, "u"] = np.nan
    frame.to_csv(path, index=False)
    assert "row 6: got a gap in an input" in complaint(path)
    assert "resample (--resample, in Python resample=), which holds" in complaint(path)
    assert gpssm.read(path, **COLUMNS, resample=1.0)[0].u[4, 0] == 3.0


def test_whole_numbers_stay_whole(tmp_path):
    data = gpssm.read(log(tmp_path / "log.csv", np.arange(5, 35)), **COLUMNS)
    assert data[0].stamps.written().tolist()[:2] == [5, 6]
    assert str(data[0].stamps.written()[0]) == "5"


# ---------------------------------------------------------------------- the step of a model


@pytest.fixture
def jittered_run(folder, fit_arguments, tmp_path, monkeypatch):
    """The folder of a run with the configuration that `fit` makes of the options on time."""
    seen = []

    def keep(config, data, out, **_):
        seen.append(config)
        raise DataError("kept")

    monkeypatch.setattr("gpssm.cli.fitting.fit_folder", keep)
    _, _, *columns = fit_arguments
    options = "--resample", 0.5, "--time-unit", "ms", "--input-lag", 1
    result = invoke("fit", jittered(tmp_path / "first.csv"), *columns, *options)
    assert "kept" in result.output
    copied = shutil.copytree(folder, tmp_path / "run")
    (copied / "config.toml").write_text(seen[0].to_toml())
    return copied


def jittered(path, seed=0):
    """Stamps in ms with steps around 250 ms; the input of a row led to it."""
    frame = pd.read_csv(write_csv(path, seed=seed))
    wander = np.random.default_rng(seed).uniform(-22, 22, len(frame)).cumsum()
    frame["t"] = (1e6 + 250.0 * np.arange(len(frame)) + wander - wander[0]).round(1)
    frame["pump"] = frame["pump"].shift(1).bfill()
    frame.to_csv(path, index=False)
    return path


def test_a_forecast_reads_new_files_as_training_did(jittered_run, tmp_path):
    new = jittered(tmp_path / "new.csv", seed=3)
    table = forecast_of(jittered_run, new, tmp_path / "f.csv")
    expected = gpssm.read(
        new, inputs="pump", outputs="level", time="t", resample=0.5, time_unit="ms", input_lag=1
    )
    assert len(table) == expected.num_rows
    np.testing.assert_allclose(table["t"], 1e6 + 500.0 * np.arange(len(table)))
    np.testing.assert_allclose(table["level"], expected[0].y[:, 0])


def test_a_model_knows_its_step_and_units(folder, tmp_path):
    run = gpssm.load(folder / "seed-0.gpssm")
    assert run.sampling_time == 0.5
    assert (run.input_units, run.output_units) == (("V",), ("cm",))
    again = gpssm.load(run.save(tmp_path / "copy.gpssm"))
    assert (again.sampling_time, again.output_units) == (0.5, ("cm",))


def test_every_use_of_a_model_checks_the_step(folder):
    run = gpssm.load(folder / "seed-0.gpssm")
    other = gpssm.workflow.open_folder(folder).data.resample(1.0)
    u, y = other.test[0].u, other.test[0].y
    calls = (
        lambda: gpssm.workflow.score(run, other),
        lambda: gpssm.recalibrate(run, other.train),
        lambda: run.predict(u, y[:4], sampling_time=1.0),
        lambda: run.outlook(u, y[:4], sampling_time=1.0),
        lambda: run.states(u, y[:4], sampling_time=1.0),
        lambda: run.filter(u, y, sampling_time=1.0),
        lambda: run.smooth(u, y, sampling_time=1.0),
    )
    for call in calls:
        with pytest.raises(DataError, match=r"a step of 1 s, expected 0\.5 s, as in training"):
            call()
    run.check_step(0.51)  # clocks differ


def test_validation_data_have_the_step_of_the_training_data():
    data, other = (
        gpssm.Dataset.from_arrays(np.arange(60.0), sampling_time=step) for step in (0.5, 1.0)
    )
    with pytest.raises(DataError, match=r"validation: got a step of 1 s, expected 0\.5 s"):
        gpssm.fit(gpssm.cbf_ssm(dim_x=2), data, validation=other)


def test_the_command_line_checks_the_step(folder, tmp_path):
    new = with_times(tmp_path / "new.csv", 0.7 * np.arange(40))
    for command in (
        ("predict", folder, new, "--out", tmp_path / "f.csv"),
        ("evaluate", folder, new),
    ):
        result = invoke(*command)
        assert result.exit_code == 1
        said = " ".join(result.output.split())
        assert "a step of 0.7 s, expected 0.5 s, as in training" in said


def test_a_model_file_from_before_has_the_step_of_the_data_in_its_folder(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "run")
    path = copied / "seed-0.gpssm"
    replace(gpssm.load(path), sampling_time=None, input_units=(), output_units=()).save(path)
    assert gpssm.load(path).sampling_time is None
    run = gpssm.workflow.open_folder(copied).choose(0)
    assert (run.sampling_time, run.input_units) == (0.5, ("V",))


def test_data_in_other_units_are_refused(folder):
    run, data = gpssm.load(folder / "seed-0.gpssm"), gpssm.workflow.open_folder(folder).data
    run.check_data(replace(data, output_units=("",)))
    other = replace(data, output_units=("m",))
    for call in (lambda: gpssm.workflow.score(run, other), lambda: gpssm.recalibrate(run, other)):
        with pytest.raises(DataError, match="unit of 'level': got 'm', expected 'cm', as in train"):
            call()


def test_the_command_line_refuses_other_units(folder, tmp_path):
    copied, new = shutil.copytree(folder, tmp_path / "run"), tmp_path / "new.csv"
    config = copied / "config.toml"
    config.write_text(re.sub(r"(?m)^units.*\n|^\[data\.units\]\n(.+\n)*", "", config.read_text()))
    header, *rows = write_csv(new).read_text().splitlines()
    new.write_text("\n".join([header, "s,V,m", *rows]) + "\n")
    for command in (
        ("predict", copied, new, "--out", tmp_path / "f.csv"),
        ("evaluate", copied, new),
        ("report", copied, "--data", new),
    ):
        said = invoke(*command)
        assert said.exit_code == 1
        assert "got 'm', expected 'cm', as in training" in " ".join(said.output.split())


def test_the_remedy_for_another_step_holds_on_the_command_line_too(folder):
    with pytest.raises(DataError, match=r"Give data with a step of 0\.5 s: resample them\.$"):
        gpssm.load(folder / "seed-0.gpssm").check_step(1.0)


def test_a_rounded_clock_is_believed_to_twice_its_rounding_over_the_record(tmp_path):
    """Over 150 rows half a digit of 0.01 s tells 0.1001 s from 0.1 s."""
    path = log(tmp_path / "log.csv", np.round(0.1001 * np.arange(150), 2))
    assert gpssm.read(path, inputs="u", outputs="y", time="t").sampling_time == 0.1001
