"""Every command: what it does, what it says to people and to machines, and how it fails."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pandas as pd
import pytest
import typer

import gpssm
from gpssm.cli import app
from gpssm.cli.forecasting import without_formulas
from gpssm.metrics import Scores
from gpssm.training import TrainingStopped
from gpssm.workflow.folder import mark, open_folder
from support_cli import ROWS, all_commands, answer, invoke, write_csv

ROOT = Path(__file__).parents[2]
COMMANDS = [name for name, _ in all_commands(typer.main.get_command(app))]


def one_line(result) -> str:
    """The only line of an error, without a traceback; remarks about the data may come before it."""
    assert result.exit_code == 1, result.output
    said = result.stderr.strip().splitlines()
    lines = [line for line in said if not line.startswith("remark: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    return lines[0]


# ---------------------------------------------------------------------- help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_the_options_of_all(command):
    text = invoke(*command.split(), "--help").output
    assert f"Example: gpssm {command}" in " ".join(text.split())
    assert "--json" in text
    assert "--debug" in text


@pytest.mark.parametrize("group", [[], ["data"]])
def test_the_help_of_a_group_has_an_example_too(group):
    assert "Example: gpssm " in invoke(*group, "--help").output


def test_help_offers_nothing_that_changes_the_shell():
    assert "completion" not in invoke("--help").output


def test_help_does_not_wait_for_jax():
    program = "import sys, gpssm.cli; print([m for m in ('jax', 'pandas') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.strip() == "[]", said.stderr


def test_the_version_is_that_of_the_package():
    assert invoke("--version").output.split() == ["gpssm", gpssm.__version__]


# ---------------------------------------------------------------------- fit


def test_fit_leaves_all_that_later_commands_need(folder):
    names = {path.name for path in folder.iterdir()}
    models = {"seed-0.gpssm", "seed-1.gpssm", "history-seed-0.csv", "history-seed-1.csv"}
    assert names >= models | {"config.toml", "data.npz", "scores.json", "report.html", "run.json"}
    kept = open_folder(folder)
    assert [len(part) for part in (kept.data.train[0], kept.data.test[0])] == [84, 36]
    assert kept.data.output_units == ("cm",)
    assert kept.data.sampling_time == 0.5


def test_fit_ends_with_the_scores_beside_the_baselines_and_the_path_of_the_report(fitted):
    folder, result = fitted
    for row in ("cbf-ssm-50, seed 0", "cbf-ssm-50, seed 1", "constant mean", "linear ARX"):
        assert row in result.stdout
    assert f"report  {folder / 'report.html'}" in result.stdout.replace("\n", "")
    scores = json.loads((folder / "scores.json").read_text())
    mean = scores["baselines"]["constant_mean"]["outputs"]["level"]
    assert f"{mean['rmse']:.4g}" in result.stdout


def test_fit_and_evaluate_end_with_the_verdict_and_the_next_command(fitted):
    folder, result = fitted
    lines = result.stdout.splitlines()
    verdict = json.loads((folder / "scores.json").read_text())["verdict"]
    assert list(verdict) == ["seed", "level", "reasons", "next_step"]
    assert verdict["seed"] == open_folder(folder).choose().seed
    why = "; ".join(each["text"] for each in verdict["reasons"])
    assert f"verdict {verdict['level']}: {why}." in lines
    assert f"next    {verdict['next_step']}" in lines
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f'class="verdict {verdict["level"].replace(" ", "-")}"' in page
    assert answer("evaluate", folder)["scores"]["verdict"] == verdict
    assert f"verdict {verdict['level']}:" in invoke("evaluate", folder).stdout


def test_the_rows_of_the_test_part_do_not_enter_the_normalisation(folder, log):
    """By hand: the first 70 % of the rows, without the gap of the output."""
    rows = pd.read_csv(log)
    train = rows.iloc[: round(0.7 * len(rows))]
    assert abs(rows["pump"].mean() - train["pump"].mean()) > 0.01  # so that it would be seen
    for run in (gpssm.load(path) for path in sorted(folder.glob("seed-*.gpssm"))):
        given = run.normalisation
        np.testing.assert_allclose(given.u_mean, [train["pump"].mean()], rtol=1e-12)
        np.testing.assert_allclose(given.u_std, [train["pump"].std(ddof=0)], rtol=1e-12)
        np.testing.assert_allclose(given.y_mean, [train["level"].mean()], rtol=1e-12)
        np.testing.assert_allclose(given.y_std, [train["level"].std(ddof=0)], rtol=1e-12)


def test_the_scores_are_those_of_the_library_after_the_warm_up(folder, log):
    data = gpssm.read(log, inputs="pump", outputs="level", time="t").split(train=0.7)
    run, test = gpssm.load(folder / "seed-1.gpssm"), data.test[0]
    forecast = run.predict(test.u, test.y[:4], particles=10).after(4)
    scores = json.loads((folder / "scores.json").read_text())["seeds"]["1"]
    wanted = forecast.score(test.y[4:], run.normalisation.y_std)
    assert scores["outputs"]["level"] == pytest.approx({name: wanted[name][0] for name in wanted})
    assert scores["pooled"] == pytest.approx(wanted.pooled)
    train = data.train[0]
    again = run.predict(train.u, train.y[:4], particles=10).after(4)
    own = scores["training"]["outputs"]["level"]["rmse"]
    assert own == pytest.approx(again.score(train.y[4:])["rmse"][0])


def test_folds_set_the_error_bars_of_a_finished_run(fit_arguments, copied):
    """As the library does it; and the same command again changes nothing."""
    before = open_folder(copied).runs
    folded = [*fit_arguments, "--seeds", 2, "--calibration-folds", 2, "--out", copied]
    assert invoke(*folded).exit_code == 0
    assert sorted(path.name for path in (copied / "folds-2").iterdir()) == ["fold-0", "fold-1"]
    after = gpssm.load(copied / "seed-1.gpssm")
    wanted = gpssm.recalibrate(before, open_folder(copied).data.train, folds=2, quiet=True)[1]
    for ours, theirs in zip(*map(jax.tree.leaves, (after.system, wanted.system)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert open_folder(copied).config.calibration_folds == 2
    assert invoke(*folded).exit_code == 0
    again = gpssm.load(copied / "seed-1.gpssm")
    for ours, theirs in zip(*map(jax.tree.leaves, (again.system, after.system)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_stop_among_the_folds_leaves_no_model_with_other_error_bars(
    fit_arguments, copied, monkeypatch
):
    def stopped(*_, **__):
        raise TrainingStopped(130)

    monkeypatch.setattr("gpssm.workflow.fitting.recalibrate", stopped)
    folded = [*fit_arguments, "--seeds", 2, "--calibration-folds", 3, "--out", copied]
    assert invoke(*folded).exit_code == 130
    assert "resumes where it was stopped" in one_line(invoke("evaluate", copied))
    monkeypatch.undo()
    assert invoke(*folded).exit_code == 0
    assert invoke("evaluate", copied).exit_code == 0


@pytest.mark.parametrize(
    ("folds", "words"),
    [(12, "got 12, of which one holds out 7 rows, expected more rows than the warm-up"),
     (84, "got 1 rows, expected at least 2 rows")],
)  # fmt: skip
def test_too_many_folds_are_refused_before_training(fit_arguments, tmp_path, folds, words):
    out = tmp_path / "run"
    line = one_line(invoke(*fit_arguments, "--calibration-folds", folds, "--out", out))
    assert f"--calibration-folds: got {folds}" in line
    assert words in line
    assert not list(out.glob("*.gpssm"))


def test_one_fold_holds_nothing_out(fit_arguments, tmp_path):
    config = next(each for each in fit_arguments if str(each).endswith(".toml"))
    mine = tmp_path / "one.toml"
    mine.write_text("calibration_folds = 1\n" + Path(config).read_text())
    arguments = [mine if each == config else each for each in fit_arguments]
    line = one_line(invoke(*arguments, "--out", tmp_path / "run"))
    assert "--calibration-folds: got 1, expected 0, or at least 2" in line


def test_error_bars_are_set_by_folds_or_by_what_is_held_out_to_validate(fit_arguments, tmp_path):
    held_out = tmp_path / "held.toml"
    config = next(each for each in fit_arguments if str(each).endswith(".toml"))
    held_out.write_text("validation = 0.2\n" + Path(config).read_text())
    arguments = [held_out if each == config else each for each in fit_arguments]
    line = one_line(invoke(*arguments, "--calibration-folds", 2, "--out", tmp_path / "run"))
    assert "--calibration-folds: got 2 together with validation = 0.2" in line


@pytest.fixture
def copied(folder, tmp_path):
    """The run, to be spoilt."""
    return Path(shutil.copytree(folder, tmp_path / "copied"))


def test_a_seed_that_has_failed_on_its_own_rows_is_not_chosen(copied):
    """Whichever has the better ELBO: the other one is taken, unless one asks for it."""
    path, usual = copied / "scores.json", open_folder(copied).choose().seed
    scores = json.loads(path.read_text())
    for seed, rmse in ((1 - usual, 2.0), (usual, 3.0)):
        scores["seeds"][str(seed)]["training"]["outputs"]["level"]["rmse"] = rmse
    path.write_text(json.dumps(scores))
    assert open_folder(copied).choose().seed == 1 - usual
    assert open_folder(copied).choose(usual).seed == usual
    path.write_text("{}")  # of an older version: simulated again
    again = open_folder(copied).training_rmse[1 - usual]
    assert again not in (2.0, 3.0)
    assert again == pytest.approx(open_folder(copied).training_rmse[1 - usual])


def test_fit_names_the_seeds_that_have_failed(copied, fit_arguments, monkeypatch):
    rmses = iter([9.0, 9.0, 2.0, 3.0])  # of the two baselines, then of the seeds

    def own_rows(*_):
        scores = Scores(("level",), {"rmse": np.array([next(rmses)])}, {})
        return SimpleNamespace(scores=scores)

    monkeypatch.setattr("gpssm.evaluation.scoring._on_own_rows", own_rows)
    again = invoke(*fit_arguments, "--seeds", 2, "--out", copied)
    assert "failed on rows of the training part: seed 1 (RMSE 3); seed 0 has 2" in again.stderr
    assert open_folder(copied).choose().seed == 0


def test_rows_that_were_held_out_to_validate_are_not_those_it_was_trained_on(folder):
    kept = open_folder(folder)
    config = kept.config.replace(validation=0.25)
    assert [len(each) for each in config.trained_on(kept.data)] == [63]
    assert [len(each) for each in kept.trained_on] == [84]


def test_the_same_command_does_not_train_again(fitted, fit_arguments, monkeypatch):
    monkeypatch.setattr("gpssm.training.loop.run_chunk", None)  # calling it would fail
    again = answer(*fit_arguments, "--seeds", 2, "--out", fitted[0])
    assert again["scores"] == json.loads((fitted[0] / "scores.json").read_text())


def test_a_run_is_repeated_from_its_configuration(folder, tmp_path):
    """No option but where to put it: everything else is in the file."""
    again = answer("fit", "--config", folder / "config.toml", "--out", tmp_path / "again")["scores"]
    first = json.loads((folder / "scores.json").read_text())
    for scores in (again, first):
        del scores["verdict"]["next_step"]  # it names the folder
    assert again == first
    first, second = ((p / "config.toml").read_text() for p in (folder, tmp_path / "again"))
    assert first == second


def test_a_log_on_disk_gives_the_same_run_and_is_not_copied(
    fitted, fit_arguments, log, tmp_path, monkeypatch
):
    """From the fit to the forecast; the folder knows where the log is."""
    monkeypatch.setattr("gpssm.data.io.reading.cache_folder", lambda: tmp_path / "cache")
    pd.read_csv(log).to_parquet(tmp_path / "log.parquet")
    moved = [tmp_path / "log.parquet" if each is log else each for each in fit_arguments]
    run = tmp_path / "run"
    given = answer(*moved, "--on-disk", "--seeds", 2, "--out", run)
    kept = json.loads((fitted[0] / "scores.json").read_text())
    for seed, scores in given["scores"]["seeds"].items():
        assert scores["pooled"] == pytest.approx(kept["seeds"][seed]["pooled"], rel=1e-4)
    assert not (run / "data.npz").exists()
    assert isinstance(open_folder(run).data.train[0].y, np.memmap)
    assert answer("evaluate", run)["scores"] == given["scores"]
    assert answer("predict", run, tmp_path / "log.parquet", "--out", tmp_path / "f.csv")["rows"]


def test_a_registered_data_set_is_not_left_on_disk():
    assert "--on-disk" in one_line(invoke("fit", "dubins", "--on-disk"))


def test_several_files_are_experiments_of_one_system(config, tmp_path, monkeypatch):
    """From the fit to the forecast, each file keeps its name and its own test part."""
    days = [write_csv(tmp_path / f"{day}.csv", seed=i) for i, day in enumerate(("mon", "tue"))]
    monkeypatch.chdir(tmp_path)
    columns = ["--inputs", "pump", "--outputs", "level"]
    run = Path(answer("fit", *days, *columns, "--config", config)["run"])
    assert run == Path("runs/data-cbf-ssm-50")
    kept = open_folder(run)
    parts = [("mon", "train", 84), ("mon", "test", 36), ("tue", "train", 84), ("tue", "test", 36)]
    assert sorted((e.name, e.part, len(e)) for e in kept.data) == sorted(parts)
    assert [Path(file) for file in kept.config.data.files] == days
    assert "64 steps open loop after 4 measurements" in invoke("evaluate", run).stdout
    page = (run / "report.html").read_text()
    assert "<option value=0>mon</option><option value=1>tue</option></select>" in page
    assert answer("predict", run, *days, "--out", "both.csv")["rows"] == 2 * ROWS
    assert pd.read_csv("both.csv")["experiment"].value_counts().to_dict() == {
        "mon": ROWS, "tue": ROWS,
    }  # fmt: skip


def test_other_settings_are_refused_and_nothing_is_lost(folder, fit_arguments):
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    line = one_line(invoke(*fit_arguments, "--seeds", 2, "--steps", 7, "--out", folder))
    assert "training.steps: was 6, is 7" in line
    assert "Use another --out" in line
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_with_other_files_is_not_touched(fit_arguments, tmp_path):
    (tmp_path / "config.toml").write_text("mine")
    assert "holds other files" in one_line(invoke(*fit_arguments, "--out", tmp_path))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_whose_training_never_began_is_no_obstacle(fit_arguments, config, tmp_path):
    long = tmp_path / "long.toml"
    long.write_text(config.read_text().replace("sequence_length = 12", "sequence_length = 500"))
    out, arguments = tmp_path / "run", [long if each == config else each for each in fit_arguments]
    assert "sequence_length" in one_line(invoke(*arguments, "--out", out))
    assert not out.exists()  # refused before anything was written
    out.mkdir()
    mark(out, "run")  # and killed before the run had an identity
    (out / ".data.npz.123.gpssm-tmp").write_bytes(b"half")
    (out / "checkpoints").mkdir()
    (out / ".run.json.123.gpssm-tmp").write_text("{")
    result = invoke(*fit_arguments, "--out", out)
    assert result.exit_code == 0, result.output
    assert not list(out.glob(".*tmp"))


def test_a_folder_with_files_of_the_user_is_left_as_it_is(fit_arguments, log, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "data.npz").write_bytes(b"of the user")
    assert "which holds other files" in one_line(invoke(*fit_arguments, "--out", out))
    assert [(each.name, each.read_bytes()) for each in out.iterdir()] == [
        ("data.npz", b"of the user")
    ]


def test_the_folder_of_an_input_file_is_refused(config, tmp_path):
    """Even if a run has been there before."""
    mark(tmp_path / "runs", "run")
    file = write_csv(tmp_path / "runs" / "log.csv")
    arguments = ["fit", file, "--inputs", "pump", "--outputs", "level", "--config", config]
    assert "holds the input log.csv" in one_line(invoke(*arguments, "--out", file.parent))
    assert {each.name for each in file.parent.iterdir()} == {"log.csv", ".gpssm-run"}


def test_a_forecast_does_not_replace_its_input(log, tmp_path):
    copy = tmp_path / "log.csv"
    copy.write_text(log.read_text())
    (tmp_path / "link.csv").symlink_to(copy)
    for out in (copy, tmp_path / "link.csv"):
        result = invoke("predict", tmp_path, copy, "--out", out, "--overwrite")
        assert "which is the input" in one_line(result)
    assert copy.read_text() == log.read_text()


@pytest.mark.skipif(os.name == "nt", reason="devices of Unix")
@pytest.mark.parametrize("command", ["predict", "report", "compare"])
def test_a_device_is_not_replaced_by_a_file(command, log, tmp_path):
    words = {"predict": [tmp_path, log], "report": [tmp_path], "compare": [tmp_path, tmp_path]}
    (tmp_path / "null").symlink_to("/dev/null")  # should it be replaced, then only the link
    result = invoke(command, *words[command], "--out", tmp_path / "null", "--overwrite")
    assert "null, which is a device or a pipe, expected the name of a file" in one_line(result)


def test_data_of_another_pace_are_refused(folder, log, tmp_path):
    slow = tmp_path / "slow.csv"
    frame = pd.read_csv(log)
    frame.assign(t=10.0 * frame["t"]).to_csv(slow, index=False)
    new = tmp_path / "f.csv"
    for command in (["predict", folder, slow, "--out", new], ["evaluate", folder, slow]):
        message = one_line(invoke(*command))
        assert "a step of 5 s" in message
        assert "0.5 s" in message


def test_an_output_that_the_test_part_lacks_is_said_not_to_be_judged(log, config, tmp_path):
    frame = pd.read_csv(log)
    frame["other"] = frame["level"].where(frame.index < 80, np.nan) * 2.0
    frame.to_csv(tmp_path / "two.csv", index=False)
    columns = ["--inputs", "pump", "--outputs", "level,other", "--config", config]
    result = invoke("fit", tmp_path / "two.csv", *columns, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "other was not measured in the test part" in page


def test_a_forecast_of_nothing_is_said_to_be_one(folder, log, tmp_path):
    result = invoke("predict", folder, log, "--out", tmp_path / "f.csv", "--warmup", 1000)
    assert result.exit_code == 0, result.output
    assert f"all {ROWS} rows" in result.stderr


def test_a_unit_in_brackets_is_no_markup(log, config, tmp_path):
    odd = tmp_path / "odd.toml"
    odd.write_text(config.read_text().replace('level = "cm"', 'level = "[/s]"'))
    columns = ["--inputs", "pump", "--outputs", "level", "--config", odd]
    result = invoke("fit", log, *columns, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "RMSE [[/s]]" in result.output


def test_folders_of_one_name_are_compared_under_their_paths(folder, tmp_path):
    twin = tmp_path / "other" / folder.name
    shutil.copytree(folder, twin)
    found = answer("compare", folder, twin, "--out", tmp_path / "page.html")
    assert set(found["scores"]) == {str(folder), str(twin)}


@pytest.mark.parametrize("code", [130, 143])
def test_a_stop_keeps_its_exit_code(fit_arguments, tmp_path, monkeypatch, code):
    def stopped(*_, **__):
        raise TrainingStopped(code)

    monkeypatch.setattr("gpssm.workflow.fitting.fit", stopped)
    result = invoke(*fit_arguments, "--out", tmp_path / "run")
    assert result.exit_code == code
    assert "Traceback" not in result.stderr


def test_ctrl_c_outside_of_training_is_no_traceback(fit_arguments, monkeypatch, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gpssm.cli.fitting.load_data", interrupted)
    result = invoke(*fit_arguments, "--out", tmp_path / "run")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "--outputs", "y"], "nowhere.csv: got no such file"),
        ([], "DATA: got nothing"),
        (
            ["furnac"],
            "DATA: got 'furnac', expected a file, or a data set of `gpssm data list`. "
            "Nearest: furnace",
        ),
        (["furnace", "--outputs", "CO2"], "--outputs: got CO2 together with the data set"),
        (["--config", "nowhere.toml"], "--config: got nowhere.toml, which is no file"),
    ],
)
def test_errors_are_one_line(arguments, words):
    assert words in one_line(invoke("fit", *arguments))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("steps = 3", "unknown outside of a section, expected it below [training]"),
        ("model = 3", "model: got 3"),
        ("[model]\nkernel = 'foo'", "kernel"),
        ("[data]\nunits = 3", "units"),
        ("seeds = 'many'", "seeds"),
        ("[broken", "a TOML file"),
        ("method = 'magic'", "method: got 'magic', expected one of"),
    ],
)
def test_a_wrong_configuration_is_one_line(text, words, log, tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    arguments = ["fit", log, "--outputs", "level", "--config", path, "--out", tmp_path / "run"]
    assert words in one_line(invoke(*arguments))
    assert not (tmp_path / "run").exists()


def test_debug_shows_where_it_happened():
    result = invoke("fit", "nowhere.csv", "--outputs", "y", "--debug")
    assert isinstance(result.exception, gpssm.DataError)


def test_machines_get_the_error_as_json():
    result = invoke("fit", "nowhere.csv", "--outputs", "y", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["kind"] == "DataError"


def test_what_nobody_foresaw_is_one_line_too(monkeypatch):
    def broken(*_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("gpssm.cli.datasets.list_datasets", broken)
    assert "unexpected RuntimeError: two lines" in one_line(invoke("data", "list"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "x.csv", "--method", "magic"],
        ["fit", "x.csv", "--steps", "0"],
        ["fit", "x.csv", "--test-fraction", "1.5"],
        ["compare", "one"],
        ["nothing"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments):
    assert invoke(*arguments).exit_code == 2


# ---------------------------------------------------------------------- after the fit


def test_predict_writes_the_forecast_of_the_best_seed(folder, tmp_path):
    new = write_csv(tmp_path / "new.csv", rows=40, seed=1)
    said = answer("predict", folder, new, "--out", tmp_path / "forecast.csv")
    table = pd.read_csv(tmp_path / "forecast.csv")
    run = gpssm.load(folder / f"seed-{said['seed']}.gpssm")
    data = gpssm.read(new, inputs="pump", outputs="level")[0]
    forecast = run.predict(data.u, data.y[:4], particles=10)
    np.testing.assert_allclose(table["level mean"], forecast.mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(table["level 97.5%"], forecast.quantile(0.975)[:, 0], rtol=1e-6)
    assert table["t"].tolist()[:3] == [0.0, 0.5, 1.0]  # the user's column
    assert (table["part"] == "warm-up").sum() == 4


def test_predict_uses_every_row_up_to_the_last_measurement(folder, tmp_path):
    """Rows to come have inputs and no outputs; a gap before is no end."""
    new = write_csv(tmp_path / "new.csv", rows=40, seed=1)
    frame = pd.read_csv(new)
    frame.loc[5:7, "level"] = frame.loc[25:, "level"] = np.nan
    frame.to_csv(new, index=False)
    out = tmp_path / "forecast.csv"
    said = answer("predict", folder, new, "--out", out)
    assert said["warmup"] == [25]
    table, run = pd.read_csv(out), gpssm.load(folder / f"seed-{said['seed']}.gpssm")
    u = frame[["pump"]].to_numpy()
    forecast = run.predict(u, frame["level"].to_numpy()[:25], particles=10)
    np.testing.assert_allclose(table["level mean"], forecast.mean[:, 0], rtol=1e-6)
    assert (table["part"] == "warm-up").sum() == 25
    told = invoke("predict", folder, new, "--out", out, "--overwrite").stdout
    assert "40 rows; outputs of the first 25 rows are used; seed" in " ".join(told.split())
    asked = answer("predict", folder, new, "--warmup", 9, "--out", out, "--overwrite")
    assert asked["warmup"] == [9]


def test_too_few_measurements_are_told_once_for_all_experiments(folder, tmp_path):
    """Of two states one is measured, in both files."""
    files = [write_csv(tmp_path / f"{seed}.csv", rows=30, seed=seed) for seed in (1, 2)]
    for file in files:
        frame = pd.read_csv(file)
        frame.loc[1:, "level"] = np.nan
        frame.to_csv(file, index=False)
    result = invoke("predict", folder, *files, "--out", tmp_path / "f.csv", "--warmup", 4)
    assert result.exit_code == 0, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: the warm-up: got 1 measurement, expected at least 2")


def test_no_text_of_a_forecast_is_a_formula_to_a_spreadsheet(folder, log, tmp_path):
    given, out = tmp_path / "=cmd|calc.csv", tmp_path / "f.csv"
    shutil.copy(log, given)
    answer("predict", folder, given, "--out", out)
    assert set(pd.read_csv(out)["experiment"]) == {"'=cmd|calc"}
    headers = ["experiment", "=1+1", "@SUM(1) mean", " -2", "+3 std", "level - 1"]
    table = without_formulas(pd.DataFrame([["a", -1.0, 2.0, 3.0, 4.0, 5.0]], columns=headers))
    assert list(table) == ["experiment", "'=1+1", "'@SUM(1) mean", "' -2", "'+3 std", "level - 1"]
    assert table.iloc[0, 1] == -1.0  # a number stays a number


def test_predict_takes_the_seed_it_is_told(folder, log, tmp_path):
    out = tmp_path / "forecast.csv"
    assert answer("predict", folder, log, "--seed", 1, "--out", out)["seed"] == 1
    line = one_line(invoke("predict", folder, log, "--seed", 7, "--out", tmp_path / "b.csv"))
    assert "--seed: got 7, expected one of [0, 1]" in line


def test_predict_does_not_replace_a_file_unless_told(folder, log, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("precious")
    assert "--overwrite" in one_line(invoke("predict", folder, log, "--out", mine))
    assert mine.read_text() == "precious"
    assert invoke("predict", folder, log, "--out", mine, "--overwrite").exit_code == 0
    assert len(pd.read_csv(mine)) == ROWS


def test_evaluate_gives_the_scores_of_the_fit(folder):
    scores = answer("evaluate", folder)["scores"]
    assert scores == json.loads((folder / "scores.json").read_text())


def test_evaluate_takes_other_data(folder, tmp_path):
    new = write_csv(tmp_path / "new.csv", rows=60, seed=2)
    result = invoke("evaluate", folder, new)
    assert result.exit_code == 0, result.output
    assert "56 steps open loop after 4 measurements" in result.stdout


def test_report_writes_the_page_anew(folder):
    page = folder / "report.html"
    page.unlink()
    assert answer("report", folder)["reports"] == [str(page)]
    assert 1_000_000 < page.stat().st_size < 2_000_000


def test_compare_names_both_runs_and_what_differs(folder, config, log, tmp_path):
    other, changed = tmp_path / "slower", tmp_path / "slower.toml"
    changed.write_text(config.read_text() + "learning_rate = 0.01\n")
    arguments = ["fit", log, "--inputs", "pump", "--outputs", "level", "--seeds", 2]
    assert invoke(*arguments, "--config", changed, "--out", other).exit_code == 0
    answer("compare", folder, other, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "tiny &lt;run&gt;" in page
    assert "<td>training.learning_rate</td><td>0.1</td><td>0.01</td>" in page
    assert "All runs forecast the same test data." in page
    content = page.split('type="application/json">')[1].split("</script>")[0]
    charts = {key: chart["variants"] for key, chart in json.loads(content).items()}
    for figure in (charts["forecast"]["0|0"], charts["horizon"]["0"]):
        names = [trace.get("name") for trace in figure["data"]]
        assert {"linear ARX", "constant mean"} <= set(names)
    assert re.search(r"<th>linear ARX</th>.*RMSE \[cm\]", page)


@pytest.mark.parametrize("command", [["evaluate"], ["report"], ["predict", "x.csv"]])
def test_a_folder_that_is_no_run_is_refused(command, tmp_path):
    line = one_line(invoke(command[0], tmp_path, *command[1:], *_out(command, tmp_path)))
    assert "the folder of a run" in line


def _out(command, tmp_path):
    return ["--out", tmp_path / "new.csv"] if command[0] == "predict" else []


# ---------------------------------------------------------------------- data


def test_data_list_has_every_name():
    listed = {row["name"] for row in answer("data", "list")["datasets"]}
    assert listed == set(gpssm.list_datasets())
    assert "two_tanks" in invoke("data", "list").stdout


def test_data_fetch_loads_by_name():
    assert answer("data", "fetch", "kink")["kink"]["rows"] == 600
    assert "Nearest: ['furnace'" in one_line(invoke("data", "fetch", "furnac"))


def test_data_check_shows_columns_then_remarks(log):
    arguments = ["data", "check", log, "--inputs", "pump", "--outputs", "level"]
    found = answer(*arguments)
    assert "the longest gap of an output is 3 rows" in found["remarks"]
    assert found["missing"] == pytest.approx(3 / ROWS)
    assert "name the time column" in invoke(*arguments).stdout
    assert "no problems found" not in invoke(*arguments).stdout


def test_data_check_and_fit_make_the_same_remarks_before_training(
    fit_arguments, tmp_path, monkeypatch
):
    def stop(*_, **__):
        raise gpssm.DataError("no training here")

    monkeypatch.setattr("gpssm.cli.fitting.fit_folder", stop)
    frame = pd.read_csv(fit_arguments[1])
    frame.loc[100:110, "pump"], frame.loc[60, "level"] = 30.0, -9999.0
    frame.to_csv(tmp_path / "odd.csv", index=False)
    columns = [tmp_path / "odd.csv", "--inputs", "pump", "--outputs", "level"]
    checked = answer("data", "check", *columns, "--time", "t")["remarks"]
    fitted = invoke("fit", *columns, *fit_arguments[-2:], "--out", tmp_path / "run")
    lines = fitted.stderr.splitlines()
    assert [line.removeprefix("remark: ") for line in lines if "remark" in line] == checked
    assert any("level is -9999 in 1 rows" in line for line in checked)
    assert any("of the test values of pump lie outside" in line for line in checked)
    assert "no training here" in lines[-1]


def test_a_registered_data_set_is_checked_too():
    assert answer("data", "check", "kink")["remarks"][-1].startswith("no inputs")
    assert "no problems found" in invoke("data", "check", "two_tanks").stdout


def test_data_check_names_file_column_and_row(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("u,y\n1,2\n1,off\n1,3\n")
    line = one_line(invoke("data", "check", path, "--inputs", "u", "--outputs", "y"))
    assert re.search(r"bad\.csv, column 'y', row 3: got 'off', expected a number", line)


# ---------------------------------------------------------------------- demo


@pytest.mark.parametrize("name", ["report.html", "notes.txt"])
def test_demo_leaves_other_files_alone(name, monkeypatch, tmp_path):
    monkeypatch.setattr("gpssm.workflow.demo.main", lambda out, **_: {"out": out})
    (tmp_path / name).write_text("mine")
    result = invoke("demo", "--out", tmp_path)
    assert "holds other files" in one_line(result)
    assert "which is a file" in one_line(invoke("demo", "--out", tmp_path / name))


def test_demo_may_be_repeated_where_its_marker_is(monkeypatch, tmp_path):
    """A model of one's own may have the name of the demo's: the README saves one."""
    monkeypatch.setattr("gpssm.workflow.demo.main", lambda out, **_: {"out": out})
    for name in ("two_tanks.gpssm", "report.html", "forecast.png"):
        (tmp_path / name).write_text("")
    assert "holds other files" in one_line(invoke("demo", "--out", tmp_path))
    (tmp_path / ".gpssm-demo").write_text("")
    assert invoke("demo", "--out", tmp_path).exit_code == 0


def test_demo_says_where_its_report_is(monkeypatch, tmp_path):
    result, asked = {"report": tmp_path / "report.html", "scores": {}}, []

    def main(out, silent, quiet):
        asked.append((silent, quiet))
        return {**result, "out": out}

    monkeypatch.setattr("gpssm.workflow.demo.main", main)
    assert answer("demo", "--out", "here") == {
        "report": str(tmp_path / "report.html"), "scores": {}, "out": "here",
    }  # fmt: skip
    answer("demo", "--out", "here", "--quiet")
    assert asked == [(True, False), (True, True)]


def test_a_file_is_named_once(log, fit_arguments):
    assert f"{log} 2 times" in one_line(invoke(*fit_arguments, "--test", log))
    assert f"{log} 2 times" in one_line(invoke("fit", log, *fit_arguments[1:]))


def test_a_name_with_a_line_break_is_listed_in_one_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('"u\nin",y\n1,2\n2,4\n3,5\n')
    assert "  'u\\nin'" in invoke("data", "check", path).stdout.splitlines()


def test_a_name_keeps_its_blanks_in_an_error(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("flow  in,y\n1,2\n2,4\n3,5\n")
    line = one_line(invoke("data", "check", path, "--inputs", "flow in", "--outputs", "y"))
    assert "Nearest: ['flow  in']" in line


@pytest.mark.parametrize("blank", ["\f", "\v", "\x85", "\u2028"])
def test_a_path_with_any_line_break_is_told_in_one_line(tmp_path, blank):
    line = one_line(invoke("predict", tmp_path / "run", f"a{blank}b", "--out", f"a{blank}b"))
    assert line.startswith("error: ")


def test_a_name_with_a_comma_is_told_how_to_be_quoted(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('"flow, in",y\n1,2\n2,4\n3,5\n')
    line = one_line(invoke("data", "check", path, "--inputs", "flow, in", "--outputs", "y"))
    assert """quote a name with a comma twice: '"flow, in"'""" in line


def test_what_is_for_python_is_not_said_on_the_command_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,u,y\n0,1,2\n1,2,3\n5,1,2\n7,2,2\n8,2,2\n")
    options = "--inputs", "u", "--outputs", "y", "--time", "t"
    line = one_line(invoke("data", "check", path, *options))
    assert "(--resample 1.5)" in line
    assert "Python" not in line
