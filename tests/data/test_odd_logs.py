"""Logs that could be read in two ways, or lose a row: they are read right, remarked or refused."""

import datetime

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pytest
import scipy.io

import gpssm
from gpssm.data.io.archive import load_saved_dataset, save_dataset
from gpssm.data.stamps import Stamps

COLUMNS = {"inputs": "u", "outputs": "y", "time": "t"}


def written(path, text):
    path.write_text(text)
    return path


def log(path, times, name="t", units=""):
    """Ten rows or as many as there are times; u counts up, y down."""
    rows = "".join(f"{t},{i},{-i}\n" for i, t in enumerate(times))
    return written(path, f"{name},u,y\n{units}{rows}")


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


# ---------------------------------------------------------------------- time


def test_the_row_of_units_gives_the_unit_of_time(tmp_path):
    path = log(tmp_path / "log.csv", range(0, 100, 10), units="ms,V,m\n")
    data = gpssm.read(path, **COLUMNS)
    assert data.sampling_time == pytest.approx(0.01)
    assert "read in ms, as the row of units says" in data.notes[0]
    assert gpssm.read(path, **COLUMNS, time_unit="us").sampling_time == pytest.approx(1e-5)
    path = log(tmp_path / "named.csv", range(0, 100, 10), "t_ms", "s,V,m\n")
    with pytest.raises(gpssm.DataError, match=r"unit 's'.*'ms' as in its name.*--time-unit"):
        gpssm.read(path, **COLUMNS | {"time": "t_ms"})


def test_a_date_without_a_clock_has_no_offset(tmp_path):
    days = [f"{day:02d}-03-2024" for day in range(11, 21)]
    with pytest.warns(gpssm.DataWarning, match="day first"):
        stamps = gpssm.read(log(tmp_path / "log.csv", days), **COLUMNS)[0].stamps
    assert not stamps.utc
    assert stamps.written()[0] == "2024-03-11T00:00:00"
    for offset in ("Z", "+01:00", "-0500", " +0100"):
        times = [f"2024-03-01T08:00:{s:02d}{offset}" for s in range(10)]
        assert gpssm.read(log(tmp_path / "log.csv", times), **COLUMNS)[0].stamps.utc


def test_hours_beyond_a_day_are_written_as_they_were_read(tmp_path):
    times = [f"{hour:02d}:00:00" for hour in range(20, 30)]
    data = gpssm.read(log(tmp_path / "log.csv", times), **COLUMNS)
    save_dataset(tmp_path / "data.npz", data)
    stamps = load_saved_dataset(tmp_path / "data.npz")[0].stamps
    assert list(stamps.written()) == times
    assert list(stamps.after(np.array([3600.0 * 90])).written()) == ["110:00:00"]


@pytest.mark.parametrize("read", ["csv", "frame"])
def test_nanoseconds_since_1970_stay_whole(tmp_path, read):
    times = 1_700_000_000_123_456_789 + 10_000_001 * np.arange(10)
    if read == "csv":
        data = gpssm.read(log(tmp_path / "log.csv", times), **COLUMNS, time_unit="ns")
    else:
        frame = pd.DataFrame({"t": times, "u": np.arange(10), "y": np.arange(10)})
        data = gpssm.Dataset.from_pandas(frame, **COLUMNS, time_unit="ns")
    assert data.sampling_time == pytest.approx(0.010000001, rel=1e-12)
    stamps = data[0].stamps
    np.testing.assert_array_equal(stamps.written(), times)
    np.testing.assert_array_equal(stamps.after(stamps.seconds).written(), times)


def test_excel_has_clock_times_of_more_than_a_day(tmp_path):
    times = [datetime.time(23)] + [datetime.timedelta(hours=h) for h in range(24, 33)]
    rows = [["t", "u", "y"], *([t, i, i] for i, t in enumerate(times))]
    data = gpssm.read(workbook(tmp_path / "log.xlsx", rows), **COLUMNS)
    assert data.sampling_time == 3600.0
    assert list(data[0].stamps.written()[:3]) == ["23:00:00", "24:00:00", "25:00:00"]


