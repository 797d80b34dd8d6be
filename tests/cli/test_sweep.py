"""`gpssm sweep`: from a file to a table, a ranking and settings that `gpssm fit` accepts."""

import json
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import gpssm
from gpssm import ConfigError
from gpssm.cli.sweeping import (
    StudyConfig,
    as_numbers,
    best_table,
    read_study,
    sweep_command,
    write_best,
)
from gpssm.workflow.configuration import DataConfig
from support_cli import answer, invoke, write_csv
from support_study import make_data, make_study, pretend

STUDY = """
method = "pr-ssm"
seeds = 2
validation = 0.25

[data.tank]
files = ["log.csv"]
inputs = ["pump"]
outputs = ["level"]
time = "t"

[model]
dim_x = 2
inducing_points = 3
particles = 2
recognition = "output"

[training]
steps = 3
sequence_length = 12
batch_size = 2
validation_warmup = 2

[search]
kind = "grid"

[search.training]
learning_rate = [0.01, 0.1]
inducing_kl = [1.0, 3.0]
"""


@pytest.fixture
def study(tmp_path):
    """The path of the file, beside its data."""
    write_csv(tmp_path / "log.csv")
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setattr("gpssm.study.driver.fit_batch", pretend)


def one_line(result):
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.strip().splitlines()
    return line


def test_the_best_settings_are_a_fit_that_gives_the_score_of_the_table(study, tmp_path):
    found = answer("sweep", study, "--out", tmp_path / "out", "--quiet")
    table = pd.read_parquet(found["table"])
    assert found["trials"] == len(table) == 8
    assert found["best"] == [str(tmp_path / "out" / "best.toml")]
    best = table[table["training.learning_rate"] == found["settings"]["training"]["learning_rate"]]
    best = best[best["training.inducing_kl"] == found["settings"]["training"]["inducing_kl"]]
    words = ["--config", found["best"][0], "--out", tmp_path / "run"]
    answer("fit", *words)
    for seed, rmse in zip(best["seed"], best["rmse"], strict=True):
        history = pd.read_csv(tmp_path / "run" / f"history-seed-{seed}.csv")
        assert history["validation_rmse"].min() == pytest.approx(rmse, rel=1e-3)


def test_people_see_the_best_and_where_the_files_are(study, pretended, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("sweep", study)
    assert result.exit_code == 0, result.output
    rows = [line for line in result.stdout.splitlines() if re.match(r"│ \d", line)]
    assert re.findall(r"[\d.]+", rows[0]) == ["3", "1", "0.1", "3"]
    assert "studies/study/trials.parquet" in result.stdout
    assert "studies/study/best.toml" in result.stdout
    assert "0 of 4 are there, 4 to do" in result.stderr


def test_of_several_data_sets_each_has_its_best(study, pretended, tmp_path):
    study.write_text('datasets = ["two_tanks"]\n' + STUDY)
    found = answer("sweep", study, "--out", tmp_path / "out")
    names = ["best.toml", "best-two_tanks.toml", "best-tank.toml"]
    assert [path.rpartition("/")[2] for path in found["best"]] == names
    assert "[data]\nname" in (tmp_path / "out" / names[1]).read_text()
    result = invoke("sweep", study, "--out", tmp_path / "out")
    assert "on tank" in result.stdout


def test_a_changed_study_is_refused_in_one_line(study, pretended, tmp_path):
    assert invoke("sweep", study, "--out", tmp_path / "out", "--quiet").exit_code == 0
    study.write_text(STUDY.replace("steps = 3", "steps = 4"))
    line = one_line(invoke("sweep", study, "--out", tmp_path / "out"))
    assert line.startswith("error: --out: ")
    assert "training.steps: was 3, is 4" in line


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[search.training]", "[search.trainings]", "trainings: unknown setting"),
        ("learning_rate = [", "learning_rat = [", "training.learning_rat: unknown setting"),
        ("[0.01, 0.1]", "0.1", "a list of values"),
        ("[0.01, 0.1]", "[0.01, -0.1]", "learning_rate: got -0.1"),
        ("[0.01, 0.1]", "[0.01", "a TOML file"),
        ("[0.01, 0.1]", "{low = 0.1, high = 1.0}", "kind = 'random'"),
        ('kind = "grid"', 'kind = "gird"', "'gird'"),
        ("[data.tank]", "[tank]", "tank: unknown setting"),
        ('["log.csv"]', '["lag.csv"]', "lag.csv"),
        ("validation = 0.25", "validation = 25", "validation"),
        ("[model]", "[model.x]", "model.x: unknown setting"),
    ],
)
def test_a_wrong_file_is_one_readable_line(old, new, words, study, pretended):
    study.write_text(STUDY.replace(old, new))
    assert words in one_line(invoke("sweep", study))


