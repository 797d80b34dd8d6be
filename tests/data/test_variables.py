"""Arrays as columns: those of MAT and NPZ files, and of xarray data sets."""

import warnings

import numpy as np
import pytest

from gpssm import DataError, Dataset, DataWarning
from gpssm.data.io.tables import Request, resolve
from gpssm.data.io.variables import Variable, variables_table, warn_skipped

xarray = pytest.importorskip("xarray")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "log.mat").write_bytes(b"0")
    return tmp_path / "log.mat"


@pytest.mark.parametrize(
    ("shape", "rows", "channels", "wide"),
    [
        ((4,), 4, 1, False), ((4, 1), 4, 1, False), ((1, 4), 4, 1, True), ((2, 4), 4, 2, True),
        ((4, 2), 4, 2, False), ((3, 3), 3, 3, False),
    ],
)  # fmt: skip
def test_time_runs_along_the_longer_side(path, shape, rows, channels, wide):
    values = np.arange(np.prod(shape)).reshape(shape)
    variable = Variable.of(path, "y", values)
    assert (variable.rows, variable.channels, variable.is_wide) == (rows, channels, wide)
    wanted = values.T if wide else values.reshape(rows, channels)
    np.testing.assert_array_equal(variable.values, wanted)


@pytest.mark.parametrize("found", [np.zeros(4), np.zeros(3, complex), np.array(["a", "b", "c"])])
def test_an_array_that_is_not_what_was_said_is_refused(path, found):
    with pytest.raises(DataError, match="array 'y' is not what its header says"):
        Variable(path, "y", (3,), lambda: found).values  # noqa: B018


def test_an_array_is_read_once_and_only_if_it_can_be_true(path, monkeypatch):
    monkeypatch.setattr("gpssm.data.io.opening._ALWAYS", 800)
    seen = []
    load = lambda: seen.append(1) or np.zeros((10, 10))  # noqa: E731
    variable = Variable(path, "y", (10, 10), load)
    assert variable.values is variable.values
    assert len(seen) == 1
    for shape, size in (((100,), 9), ((101,), 8), ((25, 5), 8)):
        with pytest.raises(DataError, match="got an array 'y' of 0 MiB or more"):
            Variable(path, "y", shape, load, size).values  # noqa: B018
    assert len(seen) == 1


def test_channels_have_names_and_what_is_no_column_a_reason(path):
    shapes = {"t": (4,), "y": (4, 2), "cube": (2, 3, 4), "gain": (), "none": (0, 3), "row": (1, 4)}
    arrays = {name: np.arange(float(np.prod(s))).reshape(s) for name, s in shapes.items()}
    variables = [Variable.of(path, name, values) for name, values in arrays.items()]
    table = variables_table(path, variables, {"note": "a text"})
    assert list(table.columns) == ["t", "y[0]", "y[1]", "row"]
    assert (len(table.columns), "y[1]" in table.columns, "y" in table.columns) == (4, True, False)
    assert table.columns["y[1]"].tolist() == [1, 3, 5, 7]
    assert table.columns["row"].tolist() == [0, 1, 2, 3]
    assert (table.groups, table.name, table.source) == ({"y": ("y[0]", "y[1]")}, "log", str(path))
    assert [table.length(name) for name in ("t", "y[1]")] == [4, 4]
    assert table.refused == {
        "note": "a text", "cube": "an array of shape (2, 3, 4)", "gain": "a single number",
        "none": "an array of shape (0, 3)",
    }  # fmt: skip
    assert resolve(table, Request(("y",), ("t",)))[:2] == (("t",), ("y[0]", "y[1]"))


@pytest.mark.parametrize(("count", "end"), [(1, "n0"), (20, "n18, n19"), (21, "n18, n19, …")])
def test_elements_that_are_skipped_are_listed(path, count, end):
    with pytest.warns(DataWarning) as said:
        warn_skipped(path, "runs", [f"n{i}" for i in range(count)])
    text = str(said[0].message)
    assert text.startswith(f"{path}: skipped n0")
    assert text.endswith(f"{end} of the array 'runs': they are no arrays of numbers.")


def test_nothing_skipped_is_no_remark(path):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_skipped(path, "runs", [])
    assert said == []


# ---------------------------------------------------------------------- xarray


def source(**more):
    """An output of two channels whose time is the second side, an input, and a cube."""
    variables = {
        "y": (("channel", "time"), np.arange(8.0).reshape(2, 4), {"units": "m"}),
        "u": (("time",), np.arange(4.0)),
        "cube": (("time", "a", "b"), np.zeros((4, 2, 2))),
        "gain": ((), 3.0),
        **more,
    }
    return xarray.Dataset(variables, coords={"time": 0.5 * np.arange(4)})


def test_variables_along_time_are_columns():
    data = Dataset.from_xarray(source(), inputs="u", outputs="y", time="time", name="rig")
    np.testing.assert_array_equal(data[0].y, np.arange(8.0).reshape(2, 4).T)
    assert (data[0].name, data.output_names, data.sampling_time) == ("rig", ("y[0]", "y[1]"), 0.5)
    with pytest.raises(
        DataError, match=r"xarray data set 'data': got column 'cube'.* It has \[.*'time', 'y'\]"
    ):
        Dataset.from_xarray(source(), outputs=["u", "cube"])


def test_without_a_time_it_is_the_first_dimension_of_the_first_output():
    data = Dataset.from_xarray(source(), outputs=["u"])
    assert (len(data[0]), data.sampling_time) == (4, None)
    assert Dataset.from_xarray(source(), outputs="y")[0].y.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(DataError, match=r"the xarray data set: got variable 'z', expected one of"):
        Dataset.from_xarray(source(), outputs="z")
    with pytest.raises(DataError, match="variable 'gain': got no dimension, expected one that is"):
        Dataset.from_xarray(source(), outputs="gain")


def test_an_experiment_may_be_a_variable_along_time():
    data = Dataset.from_xarray(
        source(run=(("time",), ["a", "a", "b", "b"])), outputs="u", experiment="run"
    )
    assert [(each.name, each.y[:, 0].tolist()) for each in data] == [("a", [0, 1]), ("b", [2, 3])]


def test_padding_is_cut_off_where_neither_input_nor_output_is_known():
    gap = np.nan
    y = np.array([[1.0, 2, 3, 4, 5], [1, gap, 3, gap, gap]])
    u = np.array([[1.0, 2, 3, 4, 5], [1, 2, 3, 4, gap]])
    data = xarray.Dataset(
        {"y": (("run", "time"), y), "u": (("run", "time"), u), "other": (("time",), np.ones(5))},
        coords={"run": [1, 2]},
    )
    found = Dataset.from_xarray(data, inputs="u", outputs="y", experiment="run")
    assert [(each.name, len(each)) for each in found] == [("1", 5), ("2", 4)]
    np.testing.assert_array_equal(found[1].y[:, 0], y[1, :4])
    assert [len(each) for each in Dataset.from_xarray(data, outputs="y", experiment="run")] == [
        5,
        3,
    ]
    data["y"][1] = gap
    with pytest.raises(DataError, match="got 0 rows of data"):
        Dataset.from_xarray(data, outputs="y", experiment="run")