def sensors(path, u):
    """Two sensors, each in rows of its own at the same stamps."""
    rows = "".join(f"{t},{u[t]},{t},\n{t},,,{-t}\n" for t in range(10))
    return written(path, f"t,u,y,z\n{rows}")


def test_a_lag_of_inputs_with_gaps_is_refused(tmp_path):
    path = sensors(tmp_path / "log.csv", range(10))
    several = COLUMNS | {"outputs": ["y", "z"], "resample": 1.0}
    assert gpssm.read(path, **several).num_rows == 10  # a value of each channel at a stamp
    for lag in (1, 18):
        with pytest.raises(gpssm.DataError, match=r"'u', row 3: got a gap in.*--input-lag"):
            gpssm.read(path, **several, input_lag=lag)


def test_stamps_that_are_too_coarse_are_not_resampled(tmp_path):
    path = log(tmp_path / "log.csv", np.arange(100) // 10)
    with pytest.raises(gpssm.DataError, match=r"row 3: got a second value at the same time stamp"):
        gpssm.read(path, **COLUMNS, resample=0.1)


# ---------------------------------------------------------------------- decimal marks


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("t\tu\ty\n0\t0.5\t1,000\n1\t0.25\t2,000\n2\t0.75\t3,000\n", "'1,000'"),
        ("t;u;y\n0;1;999\n1;2;1.234\n2;3;7\n", "'1.234'"),
        ("t;u;y\n0;1;999\n1;2;1,234\n2;3;7\n", "'1,234'"),
    ],
)
def test_a_mark_that_may_group_thousands_is_refused(tmp_path, text, given):
    with pytest.raises(gpssm.DataError, match=rf"column 'y': got {given}, which may be 1\d\d\d or"):
        gpssm.read(written(tmp_path / "log.txt", text), **COLUMNS)


def test_other_columns_tell_the_decimal_mark(tmp_path):
    for mark in ".,":
        text = "t;u;y\n0;0,5;999\n1;2;1,234\n2;3;7\n".replace(",", mark)
        data = gpssm.read(written(tmp_path / "log.csv", text), **COLUMNS)
        np.testing.assert_array_equal(data[0].y[:, 0], [999, 1.234, 7])


# ---------------------------------------------------------------------- rows


def test_an_empty_row_of_a_sheet_is_a_gap(tmp_path):
    rows = [["u", "y"], [], [0, 10], [1, 11], [None, None], [3, 13], [4, None], [None]]
    data = gpssm.read(workbook(tmp_path / "log.xlsx", rows), outputs="y")
    np.testing.assert_array_equal(data[0].y[:, 0], [10, 11, np.nan, 13, np.nan])
    with pytest.raises(gpssm.DataError, match="column 'u', row 5: got a gap in an input"):
        gpssm.read(tmp_path / "log.xlsx", inputs="u", outputs="y")


@pytest.mark.parametrize(
    ("inside", "remark"),
    [
        ("\n", "skipped row 3 inside"),
        ("# door opened\n", "skipped row 3 inside"),
        ("\n# door\n", "skipped row 3 and 1 more inside"),
    ],
)
def test_lines_that_are_skipped_inside_the_table_are_told(tmp_path, inside, remark):
    path = written(tmp_path / "log.csv", f"t,u,y\n0,1,2\n{inside}1,1,3\n")
    with pytest.warns(gpssm.DataWarning, match=remark):
        assert gpssm.read(path, **COLUMNS).num_rows == 2


