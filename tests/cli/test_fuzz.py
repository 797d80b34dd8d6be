"""Whatever a file holds and whatever is typed: a readable line, no traceback, no file lost."""

import random
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpssm.data.files import READERS
from support_cli import invoke, write_csv

BOUNDED = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["--json", "--debug", "--inputs", "--outputs", "u", "y", "--out", "..", "", "-", "--",
         "--steps", "-1", "nan", "data", "list", "check", "fetch", "kink", "\x00", "--help"]
    ),
)  # fmt: skip
CELLS = st.one_of(
    st.floats().map(str), st.text(string.printable, max_size=6), st.sampled_from(["", "NA", "1"])
)


def assert_readable(result):
    """Done, or one line with the reason, or wrong usage; never a traceback."""
    assert result.exit_code in (0, 1, 2), result.output
    assert "Traceback" not in result.output
    assert "error: unexpected" not in result.stderr, result.stderr  # what nobody foresaw
    if result.exit_code == 1:
        lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1
        assert lines[0].startswith("error: ")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a file that must survive."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious.csv").write_text("u,y\n1,2\n3,4\n")
    return tmp_path


@BOUNDED
@given(
    command=st.sampled_from(["predict", "evaluate", "report", "compare", "data", "fit"]),
    words=st.lists(WORDS, max_size=5),
)
def test_any_words_are_answered(place, command, words):
    """`fit` has a method that does not exist, so that none of its calls trains."""
    if command == "fit":
        words = [*words, "--method", "none-such"]
    words = [word for word in words if word != "--debug"]
    assert_readable(invoke(command, *words))
    assert (place / "precious.csv").read_text() == "u,y\n1,2\n3,4\n"


@BOUNDED
@given(content=st.binary(max_size=300), suffix=st.sampled_from(sorted(READERS)))
def test_any_bytes_are_a_file_or_an_error(place, content, suffix):
    path = place / f"bytes{suffix}"
    path.write_bytes(content)
    assert_readable(invoke("data", "check", path))
    assert_readable(invoke("data", "check", path, "--inputs", "0", "--outputs", "y"))
    assert path.read_bytes() == content


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
