"""The test part, `--set`, names with commas: what the options of `gpssm fit` ask for is done."""

import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer

import gpssm
from gpssm.base.errors import ConfigError, DataError
from gpssm.cli.options import split_names
from gpssm.data import Dataset
from gpssm.report import summary
from gpssm.workflow.assignments import merge, parse_assignments
from gpssm.workflow.configuration import DataConfig, RunConfig, make_config, read_config
from gpssm.workflow.folder import open_folder
from gpssm.workflow.sources import load_data
from support_cli import ROWS, answer, invoke, write_csv

# ---------------------------------------------------------------------- the test part


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("other") / "other day.csv", rows=60, seed=1)


@pytest.fixture(scope="module")
def untested(fit_arguments, tmp_path_factory):
    """A run without a test part, and what the command said."""
    out = tmp_path_factory.mktemp("untested") / "all"
    chosen = ["--test-fraction", 0, "--seed", 5]
    for text in ("learning_rate=0.03", "forecast.particles=7", "calibrate=false"):
        chosen += ["--set", text]
    result = invoke(*fit_arguments, *chosen, "--out", out)
    assert result.exit_code == 0, result.output
    return out, result


def _columns(log, **changes):
    names = {"inputs": ("pump",), "outputs": ("level",), "time": "t"}
    return DataConfig(files=(str(log),), **names, **changes)


def test_files_for_the_test_leave_all_of_the_data_for_training(log, other, tmp_path):
    third = Path(shutil.copy(log, tmp_path / "third day.csv"))
    data = load_data(_columns(log, test_files=(str(other), str(third))))
    assert data.train.num_rows == ROWS
    assert [(e.name, len(e)) for e in data.test] == [("other day", 60), ("third day", ROWS)]
    alone = load_data(DataConfig(**_columns(other).model_dump() | {"test_fraction": 0.0}))
    np.testing.assert_array_equal(data.test[0].y, alone.train[0].y)


def test_test_files_are_given_once_each_and_stored(
    log, other, monkeypatch, fit_arguments, tmp_path
):
    seen, third = [], Path(shutil.copy(log, tmp_path / "third.csv"))
    monkeypatch.setattr(
        "gpssm.cli.fitting.fit_folder", lambda config, *_, **__: seen.append(config) or 1 / 0
    )
    invoke(*fit_arguments, "--test", other, "--test", third, "--seed", 4)
    (config,) = seen
    assert config.data.test_files == (str(other), str(third))
    assert config.seed == 4
    assert RunConfig(**tomllib.loads(config.to_toml())).data == config.data


def test_a_test_file_with_another_step_is_refused(log, tmp_path):
    rows = [line.split(",") for line in log.read_text().splitlines()]
    slow = tmp_path / "slow.csv"
    lines = [",".join([str(4 * float(t)), *cells]) for t, *cells in rows[1:]]
    slow.write_text("\n".join([",".join(rows[0]), *lines]))
    with pytest.raises(DataError, match=r"a step of 2 s, expected 0\.5 s"):
        load_data(_columns(log, test_files=(str(slow),)))


def test_a_test_part_needs_the_same_channels():
    data = Dataset.from_arrays(np.arange(10.0), output_names=["level"])
    with pytest.raises(DataError, match="output_names of the test part"):
        data.with_test(Dataset.from_arrays(np.arange(10.0), output_names=["depth"]))


def test_a_fraction_of_zero_is_kept_in_the_file(log):
    config = RunConfig(data=_columns(log, test_fraction=0.0))
    assert RunConfig(**tomllib.loads(config.to_toml())).data.test_fraction == 0.0
    assert load_data(config.data).parts == ("train",)


def test_options_about_the_test_replace_those_of_the_file():
    file = {"data": {"test_fraction": 0.2, "files": ["log.csv"]}}
    config = make_config(file, {"data": {"test_files": ("b.csv",), "test_fraction": None}})
    assert config.data == DataConfig(files=("log.csv",), test_files=("b.csv",))
    file = {"data": {"test_files": ["b.csv"], "files": ["log.csv"]}}
    assert make_config(file, {"data": {"test_fraction": 0.0}}).data.test_files == ()
    assert make_config(file, {"data": {"name": "furnace"}}).data == DataConfig(name="furnace")
    with pytest.raises(ConfigError, match="one of them"):
        make_config({}, {"data": {"test_files": ("b.csv",), "test_fraction": 0.1}})


