"""Round trips through every format: what was written is what is read, gaps included."""

import csv

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gpssm.data as gd

COLUMNS = ("pump", "valve", "level", "flow")
number = st.floats(allow_nan=False, allow_infinity=False)
gappy = st.one_of(number, st.just(float("nan")))


def rows(draw):
    count = draw(st.integers(5, 12))
    u = draw(hnp.arrays(np.float64, (count, 2), elements=number))
    y = draw(hnp.arrays(np.float64, (count, 2), elements=gappy))
    y[0] = 1.0  # at least one measured value of each
    return np.concatenate([u, y], axis=1)


recordings = st.composite(lambda draw: rows(draw))()


def write_csv(path, values, separator=","):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(COLUMNS)
        writer.writerows([["" if np.isnan(v) else repr(float(v)) for v in row] for row in values])


def write_text(path, values):
    lines = [" ".join("nan" if np.isnan(v) else repr(float(v)) for v in row) for row in values]
    path.write_text("\n".join([" ".join(COLUMNS), *lines]))


def write_mat_v73(path, values):
    """MATLAB writes its arrays transposed, after a block of 512 bytes of its own."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, column in zip(COLUMNS, values.T, strict=True):
            file.create_dataset(name, data=column[None, :])


def as_dict(values):
    return dict(zip(COLUMNS, values.T, strict=True))


WRITERS = {
    "log.csv": write_csv,
    "semicolon.csv": lambda path, values: write_csv(path, values, ";"),
    "log.tsv": lambda path, values: write_csv(path, values, "\t"),
    "log.dat": write_text,
    "log.parquet": lambda path, values: pd.DataFrame(as_dict(values)).to_parquet(path),
    "log.mat": lambda path, values: scipy.io.savemat(path, as_dict(values)),
    "log73.mat": write_mat_v73,
    "log.npz": lambda path, values: np.savez(path, **as_dict(values)),
}


@pytest.mark.parametrize("name", WRITERS)
@given(values=recordings)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
def test_what_was_written_is_read(name, tmp_path, values):
    WRITERS[name](tmp_path / name, values)
    data = gd.read(tmp_path / name, inputs=["valve", "pump"], outputs=["level", "flow"])
    np.testing.assert_array_equal(data[0].u, values[:, [1, 0]])
    np.testing.assert_array_equal(data[0].y, values[:, 2:])
    assert data.input_names == ("valve", "pump")
    assert data.name == name.split(".")[0]


# ---------------------------------------------------------------------- text files


def test_a_time_column_gives_the_sampling_time(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,u,y\n0.0,1,2\n0.1,1,\n0.2001,1,4\n0.3,1,NA\n")
    data = gd.read(path, inputs="u", outputs="y", time="t")
    assert data.sampling_time == pytest.approx(0.1)
    np.testing.assert_array_equal(data[0].mask[:, 0], [True, False, True, False])


def test_dates_are_times_and_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = tmp_path / "log.csv"
    stamps = ["2024-03-01T10:00:00Z", "2024-03-01T10:00:00.250Z", "2024-03-01T10:00:00.500Z"]
    path.write_text("\ufefft,y\n" + "".join(f"{s},1.5\n" for s in stamps), encoding="utf-8")
    assert gd.read(path, outputs="y", time="t").sampling_time == pytest.approx(0.25)


def test_a_file_of_numbers_alone_has_columns_by_position(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("1,2\n3,4\n5,6\n\n")
    data = gd.read(path, inputs=0, outputs=[1])
    np.testing.assert_array_equal(data[0].u[:, 0], [1, 3, 5])
    np.testing.assert_array_equal(data[0].y[:, 0], [2, 4, 6])


def test_a_lone_column_may_have_blank_lines_as_gaps(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("y\n1\n\n3\n")
    np.testing.assert_array_equal(gd.read(path, outputs="y")[0].y[:, 0], [1, np.nan, 3])


def test_an_experiment_column_cuts_the_file_where_its_clock_restarts(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("run,t,y\n7,0,1\n7,1,2\n9,0,3\n9,1,4\n9,2,5\n")
    data = gd.read(path, outputs="y", time="t", experiment="run")
    assert [(each.name, each.y[:, 0].tolist()) for each in data] == [
        ("7", [1, 2]),
        ("9", [3, 4, 5]),
    ]


def test_several_files_are_several_experiments(tmp_path):
    for name, count in (("monday", 3), ("friday", 5)):
        write_csv(tmp_path / f"{name}.csv", np.ones((count, 4)))
    paths = [tmp_path / "monday.csv", str(tmp_path / "friday.csv")]
    data = gd.read(paths, outputs="level", sampling_time=0.5)
    assert [(each.name, len(each)) for each in data] == [("monday", 3), ("friday", 5)]
    assert data.sampling_time == 0.5


# ---------------------------------------------------------------------- matrices


@pytest.mark.parametrize("name", ["m.mat", "m.npz"])
def test_time_runs_along_the_longest_side_and_channels_have_names(name, tmp_path):
    torque, position = np.arange(12.0).reshape(2, 6), np.arange(18.0).reshape(6, 3)
    arrays = {"torque": torque, "position": position, "gain": 3.0}
    path = tmp_path / name
    scipy.io.savemat(path, arrays) if name == "m.mat" else np.savez(path, **arrays)
    data = gd.read(path, inputs="torque", outputs=["position[2]", "position[0]"])
    np.testing.assert_array_equal(data[0].u, torque.T)
    np.testing.assert_array_equal(data[0].y, position[:, [2, 0]])
    assert data.input_names == ("torque[0]", "torque[1]")


def test_fields_of_structures_are_found_by_their_path(tmp_path):
    scipy.io.savemat(tmp_path / "s.mat", {"log": {"u": np.arange(4.0), "y": np.ones(4)}})
    assert gd.read(tmp_path / "s.mat", inputs="log.u", outputs="log.y").num_rows == 4
    with h5py.File(tmp_path / "s73.mat", "w") as file:
        file["log/y"] = np.ones((1, 4))
    assert gd.read(tmp_path / "s73.mat", outputs="log.y").num_rows == 4


def test_integers_are_numbers_before_any_arithmetic(tmp_path):
    big = np.array([30000, 30000, -30000], dtype=np.int16)
    scipy.io.savemat(tmp_path / "i.mat", {"u": big, "y": np.ones(3)})
    data = gd.read(tmp_path / "i.mat", inputs="u", outputs="y")
    assert data[0].u.sum() == 30000.0
