"""What each command hands on of its options, and the limits and defaults that these have."""

import sys
from pathlib import Path

import pytest
import typer

import gpssm
from gpssm.cli import app, main
from support_cli import all_commands, invoke

DATA, FIT, MANY, REST = "Data", "Model and training", "Several processes", None
COMMANDS = dict(all_commands(typer.main.get_command(app)))
SHOWN = ("--json", "--debug", "--quiet", "--overwrite")

# By option: its group in the help, the default that the help names, the limits of its value.
COLUMNS = {
    "--inputs": (DATA, False), "--outputs": (DATA, False), "--time": (DATA, False),
    "--experiment": (DATA, False), "--time-unit": (DATA, "what its name says, else s"),
    "--sampling-time": (DATA, False), "--resample": (DATA, False),
    "--input-lag": (DATA, "0", 0, None),
}  # fmt: skip
SEED = {"--seed": (REST, False, 0, None)}
OPTIONS = {
    "fit": {
        **COLUMNS, "--test": (DATA, False), "--test-fraction": (DATA, "0.3", 0.0, 0.99),
        "--method": (FIT, "cbf-ssm-50"), "--dim-x": (FIT, "4 or more", 1, None),
        "--steps": (FIT, "1000", 1, None), "--seed": (FIT, "0", 0, None),
        "--seeds": (FIT, "1", 1, None), "--starts": (FIT, "1", 1, None),
        "--calibration-folds": (FIT, "none", 2, None),
        "--cores": (FIT, "all, at most 8; 1 with --distributed", 1, 1024),
        "--on-disk": (DATA, False), "--out": (REST, "runs/DATA-METHOD"), "--config": (REST, False),
        "--set": (FIT, False), "--distributed": (MANY, False), "--coordinator": (MANY, False),
        "--processes": (MANY, False, 1, 100_000), "--process": (MANY, False, 0, None),
    },
    "sweep": {"--out": (REST, "studies/STUDY"), "--cluster": (REST, False)},
    "predict": {
        "--out": (REST, False), **SEED,
        "--warmup": (
            REST, "all up to the last measurement; 16 if the last row is measured", 1, None,
        ),
    },
    "evaluate": {},
    "report": {"--data": (REST, False), "--out": (REST, "RUN/report.html"), **SEED},
    "compare": {"--out": (REST, False)},
    "demo": {"--out": (REST, False)},
    "data list": {},
    "data fetch": {},
    "data check": COLUMNS,
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_options_have_their_group_their_default_and_their_limits(command):
    found = {}
    for each in COMMANDS[command].params:
        if each.param_type_name == "option" and each.opts[0] not in SHOWN:
            default = each.show_default if isinstance(each.show_default, str) else False
            limits = () if each.min is each.max is None else (each.min, each.max)
            found[each.opts[0]] = (each.rich_help_panel, default, *limits)
    assert found == OPTIONS[command]


FLAGS = {"fit": ["--quiet"], "sweep": ["--quiet"], "predict": ["--overwrite", "--quiet"],
         "evaluate": ["--quiet"], "report": ["--overwrite", "--quiet"],
         "compare": ["--overwrite", "--quiet"], "demo": ["--quiet"]}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_switches_take_no_value_and_are_off(command):
    params = {each.opts[0]: each for each in COMMANDS[command].params}
    for name in ("--json", "--debug", *FLAGS.get(command, [])):
        assert params[name].is_flag
        assert params[name].default is False
        assert params[name].secondary_opts == []
        assert params[name].metavar == ""
    assert [name for name in SHOWN[2:][::-1] if name in params] == FLAGS.get(command, [])


@pytest.fixture
def given(monkeypatch):
    """What the functions that run the commands are called with."""
    calls = []
    for place in (
        "fitting.fit_command", "sweeping.sweep_command", "forecasting.predict_command",
        "forecasting.evaluate_command", "reporting.report_command", "reporting.compare_command",
        "reporting.demo_command", "datasets.list_command", "datasets.fetch_command",
        "datasets.check_command",
    ):  # fmt: skip
        monkeypatch.setattr(f"gpssm.cli.{place}", lambda *words: calls.append(words))
    return calls


RUN, OUT = Path("run"), Path("o")
PLAIN = {
    "sweep s.toml": (Path("s.toml"), None, False, False, False),
    "predict run a.csv": (RUN, ["a.csv"], Path("forecast.csv"), None, None, False, False, False),
    "evaluate run": (RUN, [], False, False),
    "report run": ([RUN], [], None, None, False, False, False),
    "compare run b": ([RUN, Path("b")], Path("compare.html"), False, False, False),
    "demo": (Path("demo"), False, False),
    "data list": (False,),
    "data fetch a b": (["a", "b"], False),
    "data check a.csv": (["a.csv"], {}, False),
}
CHOSEN = {
    "sweep s.toml --out o --cluster --quiet": (Path("s.toml"), OUT, True, True, False),
    "sweep s.toml --json": (Path("s.toml"), None, False, False, True),
    "predict run a.csv b.csv --out o --warmup 5 --seed 6 --overwrite": (
        RUN, ["a.csv", "b.csv"], OUT, 5, 6, True, False, False,
    ),
    "predict run a.csv --json": (
        RUN, ["a.csv"], Path("forecast.csv"), None, None, False, True, False,
    ),
    "predict run a.csv --quiet": (
        RUN, ["a.csv"], Path("forecast.csv"), None, None, False, False, True,
    ),
    "evaluate run a.csv --json": (RUN, ["a.csv"], True, False),
    "evaluate run --quiet": (RUN, [], False, True),
    "report run b --data a.csv --out o --seed 0 --overwrite": (
        [RUN, Path("b")], ["a.csv"], OUT, 0, True, False, False,
    ),
    "report run --json": ([RUN], [], None, None, False, True, False),
    "report run --quiet": ([RUN], [], None, None, False, False, True),
    "compare run b --out o --overwrite": ([RUN, Path("b")], OUT, True, False, False),
    "compare run b --json": ([RUN, Path("b")], Path("compare.html"), False, True, False),
    "compare run b --quiet": ([RUN, Path("b")], Path("compare.html"), False, False, True),
    "demo --out o --json": (OUT, True, False),
    "demo --quiet": (Path("demo"), False, True),
    "data list --json": (True,),
    "data fetch a --json": (["a"], True),
    "data check a.csv b.csv --inputs u,v --outputs y --time t --experiment e --time-unit ms "
    "--sampling-time 0.5 --resample 2 --input-lag 0 --json": (
        ["a.csv", "b.csv"],
        {"inputs": ("u", "v"), "outputs": ("y",), "time": "t", "experiment": "e",
         "time_unit": "ms", "sampling_time": 0.5, "resample": 2.0, "input_lag": 0},
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", [*PLAIN, *CHOSEN])
def test_a_command_hands_on_what_it_was_given(words, given):
    result = invoke(*words.split())
    assert result.exit_code == 0, result.output
    assert given == [{**PLAIN, **CHOSEN}[words]]


NOTHING = {
    "method": None, "seed": None, "seeds": None, "calibration_folds": None,
    "data": dict.fromkeys((
        "inputs", "outputs", "time", "experiment", "time_unit", "sampling_time", "resample",
        "input_lag", "test_files", "test_fraction", "on_disk",
    )),
    "model": {"dim_x": None}, "training": {"steps": None, "starts": None},
}  # fmt: skip


def test_a_fit_without_options_asks_for_nothing(given):
    assert invoke("fit").exit_code == 0
    assert given == [([], NOTHING, [], None, None, False, False, None, None)]


def test_a_fit_hands_on_every_option(given, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = "fit a.csv --inputs u --outputs y --time t --experiment e --time-unit ms "
    words += "--sampling-time 0.5 --resample 2 --input-lag 3 --test b.csv --test c.csv "
    words += "--test-fraction 0.25 --method pr-ssm --dim-x 4 --steps 5 --seed 6 --seeds 7 "
    words += "--starts 8 --calibration-folds 9 --cores 10 --on-disk --out o --config c.toml "
    words += "--set x=1 --distributed --coordinator here:1 --processes 11 --process 0 --json"
    assert invoke(*words.split()).exit_code == 0
    ((arguments, asked, assigned, config, out, *rest),) = given
    assert (arguments, assigned, config, out) == (["a.csv"], ["x=1"], Path("c.toml"), OUT)
    address = {"coordinator": "here:1", "processes": 11, "process": 0}
    assert rest == [True, False, 10, address]
    assert asked == {
        "method": "pr-ssm", "seed": 6, "seeds": 7, "calibration_folds": 9,
        "data": {
            "inputs": ("u",), "outputs": ("y",), "time": "t", "experiment": "e",
            "time_unit": "ms", "sampling_time": 0.5, "resample": 2.0, "input_lag": 3,
            "test_files": (str(tmp_path / "b.csv"), str(tmp_path / "c.csv")),
            "test_fraction": 0.25, "on_disk": True,
        },
        "model": {"dim_x": 4}, "training": {"steps": 5, "starts": 8},
    }  # fmt: skip


def test_the_address_of_a_process_is_for_several_of_them(given):
    for words in ("--coordinator here:1", "--processes 2", "--process 0"):
        result = invoke("fit", *words.split())
        assert result.exit_code == 2
        assert "need --distributed" in " ".join(result.output.replace("│", " ").split())
    assert given == []
    assert invoke("fit", "--distributed", "--quiet").exit_code == 0
    nowhere = dict.fromkeys(("coordinator", "processes", "process"))
    assert given == [([], NOTHING, [], None, None, False, True, None, nowhere)]


def test_two_runs_are_needed_to_compare(given):
    assert invoke("compare", "one").exit_code == 2
    assert given == []


@pytest.mark.parametrize(
    ("words", "line"),
    [([], "Fit a model, forecast"), (["data"], "List the registered"), (["-h"], "Fit a model"),
     (["fit", "-h"], "Gradient steps")],
)  # fmt: skip
def test_no_command_is_answered_with_help_as_is_the_short_option(words, line):
    assert line in invoke(*words).output


def test_the_version_comes_before_the_help_and_errors_are_our_own():
    assert invoke("--version", "--help").output == f"gpssm {gpssm.__version__}\n"
    assert app.pretty_exceptions_enable is False


def test_the_entry_point_runs_the_commands(monkeypatch):
    called = []
    monkeypatch.setattr(sys.modules["gpssm.cli.app"], "app", lambda: called.append(1))
    main()
    assert called == [1]