def test_a_run_without_a_test_part_says_so(untested):
    out, result = untested
    assert "not tested" in result.stdout
    scores = answer("evaluate", out)["scores"]
    assert scores["tested"] is False
    assert set(scores["seeds"]["5"]) == {"training"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Not tested" in page
    training = answer("evaluate", out)["scores"]
    own, mean = training["seeds"]["5"], training["baselines"]["constant_mean"]
    rmse, of_mean = (each["training"]["outputs"]["level"]["rmse"] for each in (own, mean))
    words = "nothing was learned" if rmse >= of_mean else "not yet learned"  # in six steps
    assert words in page
    assert "Are the intervals calibrated?" not in page
    assert "What was learned" in page


def test_commands_work_with_a_run_without_a_test_part(untested, folder, other, tmp_path):
    out = untested[0]
    told = answer("predict", out, other, "--out", tmp_path / "forecast.csv")
    assert (told["rows"], told["seed"]) == (60, 5)
    scores = answer("evaluate", out, other)["scores"]
    assert scores["tested"] is True
    assert "pooled" in scores["seeds"]["5"]
    assert "pooled" in scores["baselines"]["linear_arx"]
    page = tmp_path / "compare.html"
    assert "all (not tested)" in answer("compare", out, folder, "--out", page)["scores"]
    text = page.read_text(encoding="utf-8")
    assert "has the scores of rows that it was trained on" in text
    assert "class=best" not in text  # scores of other rows are not better


@pytest.fixture
def _no_response(monkeypatch):
    """Pages without the response, which takes longest."""
    monkeypatch.setattr("gpssm.report.page.response_section", lambda _: ("", []))


@pytest.mark.usefixtures("_no_response")
def test_a_report_about_other_data_is_a_page_of_its_own(untested, other):
    before = (untested[0] / "report.html").read_bytes()
    (page,) = answer("report", untested[0], "--data", other)["reports"]
    assert page.endswith("report-other day.html")
    text = (untested[0] / "report-other day.html").read_text(encoding="utf-8")
    assert "Are the intervals calibrated?" in text
    assert (untested[0] / "report.html").read_bytes() == before
    said = invoke("report", untested[0], "--data", other)
    assert said.exit_code == 1
    assert "which exists already" in " ".join(said.output.split())
    assert (untested[0] / "report-other day.html").read_text(encoding="utf-8") == text


@pytest.mark.usefixtures("_no_response")
def test_the_page_shows_the_evidence_of_the_verdict(folder, monkeypatch, tmp_path):
    """What the verdict follows from is computed once, and the finding speaks of its output."""
    calls, told, calibration = [], [], summary.calibration
    taken = gpssm.Run.filter
    monkeypatch.setattr(gpssm.Run, "filter", lambda *a, **k: calls.append(1) or taken(*a, **k))
    monkeypatch.setattr(
        summary, "calibration", lambda c, p, name: told.append((c, name)) or calibration(c, p, name)
    )
    found = open_folder(folder)
    scoring = found.score()
    assert len(calls) == len(scoring.seeds[scoring.chosen].stretches)
    evidence = scoring.assessment.evidence._replace(coverage={"level": 0.125})
    scoring = replace(scoring, assessment=scoring.assessment._replace(evidence=evidence))
    found.write_report(scoring, tmp_path / "page.html")
    assert len(calls) == len(scoring.seeds[scoring.chosen].stretches)
    assert told == [(0.125, "level")]


# ---------------------------------------------------------------------- --set


def test_the_file_of_a_run_has_what_was_set(untested):
    config = RunConfig(**read_config(untested[0] / "config.toml"))
    assert config.training["learning_rate"] == 0.03
    assert config.forecast.particles == 7
    assert (config.seed, config.data.test_fraction) == (5, 0.0)
    run = open_folder(untested[0]).choose()
    assert (run.seed, run.training.learning_rate) == (5, 0.03)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("learning_rate=0.05", {"training": {"learning_rate": 0.05}}),
        ("training.learning_rate = 0.05", {"training": {"learning_rate": 0.05}}),
        ("seeds=3", {"seeds": 3}),
        ("validation=0.2", {"validation": 0.2}),
        ("model.warmup=8", {"model": {"warmup": 8}}),
        ("forecast.warmup=8", {"forecast": {"warmup": 8}}),
        ("kernel=rbf+linear", {"model": {"kernel": "rbf+linear"}}),
        ('schedule="constant"', {"training": {"schedule": "constant"}}),
        ("calibrate=false", {"training": {"calibrate": False}}),
        ("lag=none", {"model": {"lag": None}}),
        ("k=inf", {"model": {"k": np.inf}}),
        ('units={pump = "V"}', {"data": {"units": {"pump": "V"}}}),
        ("rate_factors={noise = 0.5}", {"training": {"rate_factors": {"noise": 0.5}}}),
    ],
)
def test_a_setting_is_found_by_its_name(text, wanted):
    assert parse_assignments([text]) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("learning_rte=0.1", "Nearest: training.learning_rate"),
        ("training.lerning_rate=0.1", "Nearest: training.learning_rate"),
        ("modle.dim_x=3", "Nearest: model.dim_x"),
        ("warmup=3", "forecast.warmup or model.warmup"),
        ("steps", "NAME=VALUE"),
        ("version=1", "the name of a setting"),
    ],
)
def test_a_name_that_is_no_setting_is_refused(text, words):
    with pytest.raises(ConfigError, match=words):
        parse_assignments([text])


