"""Several files or frames as one data set: names, units, notes and the common step."""

import numpy as np
import pandas as pd
import pytest

from gpssm import DataError, Dataset
from gpssm.data.io.gathering import gather
from gpssm.data.io.pieces import check_table
from gpssm.data.io.tables import Request, Table
from gpssm.data.io.timing import Timing


def table(**columns):
    return Table("log", {name: np.array(values) for name, values in columns.items()})


def complaint(call, *args, **kwargs):
    with pytest.raises(DataError) as error:
        call(*args, **kwargs)
    return str(error.value)


RUNS = {"outputs": "y", "inputs": "u", "time": "t", "experiment": "run", "timing": Timing()}


def two_runs():
    """Two experiments whose rows alternate, four of each."""
    t, run = np.repeat([0.0, 1.0, 2.0, 3.0], 2), np.tile([7.0, 3.0], 4)
    return table(run=run, t=t, u=np.arange(8.0), y=10.0 + np.arange(8.0))


def rounded(rows=60):
    t = np.round(0.015 * np.arange(rows), 2)
    return table(t=t, y=np.ones(rows))


def gathered(*files, units=(), step=None, **request):
    request = Request.of(
        **{"outputs": "y", "inputs": (), "time": None, "experiment": None, **request}
    )
    return gather([check_table(each, request) for each in files], request, step, dict(units))


def test_experiments_of_several_files_are_named_by_both():
    assert [e.name for e in gathered(two_runs(), **RUNS).experiments] == ["7", "3"]
    both = gathered(two_runs(), two_runs(), **RUNS)
    assert [e.name for e in both.experiments] == ["data/7", "data/3"] * 2
    assert (both.input_names, both.output_names, both.sampling_time) == (("u",), ("y",), 1.0)
    assert (both.notes, both.steps) == ((), ())
    np.testing.assert_array_equal(both.experiments[3].u[:, 0], [1, 3, 5, 7])


def test_units_given_come_before_those_of_the_files():
    made = Table("log", two_runs().columns, units={"u": "V", "y": "m"})
    found = gathered(made, inputs="u", timing=Timing(), units={"y": "cm"}, step=0.5)
    assert (found.input_units, found.output_units) == (("V",), ("cm",))
    assert found.sampling_time == 0.5


def test_notes_are_told_once():
    ms = table(t_ms=np.arange(5.0), y=np.ones(5))
    found = gathered(ms, ms, time="t_ms", timing=Timing())
    assert found.notes == (
        "'t_ms' is read in ms, as its name says (--time-unit or time_unit= changes it)",
    )
    found = gathered(ms, time="t_ms", timing=Timing("s", resample=2.0))
    assert (found.notes, found.steps) == ((), ("resample(2)",))
    assert gathered(ms, timing=Timing(resample=2.0), step=1.0).steps == ()


def test_stamps_off_equal_steps_are_told_with_the_worst():
    rows, t = np.arange(60), rounded().columns["t"]
    worst = max(abs(t - np.polyval(np.polyfit(rows, t, 1), rows)))
    said = (
        f"time stamps lie up to {worst:.2g} s ({worst / 0.00015:.0f} % of a step) "
        "off equal steps{}, and are read as equal steps of 0.015 s"
    )
    (note,) = gathered(rounded(), time="t", timing=Timing()).notes
    assert note == said.format("")
    even = table(t=0.015 * np.arange(60), y=np.ones(60))
    little = table(t=0.015 * (np.arange(60) + 0.1 * (np.arange(60) == 30)), y=np.ones(60))
    (note,) = gathered(even, little, rounded(), time="t", timing=Timing()).notes
    assert note == said.format(" in 2 of 3 experiments")


def test_no_files_and_no_measurements_are_refused():
    request = Request(("y",))
    assert complaint(gather, [], request, None, {}) == "files: got none, expected at least one."
    message = complaint(gathered, table(y=[np.nan, np.nan]), timing=Timing())
    assert message.startswith("log, output 'y': got missing values only")


# ---------------------------------------------------------------------- frames


def test_frames_are_named_by_their_keys_or_counted():
    frame = pd.DataFrame({"y": [1.0, 2.0]})
    named = Dataset.from_pandas({"calm": frame, 3: 2 * frame}, outputs="y")
    assert [(each.name, each.y[:, 0].tolist()) for each in named] == [
        ("calm", [1, 2]),
        ("3", [2, 4]),
    ]
    counted = Dataset.from_pandas([frame, frame], outputs="y", name="rig")
    assert [each.name for each in counted] == ["rig-0", "rig-1"]
    assert Dataset.from_pandas(frame, outputs="y", name="rig")[0].name == "rig"
    message = complaint(Dataset.from_pandas, {"calm": frame, "wild": frame}, outputs="z")
    assert message.startswith("frame 'calm': got column 'z'")
    assert complaint(Dataset.from_pandas, frame, outputs="z").startswith("the frame: got")
