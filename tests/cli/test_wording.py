"""Messages to users of the command line speak of options, never of arguments in Python."""

import re

import pytest

from gpssm.cli.app import fit, predict
from gpssm.cli.wording import in_options, options_of
from support_cli import invoke, write_csv

PYTHON = re.compile(
    r"(?<![-\w/])(y_warmup|run_dir|test_fraction|test_files|on_disk|calibration_folds|input_names)\b"
    r"|\w\(|\w=[\['\"]|\bgpssm\.\w|\bdata\.\w|\bNone\b|`(inputs|outputs|time|experiment|seeds)`"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files with one problem each, by name."""
    place = tmp_path_factory.mktemp("wrong")
    rows = write_csv(place / "good.csv").read_text().splitlines()
    header, *cells = rows
    stamped = [line.split(",", 1) for line in cells]
    wrong = {
        "jitter": [header, *(f"{float(t) ** 1.1},{rest}" for t, rest in stamped)],
        "unstamped": [header, *cells[:5], "," + stamped[5][1], *cells[6:]],
        "slow": [header, *(f"{4 * float(t)},{rest}" for t, rest in stamped)],
        "unmeasured": [header, *(f"{line.rpartition(',')[0]}," for line in cells)],
        "short": rows[:4],
        "gap": [header, *cells[:5], f"{stamped[5][0]},,1.0", *cells[6:]],
        "split": ["t,pump,level,day", *(f"{line},{i % 2}" for i, line in enumerate(cells))],
    }
    for name, lines in wrong.items():
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return place


COLUMNS = ["--inputs", "pump", "--outputs", "level"]
WRONG_FITS = {
    "no outputs": ["good.csv"],
    "unknown column": ["good.csv", "--outputs", "levle"],
    "one column twice": ["good.csv", "--inputs", "level", "--outputs", "level"],
    "unknown time": ["good.csv", *COLUMNS, "--time", "when"],
    "unknown experiment": ["good.csv", *COLUMNS, "--experiment", "day"],
    "irregular time": ["jitter.csv", *COLUMNS, "--time", "t"],
    "a row without a time": ["unstamped.csv", *COLUMNS, "--time", "t"],
    "no measurement": ["unmeasured.csv", *COLUMNS],
    "a gap in an input": ["gap.csv", *COLUMNS],
    "too few rows": ["short.csv", *COLUMNS, "--test-fraction", "0.2"],
    "too few rows for any test": ["short.csv", *COLUMNS, "--test-fraction", "0"],
    "too few rows for the test": ["good.csv", *COLUMNS, "--test-fraction", "0.01"],
    "two tests": ["good.csv", *COLUMNS, "--test-fraction", "0.2", "--test", "good.csv"],
    "a test of another step": ["good.csv", *COLUMNS, "--time", "t", "--test", "slow.csv"],
    "a test that is no file": ["good.csv", *COLUMNS, "--test", "nowhere.csv"],
    "a test with a registered name": ["furnace", "--test", "good.csv"],
    "a share with a registered name": ["furnace", "--test-fraction", "0.3"],
    "on disk, but no Parquet": ["good.csv", *COLUMNS, "--on-disk"],
    "too many folds": ["good.csv", *COLUMNS, "--calibration-folds", "60"],
    "folds and validation": ["good.csv", *COLUMNS, "--calibration-folds", "2", "--set",
                             "validation=0.2"],
    "a long sequence": ["good.csv", *COLUMNS, "--set", "sequence_length=4000"],
    "a wrong value": ["good.csv", *COLUMNS, "--set", "learning_rate=fast"],
    "a wrong method": ["good.csv", *COLUMNS, "--set", "method=magic"],
    "a wrong kernel": ["good.csv", *COLUMNS, "--set", "kernel=magic"],
    "a wrong choice": ["good.csv", *COLUMNS, "--set", "schedule=magic"],
    "a wrong group": ["good.csv", *COLUMNS, "--set", "rate_factors={magic = 1.0}"],
    "an unknown setting": ["good.csv", *COLUMNS, "--set", "lerning_rate=1"],
    "out is a file": ["good.csv", *COLUMNS, "--out", "good.csv"],
    "out is the folder of the data": ["good.csv", *COLUMNS, "--out", "."],
    "no processes": ["good.csv", *COLUMNS, "--distributed", "--coordinator", "here:1"],
}  # fmt: skip


@pytest.mark.parametrize("problem", WRONG_FITS)
def test_a_wrong_fit_is_told_in_options(problem, files, monkeypatch):
    monkeypatch.chdir(files)
    line = complaint("fit", *WRONG_FITS[problem])
    assert not PYTHON.search(line), line


def test_wrong_uses_of_a_run_are_told_in_options(folder, files, monkeypatch, fit_arguments):
    monkeypatch.chdir(files)
    for arguments in (
        (*fit_arguments, "--seeds", 1, "--out", folder),
        ("predict", folder, "slow.csv"),
        ("predict", folder, "unmeasured.csv"),
        ("predict", folder, "good.csv", "--out", "good.csv"),
        ("predict", folder, "good.csv", "--seed", 9),
        ("predict", "nowhere", "good.csv"),
        ("evaluate", folder, "short.csv"),
        ("evaluate", folder, "gap.csv"),
        ("evaluate", folder, "furnace"),
        ("report", folder, "--data", "slow.csv"),
        ("report", folder, folder, "--out", "page.html"),
        ("report", folder, "--out", "good.csv"),
        ("compare", folder, "nowhere"),
        ("data", "check", "jitter.csv", *COLUMNS, "--time", "t"),
        ("data", "check", "good.csv", "--outputs", "levle"),
    ):
        line = complaint(*arguments)
        assert not PYTHON.search(line), line


def complaint(*arguments):
    """What a command that failed said, without the paths and values of this test."""
    result = invoke(*arguments)
    assert result.exit_code == 1, result.output
    (line,) = [each for each in result.stderr.splitlines() if each.startswith("error: ")]
    return line


def test_the_pattern_of_these_tests_finds_what_they_look_for():
    for wrong in ("y_warmup: got", "use another run_dir.", "outputs=['a']", "data.split(0.7)"):
        assert PYTHON.search(wrong)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("run_dir: got x. Use another run_dir.", "--out: got x. Use another --out."),
        ("outputs: got nothing", "--outputs: got nothing"),
        ("leave `time` out, or on_disk", "leave `time` out, or --on-disk"),
        ("a/run_dir/on_disk: got 'run_dir'", "a/run_dir/on_disk: got 'run_dir'"),
        ("once (--on-disk, in Python on_disk=True)", "once (--on-disk)"),
        ("folds: got 2 (data: got x)", "--calibration-folds: got 2 (data: got x)"),
        ("files: got ('a',) together", "DATA: got ('a',) together"),
        ("steps: unknown setting", "steps: unknown setting"),
    ],
)
def test_arguments_become_options(message, wanted):
    assert in_options(message, options_of(fit)).replace("--time", "`time`") == wanted


def test_a_command_speaks_of_its_own_options():
    assert in_options("outputs: got x", options_of(predict)) == "outputs: got x"
    assert in_options("y_warmup: got x", options_of(predict)) == "the warm-up: got x"
    step = "sampling_time: got a step of 1 s"
    assert in_options(step, options_of(predict)) == "sampling time: got a step of 1 s"
    assert in_options(step, options_of(fit)) == "--sampling-time: got a step of 1 s"