def test_files_that_are_set_are_found_from_the_folder_of_the_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = parse_assignments(['files=["a.csv"]', 'data.test_files=["b.csv", "/c.csv"]'])
    files = {"files": [str(tmp_path / "a.csv")], "test_files": [str(tmp_path / "b.csv"), "/c.csv"]}
    assert found == {"data": files}


def test_a_setting_is_given_once():
    with pytest.raises(ConfigError, match="twice"):
        parse_assignments(["steps=3", "training.steps=4"])
    with pytest.raises(ConfigError, match="together with the option"):
        merge({"training": {"steps": 3}}, {"training": {"steps": 4}})
    merged = merge({"training": {"steps": None, "starts": 2}}, {"training": {"steps": 4}})
    assert merged == {"training": {"steps": 4, "starts": 2}}


def test_a_section_or_a_setting_of_a_file_that_is_unknown_names_the_nearest(tmp_path):
    with pytest.raises(ConfigError, match=r"trainig: unknown setting\. Nearest: training\."):
        RunConfig(trainig={"steps": 3})
    with pytest.raises(ConfigError, match=r"dimx: unknown setting\. Nearest: dim_x"):
        make_config({"model": {"dimx": 3}}, {}).build_model(1)


# ---------------------------------------------------------------------- names of columns


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (None, None),
        (["a,b"], ("a", "b")),
        ([" a , b "], ("a", "b")),
        (['"flow, in",pump'], ("flow, in", "pump")),
        (["pump", "flow, in"], ("pump", "flow, in")),
        (['"flow, in"', "pump"], ("flow, in", "pump")),
        (["flow\nin,a\r\nb"], ("flow\nin", "a\r\nb")),
        (['"flow,\nin",pump'], ("flow,\nin", "pump")),
    ],
)
def test_names_with_commas(texts, names):
    assert split_names(texts) == names


def test_a_quotation_mark_that_does_not_end_is_wrong_usage():
    with pytest.raises(typer.BadParameter, match="does not end"):
        split_names(['"flow, in'])


def test_columns_with_commas_in_their_names_can_be_chosen(log, tmp_path):
    path = tmp_path / "commas.csv"
    path.write_text(log.read_text().replace("pump", '"flow, in"', 1))
    quoted = answer("data", "check", path, "--inputs", '"flow, in"', "--outputs", "level")
    assert quoted["inputs"] == ["flow, in"]
    repeated = ["--inputs", "flow, in", "--inputs", "t", "--outputs", "level"]
    assert answer("data", "check", path, *repeated)["inputs"] == ["flow, in", "t"]


def test_columns_are_listed_one_per_line(log):
    lines = invoke("data", "check", log).stdout.splitlines()
    assert lines[0].endswith("log.csv: 120 rows, columns")
    assert lines[1:4] == ["  t", "  pump", "  level"]


# ---------------------------------------------------------------------- progress


def test_every_part_of_the_wait_has_a_bar_and_quiet_has_none(
    fit_arguments, folder, log, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr("gpssm.training.phase.sys.stderr.isatty", lambda: True)
    shown = []

    class Bar:
        def __init__(self, title, total):
            shown.append(title)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, step, terms):
            pass

    for place in ("gpssm.training.phase._PhaseBar", "gpssm.training.phase._PhaseLines"):
        monkeypatch.setattr(place, Bar)
    monkeypatch.setattr("gpssm.workflow.scoring.report_page", lambda *_: "")
    copied = shutil.copytree(folder, tmp_path / "run")  # it is trained already
    said = invoke(*fit_arguments, "--seeds", 2, "--out", copied)
    assert said.exit_code == 0, said.output
    assert shown == ["baselines", "calibration", "scores", "report"]
    shown.clear()
    forecast = ["predict", folder, log, "--overwrite", "--out", tmp_path / "f.csv"]
    assert invoke(*forecast).exit_code == 0
    assert shown == ["forecast"]
    assert invoke(*forecast, "--quiet").exit_code == 0
    assert shown == ["forecast"]
    compare = ["compare", folder, copied, "--overwrite", "--out", tmp_path / "compare.html"]
    assert invoke(*compare).exit_code == 0
    assert shown == ["forecast", "scores"]
    assert invoke(*compare, "--quiet").exit_code == 0
    assert shown == ["forecast", "scores"]
    asked = []
    monkeypatch.setattr(
        "gpssm.cli.fitting.fit_folder", lambda *_, quiet, **__: asked.append(quiet) or 1 / 0
    )
    invoke(*fit_arguments, "--quiet")
    assert asked == [True]
