"""Logs as loggers, spreadsheets and MATLAB write them, through `read` and the command line.

Every file holds the same five rows, so that the values that must come out are known.
"""

import bz2
import datetime
import gzip
import os
import warnings

import h5py
import numpy as np
import openpyxl
import pytest
import scipy.io

import gpssm
from support_cli import answer, invoke

U, Y = [1.5, 2.25, -3.0, 4.125, 0.5], [10.0, 11.5, np.nan, 13.25, 14.0]
TIMES = [0.0, 0.5, 1.0, 1.5, 2.0]
COLUMNS = {"inputs": "u", "outputs": "y", "time": "t"}
NAMES = ["t", "u", "y"]


def cell(value, mark):
    return "" if np.isnan(value) else repr(value).replace(".", mark)


def body(separator=",", mark=".", times=TIMES):
    """The rows as text."""
    stamps = [each if isinstance(each, str) else cell(each, mark) for each in times]
    rows = zip(stamps, U, Y, strict=True)
    return [separator.join([t, cell(u, mark), cell(y, mark)]) for t, u, y in rows]


def log(*above, separator=",", mark=".", times=TIMES, names=NAMES):
    return "\n".join([*above, separator.join(names), *body(separator, mark, times)]) + "\n"


LABVIEW = [
    "LabVIEW Measurement\t",
    "Writer_Version\t2",
    "Separator\tTab",
    "Decimal_Separator\t,",
    "Date\t2024/03/01",
    "Time\t10:00:00,25",
    "***End_of_Header***\t",
    "",
    "Channels\t2\t\t",
    "Samples\t5\t5\t",
    "Y_Unit_Label\tV\tcm\t",
    "X0\t0,0\t0,0\t",
    "Delta_X\t0,5\t0,5\t",
    "***End_of_Header***\t\t\t",
]
GERMAN = log(separator=";", mark=",")
TEXTS = {
    "plain.csv": log(),
    "decimal comma.csv": GERMAN,
    "decimal comma and tabs.txt": log(separator="\t", mark=","),
    "decimal comma and blanks.dat": "\n".join(
        ["t u y", *body(" ", ",")[:2], "1,0 -3,0 NaN", *body(" ", ",")[3:]]
    ),
    "tabs.csv": log(separator="\t"),
    "commas.txt": log(separator=", ", names=NAMES),
    "comments.csv": log("# Logger X, version 2", "# started at 10:00", ""),
    "names in a comment.csv": "# Logger X\n# t,u,y\n" + "\n".join(body()),
    "matlab comment.dat": "% t u y\n" + "\n".join(body(" ")).replace("-3.0 ", "-3.0 NaN"),
    "excel.csv": "sep=;\r\n" + GERMAN.replace("\n", "\r\n"),
    "trailing separators.csv": log().replace("\n", ",\n"),
    "trailing separators below.csv": "t,u,y\n" + "".join(f"{row},\n" for row in body()),
    "quotes.csv": '"t";"u";"y"\n' + "".join('"' + r.replace(";", '";"') + '"\n' for r in body(";")),
    "mixed line ends.csv": log().replace("\n", "\r\n", 3),
    "byte order mark.csv": "\ufeff" + log("# Logger X"),
    "blank lines.csv": "\n\n" + log().replace("\n", "\n\n"),
    "events between rows.csv": log().replace("\n1.0", "\n# door opened\n1.0"),
    "clock.csv": log(times=[f"08:00:{s:04.1f}" for s in TIMES]),
    "clock with commas.csv": log(times=[f'"08:00:{s:04.1f}"'.replace(".", ",") for s in TIMES]),
    "midnight.csv": log(times=["23:59:59", "23:59:59.5", "00:00:00", "00:00:00.5", "00:00:01"]),
    "zones.csv": log(times=[f"2024-03-01T10:00:0{s:.1f}+01:00" for s in TIMES]),
    "timetable.csv": log(times=[f"{s:g} sec" for s in TIMES]),
    "matlab dates.csv": log(times=[f"01-Mar-2024 10:00:{s:06.3f}" for s in TIMES]),
    "days first.csv": log(times=[f"13/03/2024 10:00:{s:04.1f}" for s in TIMES]),
    "months first.csv": log(times=[f"3/13/2024 1:00:{s:04.1f} PM" for s in TIMES]),
    "dots.csv": log(times=[f"01.03.2024 08:00:{s:04.1f}" for s in TIMES]),
}
REMARKED = {
    "free text.csv": (log("Pump test of Monday", "Rate;100", "", separator=";"), "rows 1 to 2"),
    "labview.txt": (
        "\n".join([*LABVIEW, "t\tu\ty\tComment", *body("\t", ",")]),
        "names of the columns in row 15",
    ),
    "open quote.csv": (log('"pump', 'of 5" pipe'), "skipped rows 1 to 2"),
    "footer.csv": (log() + "\nEnd of log\n", "below the table"),
    "thousandths.csv": (
        "t;u;y\n" + "".join(f"{t};{u:.3f};{y}\n".replace(".", ",") for t, u, y in
                            zip([1, 2, 3], [1.5, 2.25, 3.125], [1, 2, 3], strict=True)),
        "'1,500' was read with a decimal comma",
    ),
    "day or month.csv": (
        "t,u,y\n" + "".join(f"{t:02d}/01/2024,{t},{t}\n" for t in range(1, 8)),
        "the day first",
    ),
}  # fmt: skip


