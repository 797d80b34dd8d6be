"""Whatever a file holds and whatever is typed: a readable line, no traceback, no file lost."""

import random
import string

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpssm.base.errors import ConfigError
from gpssm.cli import app
from gpssm.data.io.files import READERS
from support_cli import all_commands, invoke, write_csv

BOUNDED = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MANY = settings(BOUNDED, max_examples=150)
PRECIOUS = "u,y\n" + "1,2\n3,4\n" * 40
WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["u", "y", ".", "..", "", "-", "--", "-1", "0", "nan", "1e999", "kink", "\x00", "--help",
         "precious.csv", "nowhere.csv", "new/file.html", "table1", "cost", "pr-ssm", "a" * 300]
    ),
)  # fmt: skip
CELLS = st.one_of(
    st.floats().map(str), st.text(string.printable, max_size=6), st.sampled_from(["", "NA", "1"])
)
COMMANDS = dict(all_commands(typer.main.get_command(app)))
OPTIONS = {
    name: [option for each in command.params for option in each.opts if option.startswith("--")]
    for name, command in COMMANDS.items()
}
SWITCHES = {
    option
    for c in COMMANDS.values()
    for p in c.params
    for option in p.opts
    if p.nargs == 0 or getattr(p, "is_flag", False)
}


def assert_readable(result):
    """Done, or one line with the reason, or wrong usage; never a traceback."""
    assert result.exit_code in (0, 1, 2), result.output
    assert "Traceback" not in result.output
    assert "error: unexpected" not in result.stderr, result.stderr  # what nobody foresaw
    if result.exit_code == 1:
        lines = [
            line
            for line in result.stderr.splitlines()
            if not line.startswith(("warning: ", "remark: "))
        ]
        assert len(lines) == 1
        assert lines[0].startswith("error: ")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a file that must survive."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious.csv").write_text(PRECIOUS)
    return tmp_path


@pytest.fixture
def nothing_heavy(monkeypatch):
    """Everything up to the work itself: nothing is trained, and no experiment starts."""

    def refused(*_, **__):
        raise ConfigError("training: got a request, expected none in this test.")

    monkeypatch.setattr("gpssm.workflow.fitting.fit", refused)
    monkeypatch.setattr("gpssm.workflow.demo.main", refused)


@st.composite
def calls(draw, words):
    """Arguments and options of a command, most of them with a value that makes no sense."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    call = draw(st.lists(words, max_size=4))
    for option in draw(st.lists(st.sampled_from(OPTIONS[command]), max_size=3)):
        call += [option] if option in SWITCHES else [option, draw(words)]
    return [*command.split(), *(word for word in call if word != "--debug")]


def test_no_command_is_left_out():
    assert set(COMMANDS) >= {"fit", "predict", "evaluate", "report", "compare", "demo"}
    assert set(COMMANDS) >= {"data list", "data fetch", "data check"}
    assert "--test-fraction" in OPTIONS["fit"]
    assert {"--json", "--overwrite", "--quiet"} <= SWITCHES


@MANY
@given(call=calls(WORDS))
def test_any_words_are_answered(place, nothing_heavy, call):
    assert_readable(invoke(*call))
    assert (place / "precious.csv").read_text() == PRECIOUS


@BOUNDED
@given(
    options=st.lists(
        st.tuples(
            st.sampled_from([each for each in OPTIONS["fit"] if each not in SWITCHES]),
            st.sampled_from(["u", "y", "u,y", "", ",", "1", "0.5", "99", "precious.csv", "pr-ssm"]),
        ),
        max_size=4,
    )
)
def test_a_fit_of_a_real_file_is_answered(place, nothing_heavy, options):
    """The file can be read, so that this goes as far as the door of training."""
    words = [word for pair in options for word in pair]
    assert_readable(invoke("fit", "precious.csv", "--outputs", "y", *words))
    assert (place / "precious.csv").read_text() == PRECIOUS


@BOUNDED
@given(command=st.sampled_from(["predict", "evaluate"]), words=st.lists(WORDS, max_size=3))
def test_a_real_run_with_any_data_is_answered(place, folder, command, words):
    assert_readable(invoke(command, folder, *words))
    assert (place / "precious.csv").read_text() == PRECIOUS


@BOUNDED
@given(content=st.binary(max_size=300), suffix=st.sampled_from(sorted(READERS)))
def test_any_bytes_are_a_file_or_an_error(place, content, suffix):
    path = place / f"bytes{suffix}"
    path.write_bytes(content)
    assert_readable(invoke("data", "check", path))
    assert_readable(invoke("data", "check", path, "--inputs", "0", "--outputs", "y"))
    assert path.read_bytes() == content


def write_arrays(path, arrays):
    """A sound file of any kind that can be read."""
    frame, suffix = pd.DataFrame(arrays), path.suffix
    if suffix == ".npz":
        np.savez(path, **arrays)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".mat":
        scipy.io.savemat(path, arrays)
    elif suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, sep={".csv": ",", ".tsv": "\t"}.get(suffix, " "), index=False)


def write_hdf5(path, arrays):
    """A MAT file of v7.3."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in arrays.items():
            file[name] = values[None]