def test_no_data_and_no_file_are_one_readable_line(study, tmp_path):
    study.write_text(re.sub(r"\[data.*?\n\n", "", STUDY, flags=re.DOTALL))
    assert "datasets = " in one_line(invoke("sweep", study))
    assert "which is no file" in one_line(invoke("sweep", tmp_path / "none.toml"))
    result = invoke("sweep", tmp_path / "none.toml", "--json")
    assert "no file" in json.loads(result.stdout)["error"]


def test_a_folder_with_other_files_is_not_touched(study, pretended, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    assert "holds other files" in one_line(invoke("sweep", study, "--out", tmp_path / "out"))


def test_lost_trials_are_an_error_after_all_else_is_told(study, tmp_path, monkeypatch):
    def lose(study, data, batch, progress):
        if batch.configurations[0].number == 0:
            raise ConfigError("its worker died")
        return pretend(study, data, batch, progress)

    monkeypatch.setattr("gpssm.study.driver.fit_batch", lose)
    study.write_text("side_by_side = 1\n" + STUDY)
    result = invoke("sweep", study, "--out", tmp_path / "out", "--quiet")
    assert result.exit_code == 1
    assert "trials.parquet" in result.stdout
    assert "worker died" in result.stderr
    assert result.stderr.rstrip().endswith("Run the same command again to fit the missing trials.")


def test_a_study_that_was_killed_before_its_first_file_goes_on(study, pretended, tmp_path):
    out = tmp_path / "study"
    out.mkdir()
    (out / ".study.json.123.gpssm-tmp").write_text("{")
    result = invoke("sweep", study, "--out", out)
    assert result.exit_code == 0, result.output
    left = out / "trials.parquet" / ".tank-000000.parquet.123.gpssm-tmp"
    left.write_text("PAR1")
    assert invoke("sweep", study, "--out", out).exit_code == 0
    assert not list(out.rglob(".*-tmp"))


def test_the_folder_of_an_input_is_refused(study, pretended, tmp_path):
    """Even if a study has been there before."""
    (tmp_path / "study.json").write_text("{}")
    assert "holds the input log.csv" in one_line(invoke("sweep", study, "--out", tmp_path))
    assert {each.name for each in tmp_path.iterdir()} == {"log.csv", "study.toml", "study.json"}


def test_a_table_of_the_user_is_neither_read_nor_replaced(pretended, tmp_path):
    (tmp_path / "trials.parquet").mkdir()
    (tmp_path / "trials.parquet" / "lag-000000.parquet").write_text("of the user")
    with pytest.raises(ConfigError, match=r"out: got .*holds trials\.parquet but no study\.json"):
        gpssm.sweep(make_study(), {"lag": make_data()}, out=tmp_path, quiet=True)
    assert (tmp_path / "trials.parquet" / "lag-000000.parquet").read_text() == "of the user"


# ---------------------------------------------------------------------- the table and the files


def swept(tmp_path, *names, **changes):
    """A study of which one configuration has failed."""
    data = {name: make_data(seed=i) for i, name in enumerate(names)}
    study = make_study(**changes)
    return gpssm.sweep(study, data, out=tmp_path / "out", quiet=True)


def cells(table):
    return list(zip(*(list(each.cells) for each in table.columns), strict=True))


def test_the_table_has_the_scores_on_each_data_set_and_the_settings(pretended, tmp_path):
    table = best_table(swept(tmp_path, "lag", "hard"))
    names = ["configuration", "rmse", "on lag", "on hard", "learning_rate", "inducing_kl"]
    assert [str(each.header) for each in table.columns] == names
    assert cells(table) == [  # exp(|log(rate / 0.1)| + |log(weight / 3)|), ten times that on hard
        ("3", "3.162", "1", "10", "0.1", "3"), ("2", "9.487", "3", "30", "0.1", "1"),
        ("1", "31.62", "10", "100", "0.01", "3"), ("0", "94.87", "30", "300", "0.01", "1"),
    ]  # fmt: skip
    title = "16 trials, the best on the held-out part (normalised units)"
    assert str(table.title) == title


def test_ten_configurations_are_shown_and_a_failed_one_is_said_to_be(tmp_path, monkeypatch):
    def failing(study, data, batch, progress):
        rows = pretend(study, data, batch, progress)
        for each in rows:
            if each["training.learning_rate"] == 0.02:
                each |= {"rmse": float("nan"), "log_likelihood": float("nan"), "error": "lost"}
        return rows

    monkeypatch.setattr("gpssm.study.driver.fit_batch", failing)
    rates = {"learning_rate": [0.01 * i for i in range(1, 12)]}
    found = swept(tmp_path, "lag", search={"training": rates})
    assert len(found.ranking) == 11
    table = best_table(found)
    assert [str(each.header) for each in table.columns][:3] == [
        "configuration", "rmse", "learning_rate"
    ]  # fmt: skip
    assert len(cells(table)) == 10
    few = swept(tmp_path / "few", "lag", search={"training": {"learning_rate": [0.02, 0.1]}})
    assert [row[1] for row in cells(best_table(few))] == ["3", "failed"]
    numbers = as_numbers(few)
    assert numbers.pop("settings")["training"]["learning_rate"] == 0.1
    assert numbers == {
        "objective": "rmse",
        "score": pytest.approx(3.0),
        "trials": 4,
        "failed": 2,
        "lost": [],
    }
    json.dumps(numbers)


def test_the_best_of_each_data_set_is_written_with_its_files(pretended, tmp_path):
    found = swept(tmp_path, "lag", "hard")
    study = StudyConfig(**found.study.model_dump(), data={
        "lag": DataConfig(files=("a.csv",), outputs=("y",)), "hard": DataConfig(name="furnace"),
    })  # fmt: skip
    whole, lag, hard = (path.read_text() for path in write_best(study, found))
    for text in (whole, lag, hard):
        content = tomllib.loads(text)
        assert (content["method"], content["seeds"]) == ("pr-ssm", 2)
        assert content["training"]["learning_rate"] == 0.1
        assert content["training"]["validation_metric"] == "rmse"
        assert content["validation"] == study.validation
        assert content["model"]["dim_x"] == 2
    assert "files" not in whole
    assert tomllib.loads(lag)["data"]["files"] == ["a.csv"]
    assert tomllib.loads(hard)["data"]["name"] == "furnace"


def test_a_study_reads_files_beside_it_and_knows_where_data_are_from(study, tmp_path):
    study.write_text('datasets = ["two_tanks"]\n' + STUDY)
    found = read_study(study)
    assert list(found.sources) == ["two_tanks", "tank"]
    assert found.sources["two_tanks"] == DataConfig(name="two_tanks")
    assert found.sources["tank"].files == (str(tmp_path / "log.csv"),)
    study.write_text('datasets = ["tank"]\n' + STUDY)
    with pytest.raises(ConfigError, match=r"data: got 'tank' twice, expected each name once\."):
        read_study(study)
    study.write_text(STUDY + "\n[search.model]\nlag = ['none', 3]\n")
    assert read_study(study).search.model["lag"] == (None, 3)


def test_a_sweep_is_asked_for_what_the_command_was_given(study, monkeypatch, capsys, tmp_path):
    asked = []

    def sweep(found, data, *, out, cluster, quiet):
        asked.append((list(data), data["tank"].num_rows, out, cluster, quiet))
        raise ConfigError("enough")

    monkeypatch.setattr(gpssm, "prepare", lambda: asked.append("prepare"))
    monkeypatch.setattr(gpssm, "sweep", sweep)
    monkeypatch.chdir(tmp_path)
    for out, on_cluster, quiet in ((None, False, False), (tmp_path / "o", True, True)):
        with pytest.raises(ConfigError, match="enough"):
            sweep_command(study, out, on_cluster, quiet, False)
    rows = 84  # 70 % of 120
    default = read_study(study).cluster
    assert asked == [
        "prepare",
        (["tank"], rows, Path("studies/study"), None, False),
        "prepare",
        (["tank"], rows, tmp_path / "o", default, True),
    ]