def check_read(path, **expected):
    """What `gpssm.read` and the command line make of a file."""
    data = gpssm.read(path, **COLUMNS)
    np.testing.assert_array_equal(data[0].u[:, 0], U)
    np.testing.assert_array_equal(data[0].y[:, 0], Y)
    assert data.sampling_time == pytest.approx(expected.get("step", 0.5))
    found = answer("data", "check", path, "--inputs", "u", "--outputs", "y", "--time", "t")
    assert (found["rows"], found["inputs"], found["outputs"]) == (5, ["u"], ["y"])
    assert found["sampling_time"] == data.sampling_time
    return data


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_as_it_is(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(TEXTS[name].encode())
    check_read(path)


@pytest.mark.parametrize("name", REMARKED)
def test_where_something_was_skipped_or_chosen_it_is_said(name, tmp_path):
    text, remark = REMARKED[name]
    (tmp_path / name).write_text(text)
    with pytest.warns(gpssm.DataWarning, match=remark):
        data = gpssm.read(tmp_path / name, **COLUMNS)
    assert data.input_names == ("u",)
    columns = ["--inputs", "u", "--outputs", "y", "--time", "t"]
    result = invoke("data", "check", tmp_path / name, *columns)
    assert result.exit_code == 0, result.output
    listed = invoke("data", "check", tmp_path / name)
    assert listed.exit_code == 0
    assert "u" in listed.stdout


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_encodings_are_recognised(encoding, tmp_path):
    (tmp_path / "log.csv").write_bytes(log("# Füllstand").encode(encoding))
    check_read(tmp_path / "log.csv")


def test_latin_1_is_read_with_a_remark(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(log(names=["t", "u", "höhe"]).encode("latin-1"))
    with pytest.warns(gpssm.DataWarning, match="Windows-1252"):
        assert gpssm.read(path, outputs="höhe").num_rows == 5


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_a_compressed_text_is_read(suffix, pack, tmp_path):
    path = tmp_path / f"log.csv{suffix}"
    path.write_bytes(pack(GERMAN.encode()))
    data = check_read(path)
    assert (data.name, data[0].name) == ("log", "log")


def test_thousands_may_be_grouped_where_another_mark_shows_the_decimals(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("u;y\n1,5;1.234,5\n2,5;2.000,25\n3,5;3.500\n")
    np.testing.assert_array_equal(gpssm.read(path, outputs="y")[0].y[:, 0], [1234.5, 2000.25, 3500])
    path.write_text("u;y\n1.5;1,234.5\n2.5;2,000\n3.5;12\n4.5;2,000.25\n")
    read = gpssm.read(path, outputs="y")[0].y[:, 0]
    np.testing.assert_array_equal(read, [1234.5, 2000, 12, 2000.25])
    path.write_text("u;y\n1.5;1,234.5\n2.5;2.25\n")
    np.testing.assert_array_equal(gpssm.read(path, outputs="y")[0].y[:, 0], [1234.5, 2.25])


@pytest.mark.parametrize("units", ["s,V,cm", "[s],[V],[cm]", "(s),(V),(cm)", '"s","V","cm"'])
def test_a_row_of_units_gives_the_units(units, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(log().replace("t,u,y\n", f"t,u,y\n{units}\n"))
    data = check_read(path)
    assert (data.input_units, data.output_units) == (("V",), ("cm",))
    given = gpssm.read(path, **COLUMNS, units={"y": "m"})
    assert (given.input_units, given.output_units) == (("V",), ("m",))


def test_units_of_two_files_must_agree(tmp_path):
    for name, unit in (("a", "cm"), ("b", "m")):
        (tmp_path / f"{name}.csv").write_text(log().replace("u,y\n", f"u,y\ns,V,{unit}\n"))
    with pytest.raises(gpssm.DataError, match="the unit 'm', expected 'cm'"):
        gpssm.read([tmp_path / "a.csv", tmp_path / "b.csv"], **COLUMNS)


def test_names_with_units_stay_names(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(log(names=["time [s]", "pump [V]", "level [cm]"]))
    data = gpssm.read(path, inputs="pump [V]", outputs="level [cm]", time="time [s]")
    assert data.input_names == ("pump [V]",)
    np.testing.assert_array_equal(data[0].u[:, 0], U)


def test_true_and_false_are_one_and_zero(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("on,y\nTRUE,1\nFALSE,2\ntrue,3\n")
    np.testing.assert_array_equal(gpssm.read(path, inputs="on", outputs="y")[0].u[:, 0], [1, 0, 1])
    assert answer("data", "check", path, "--inputs", "on", "--outputs", "y")["rows"] == 3


def test_a_first_row_with_a_fault_is_no_row_of_names(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,u,y\n0,off,2\n1,1,3\n2,1,4\n")
    result = invoke("data", "check", path, "--inputs", "u", "--outputs", "y")
    assert result.exit_code == 1
    assert "column 'u', row 2: got 'off'" in result.stderr


# ---------------------------------------------------------------------- headers of integers


@pytest.mark.parametrize(
    "text", [",0,1,2\n0,1,2,3\n1,4,5,6\n", "0,1,2\n1.0,2.0,3.0\n4.0,5.5,6.0\n"]
)
def test_a_header_of_integers_is_no_data(text, tmp_path):
    """What pandas writes for a frame without names: with an index, and without one."""
    path = tmp_path / "log.csv"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = gpssm.read(path, inputs="0", outputs=["1", "2"])
    said = [str(each.message) for each in caught]
    assert [f"{path}: column 1 has no name and was skipped" in each for each in said] == (
        [True] if text.startswith(",") else []
    )
    np.testing.assert_array_equal(data[0].u[:, 0], [1, 4])
    assert list(answer("data", "check", path)["columns"][str(path)].values()) == [2, 2, 2]


def test_a_header_may_count_from_one(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("1,2\n0.5,2.25\n0.7,5.5\n")
    data = gpssm.read(path, inputs="1", outputs="2")
    np.testing.assert_array_equal(data[0].y[:, 0], [2.25, 5.5])


@pytest.mark.parametrize("text", ["5,7,2\n1,2,3\n2,3,4\n", "0.5,1.5\n0.7,2.5\n"])
def test_a_table_without_names_is_told(text, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text)
    result = invoke("data", "check", path, "--inputs", "0", "--outputs", "1")
    assert "row 1 was taken for values, and the columns are called 0, 1, …" in result.stderr


def test_an_unclear_header_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("0,1,2\n1,2,3\n2,3,4\n")
    result = invoke("data", "check", path)
    assert result.exit_code == 1
    assert "Write a first row with a name for every column" in result.stderr


# ---------------------------------------------------------------------- workbooks, MATLAB


def test_a_workbook_is_read(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Pump test"])
    sheet.append([])
    sheet.append(["t", "u", "y", "on"])
    sheet.append(["s", "V", "cm"])
    start = datetime.datetime(2024, 3, 1, 8)
    for time, u, y in zip(TIMES, U, Y, strict=True):
        stamp = start + datetime.timedelta(seconds=time)
        sheet.append([stamp, u, None if np.isnan(y) else y, u > 0])
    book.create_sheet("notes").append(["nothing of interest"])
    book.save(tmp_path / "log.xlsx")
    with pytest.warns(gpssm.DataWarning, match="read the sheet 'Sheet' and skipped notes"):
        data = check_read(tmp_path / "log.xlsx")
    assert (data.input_units, data.output_units) == (("V",), ("cm",))
    with pytest.warns(gpssm.DataWarning, match="skipped row 1 above"):
        switch = gpssm.read(tmp_path / "log.xlsx", outputs="on")
    np.testing.assert_array_equal(switch[0].y[:, 0], [1, 1, 0, 1, 1])


def structures_v5(path):
    runs = np.empty(2, dtype=[("y", "O"), ("gain", "O"), ("note", "O")])
    runs[0], runs[1] = (np.arange(4.0), 3.0, "cold"), (np.arange(5.0), 7.0, "warm")
    scipy.io.savemat(path, {"runs": runs, "y": np.ones(3)})


def structures_v73(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["y"] = np.ones((1, 3))
        stored = {"y": ([np.arange(4.0)[None], np.arange(5.0)[None]]), "gain": [[[3.0]], [[7.0]]]}
        stored["note"] = [np.array([[99]], "u2"), np.array([[119]], "u2")]
        for key, values in stored.items():
            references = []
            for i, value in enumerate(values):
                node = file.create_dataset(f"#refs#/{key}{i}", data=value)
                node.attrs["MATLAB_class"] = np.bytes_("char" if key == "note" else "double")
                references.append([node.ref])
            file.create_dataset(f"runs/{key}", data=references, dtype=h5py.ref_dtype)


@pytest.mark.parametrize("write", [structures_v5, structures_v73])
def test_arrays_of_structures_are_read_and_texts_are_said_to_be_skipped(write, tmp_path):
    path = tmp_path / "rig.mat"
    write(path)
    with pytest.warns(gpssm.DataWarning, match=r"skipped runs\[0\].note, runs\[1\].note"):
        data = gpssm.read(path, outputs="runs[1].y")
    np.testing.assert_array_equal(data[0].y[:, 0], np.arange(5.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(gpssm.read(path, outputs="runs.gain")[0].y[:, 0], [3, 7])
        with pytest.raises(gpssm.DataError, match=r"'runs\[0\].note': got a text"):
            gpssm.read(path, outputs="runs[0].note")
    columns = answer("data", "check", path)["columns"][str(path)]
    assert columns["runs[0].y"] == 4
    assert columns["runs[1].y"] == 5
    listed = invoke("data", "check", path).stdout
    assert "skipped runs[0].note: a text" in listed
    assert "  runs[0].y: 4 rows\n  " in listed
    assert columns["runs.gain"] == 2
    assert "skipped runs[0].gain" not in listed


def test_variables_are_listed_without_reading_them(tmp_path):
    """The large one would be refused: it claims gigabytes in a file of some kilobytes."""
    path = tmp_path / "log.mat"
    with h5py.File(path, "w") as file:
        file.create_dataset("big", (1, 600_000_000), "f8", chunks=(1, 100_000), compression="gzip")
        file["y"] = np.arange(5.0)[None]
    assert answer("data", "check", path)["columns"] == {str(path): {"big": 600_000_000, "y": 5}}
    result = invoke("data", "check", path, "--outputs", "big")
    assert result.exit_code == 1
    assert "an array 'big' of 4578 MiB" in result.stderr


@pytest.mark.parametrize("name", ["folder", "pipe", "zero"])
def test_what_is_no_regular_file_is_refused_by_name(name, tmp_path):
    path = tmp_path / f"{name}.csv"
    make = {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path)}
    make.get(name, lambda: path.symlink_to("/dev/zero"))()
    result = invoke("data", "check", path, "--outputs", "y")
    assert result.exit_code == 1
    assert f"{path}: got a " in result.stderr