@pytest.mark.parametrize("kind", [*sorted(READERS), "v7.3"])
def test_a_damaged_file_is_data_or_an_error(place, kind):
    """Sound but for a place where it was cut off or overwritten."""
    rng = random.Random(kind)
    path = place / f"log{'.mat' if kind == 'v7.3' else kind}"
    arrays = {"u": np.arange(40.0), "y": np.sin(np.arange(40.0))}
    (write_hdf5 if kind == "v7.3" else write_arrays)(path, arrays)
    columns = ["--inputs", "u", "--outputs", "y"]
    assert invoke("data", "check", path, *columns).exit_code == 0
    whole = path.read_bytes()
    for _ in range(25):
        at = rng.randrange(len(whole))
        path.write_bytes(rng.choice([whole[:at], whole[:at] + rng.randbytes(9) + whole[at + 9 :]]))
        assert_readable(invoke("data", "check", path, *columns))


@BOUNDED
@given(rows=st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6))
def test_any_table_is_data_or_an_error(place, rows):
    path = place / "table.csv"
    path.write_text("\n".join(["t,u,y", *(",".join(row) for row in rows)]), encoding="utf-8")
    columns = ["--inputs", "u", "--outputs", "y", "--time", "t"]
    assert_readable(invoke("data", "check", path, *columns))


@BOUNDED
@given(text=st.text(max_size=60), section=st.sampled_from(["", "[model]\n", "[data]\n"]))
def test_any_configuration_is_one_or_an_error(place, text, section):
    """The data do not exist: nothing is trained, whatever the file says."""
    path = place / "config.toml"
    path.write_text(section + text, encoding="utf-8", errors="surrogatepass")
    assert_readable(invoke("fit", "nowhere.csv", "--outputs", "y", "--config", path))


@pytest.mark.parametrize("name", ["seed-0.gpssm", "config.toml", "data.npz"])
def test_a_damaged_run_is_an_error_and_stays_as_it_is(folder, tmp_path, name):
    """Cut off, emptied, or with some bytes changed, wherever."""
    rng = random.Random(3)
    for other in ("seed-0.gpssm", "config.toml", "data.npz", "run.json"):
        (tmp_path / other).write_bytes((folder / other).read_bytes())
    whole = (tmp_path / name).read_bytes()
    for _ in range(12):
        at = rng.randrange(len(whole))
        damaged = rng.choice([whole[:at], b"", whole[:at] + rng.randbytes(9) + whole[at + 9 :]])
        (tmp_path / name).write_bytes(damaged)
        new = write_csv(tmp_path / "new.csv", rows=30)
        result = invoke("predict", tmp_path, new, "--out", tmp_path / "f.csv", "--overwrite")
        assert_readable(result)
        assert (tmp_path / name).read_bytes() == damaged