def test_lines_around_the_table_are_no_rows_inside(tmp_path, recwarn):
    path = written(tmp_path / "log.csv", "# log\n\nt,u,y\n\n# s,V,m\n0,1,2\n1,1,3\n\n# end\n")
    assert gpssm.read(path, **COLUMNS).num_rows == 2
    assert not [each for each in recwarn if issubclass(each.category, gpssm.DataWarning)]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_a_footer_as_wide_as_the_table_is_no_row(tmp_path, suffix):
    rows = [["t", "u", "y"], [0, 1, 10], [1, 2, 11], ["Sum", 3, 21], ["Average", 99, 999]]
    path = tmp_path / f"log.{suffix}"
    if suffix == "csv":
        written(path, "".join(",".join(map(str, row)) + "\n" for row in rows))
    else:
        workbook(path, rows)
    with pytest.warns(gpssm.DataWarning, match="skipped rows 4 to 5 below the table"):
        data = gpssm.read(path, inputs="u", outputs="y")
    np.testing.assert_array_equal(data[0].y[:, 0], [10, 11])


def test_an_experiment_with_a_name_among_numbers_is_no_footer(tmp_path):
    rows = [f"{name},{i}\n" for name in (1, 2, 3, "calm") for i in range(10)]
    path = written(tmp_path / "log.csv", "run,y\n" + "".join(rows))
    data = gpssm.read(path, outputs="y", experiment="run")
    assert [each.name for each in data] == ["1", "2", "3", "calm"]


@pytest.mark.parametrize("fault", ["null", "external"])
def test_elements_of_an_array_of_structures_keep_their_places(tmp_path, fault):
    (tmp_path / "other.raw").write_bytes(np.ones(4).tobytes())
    with h5py.File(tmp_path / "log.mat", "w") as file:
        for key, rows in (("y", 4), ("gain", 1)):
            nodes = [file.create_dataset(f"#refs#/{key}{i}", data=np.full(rows, i)) for i in (0, 2)]
            outside = [(str(tmp_path / "other.raw"), 0, 8 * rows)]
            bad = file.create_dataset(f"#refs#/{key}1", (rows,), float, external=outside)
            middle = h5py.Reference() if fault == "null" else bad.ref
            references = np.array([nodes[0].ref, middle, nodes[1].ref], dtype=object)
            file.create_dataset(f"runs/{key}", data=references, dtype=h5py.ref_dtype)
    with pytest.warns(gpssm.DataWarning, match=r"skipped runs\[1\].y of the array"):
        data = gpssm.read(tmp_path / "log.mat", outputs="runs[2].y")
    np.testing.assert_array_equal(data[0].y[:, 0], [2, 2, 2, 2])
    with pytest.warns(gpssm.DataWarning, match="skipped"):
        gains = gpssm.read(tmp_path / "log.mat", outputs="runs.gain")
    np.testing.assert_array_equal(gains[0].y[:, 0], [0, np.nan, 2])


def test_what_is_no_column_of_an_array_of_structures_is_told(tmp_path):
    runs = np.empty(2, dtype=object)
    runs[:] = [{"y": np.arange(4.0), "note": "calm"}, {"y": np.arange(3.0), "note": "rough"}]
    scipy.io.savemat(tmp_path / "log.mat", {"runs": runs})
    with pytest.warns(gpssm.DataWarning, match=r"skipped runs\[0\].note, runs\[1\].note"):
        data = gpssm.read(tmp_path / "log.mat", outputs="runs[1].y")
    np.testing.assert_array_equal(data[0].y[:, 0], [0, 1, 2])


def test_clocks_of_half_days_count_from_one_to_twelve(tmp_path):
    times = [f"{hour}:00:00 {half}" for half in ("AM", "PM") for hour in (12, *range(1, 12))]
    data = gpssm.read(log(tmp_path / "log.csv", times), **COLUMNS)
    assert data.sampling_time == 3600.0
    with pytest.raises(gpssm.DataError, match="13:00:00 PM"):
        gpssm.read(log(tmp_path / "wrong.csv", [*times, "13:00:00 PM"]), **COLUMNS)


def test_no_stamps_have_no_seconds():
    assert Stamps("t", np.zeros(0)).seconds.shape == (0,)
