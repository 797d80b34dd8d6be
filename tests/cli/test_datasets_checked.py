"""What `gpssm data` says of a data set: to people, and to machines."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpssm import DataError, Dataset
from gpssm.cli import datasets, fitting
from gpssm.cli.datasets import check_command, fetch_command, list_command, summary
from gpssm.cli.fitting import fit_command
from gpssm.report.tables import verdict_text
from gpssm.report.verdict import Reason, Verdict


def make_data():
    y = np.array([[1.0, np.nan], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]])
    return Dataset.from_arrays(
        [y, y], [np.arange(4.0), np.arange(4.0)], sampling_time=0.5, name="tank",
        input_names=["u"], output_names=["a", "b"], experiment_names=["mon", "tue"],
    ).split_at(2)  # fmt: skip


def test_a_data_set_in_plain_values():
    experiments = [
        {"name": name, "part": part, "rows": 2}
        for name, part in (("mon", "train"), ("mon", "test"), ("tue", "train"), ("tue", "test"))
    ]
    found = summary(make_data())
    assert sorted(found.pop("experiments"), key=str) == sorted(experiments, key=str)
    assert found == {
        "name": "tank", "rows": 8, "inputs": ["u"], "outputs": ["a", "b"], "sampling_time": 0.5,
        "notes": [], "missing": 2 / 16,
    }  # fmt: skip
    json.dumps(found)


def test_every_name_is_listed_and_fetched(monkeypatch, capsys):
    monkeypatch.setattr(datasets, "list_datasets", lambda: ["a", "b"])
    monkeypatch.setattr(datasets, "describe_dataset", lambda name: {"name": name})
    monkeypatch.setattr(datasets, "load_dataset", lambda name: make_data())
    list_command(True)
    assert json.loads(capsys.readouterr().out) == {"datasets": [{"name": "a"}, {"name": "b"}]}
    list_command(False)
    assert capsys.readouterr().out == "['a', 'b']\n"
    fetch_command(["a", "b"], True)
    wanted = json.loads(json.dumps(summary(make_data())))
    assert json.loads(capsys.readouterr().out) == {"a": wanted, "b": wanted}
    fetch_command(["a", "b"], False)
    assert capsys.readouterr().out == f"{make_data()}\n" * 2


def test_a_check_describes_the_data_and_then_its_problems(tmp_path, capsys):
    path, columns = tmp_path / "a.csv", {"inputs": ("u",), "outputs": ("y",), "sampling_time": 1.0}
    rows = np.random.default_rng(0).standard_normal((300, 2)).cumsum(axis=0)
    path.write_text("u,y\n" + "\n".join(f"{u},{y}" for u, y in rows))
    check_command([str(path)], dict(columns), True)
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["outputs"], found["missing"]) == (300, ["y"], 0.0)
    assert {each["part"] for each in found["experiments"]} == {"train", "test"}
    check_command([str(path)], dict(columns), False)
    lines = capsys.readouterr().out.splitlines()
    remarks = found["remarks"] or ["no problems found"]
    assert lines[0] == "Dataset 'a': 300 rows, sampling time 1 s"
    assert lines[-len(remarks) :] == [f"  remark     {each}" for each in remarks]


def test_data_too_short_for_two_parts_are_described_in_one(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("u,y\n1,2\n2,3\n3,5\n")
    check_command([str(path)], {"outputs": ("y",)}, True)
    assert [each["part"] for each in json.loads(capsys.readouterr().out)["experiments"]] == [""]


def test_a_registered_data_set_that_cannot_be_read_is_an_error(monkeypatch):
    def missing(config):
        raise DataError("no file")

    monkeypatch.setattr(datasets, "load_data", missing)
    monkeypatch.setattr(datasets, "read_files", lambda *_: make_data())
    with pytest.raises(DataError, match="no file"):
        check_command(["two_tanks"], {}, False)


def test_without_outputs_the_columns_are_listed(monkeypatch, capsys):
    columns = {"a.csv": {"u": 3, "y": 2}, "b.csv": {"v": 2}}
    refused = {"a.csv": [("note", "texts"), ("when", "dates")], "b.csv": []}

    def table(path):
        rows = columns[path]
        return SimpleNamespace(
            source=path, columns=list(rows), length=rows.get, refused=refused[path]
        )

    monkeypatch.setattr(datasets, "read_table", table)
    monkeypatch.setattr(datasets, "as_data_options", lambda paths: {"files": tuple(paths)})
    check_command(["a.csv", "b.csv"], {}, True)
    skipped = {"a.csv": {"note": "texts", "when": "dates"}, "b.csv": {}}
    assert json.loads(capsys.readouterr().out) == {"columns": columns, "skipped": skipped}
    check_command(["a.csv", "b.csv"], {}, False)
    assert capsys.readouterr().out.splitlines() == [
        "a.csv: 3 rows, columns", "  u: 3 rows", "  y: 2 rows", "  skipped note: texts",
        "  skipped when: dates", "b.csv: 2 rows, columns", "  v",
        "Choose with --inputs and --outputs, then check again.",
    ]  # fmt: skip
    columns["b.csv"] = {}
    with pytest.raises(DataError, match=r"b\.csv: got no column of numbers, expected at least one"):
        check_command(["a.csv", "b.csv"], {}, False)


def test_lengths_are_told_where_they_differ():
    assert list(datasets._lines({"a": 3, "b\n": 2})) == ["  a: 3 rows", "  'b\\n': 2 rows"]
    assert list(datasets._lines({"a": 3, "b\n": 3})) == ["  a", "  'b\\n'"]


# ---------------------------------------------------------------------- gpssm fit


class Folder:
    """What a fit leaves: scores, and seeds with their errors on their own rows."""

    path, report = Path("runs/a"), Path("runs/a/report.html")
    verdict = Verdict("use", (Reason("a", "b"),), "gpssm x")

    def __init__(self):
        self.scoring, self.failed = self, {}
        self.training_rmse = {0: 3.0, 1: 2.0, 2: 2.5}

    def to_json(self):
        return {"scores": "all"}

    def shown(self):
        return ["the table", verdict_text(self.verdict)]


@pytest.fixture
def steps(monkeypatch):
    """What a fit does, and in which order; its data have one remark."""
    done, folder, data = [], Folder(), make_data()
    gpssm = fitting.gpssm
    monkeypatch.setattr(gpssm, "prepare", lambda cores: done.append(("prepare", cores)))
    monkeypatch.setattr(gpssm, "connect", lambda **where: done.append(("connect", where)))
    monkeypatch.setattr(fitting, "load_data", lambda config: done.append(("load", config)) or data)
    monkeypatch.setattr(fitting, "preflight", lambda _: [Reason("x", "odd")])

    def fit_folder(config, given, out, *, quiet):
        done.append(("fit", config.training, given is data, out, quiet))
        return folder

    monkeypatch.setattr(fitting, "fit_folder", fit_folder)
    return done, folder


def fit(**more):
    options = {"data": {"outputs": ("y",)}, "training": {"steps": 5}}
    given = {"config_file": None, "out": Path("o"), "as_json": False, **more}
    fit_command(["/a.csv"], options, ["learning_rate=0.5"], **given)


def test_a_fit_says_what_it_reads_and_what_it_has_found(steps, capsys):
    done, _ = steps
    fit()
    assert [each[0] for each in done] == ["prepare", "load", "fit"]
    assert (done[0][1], done[1][1].files) == (None, ("/a.csv",))
    assert done[2][1:] == ({"steps": 5, "learning_rate": 0.5}, True, Path("o"), False)
    said = capsys.readouterr()
    ends = "the table\nverdict use: b.\nnext    gpssm x\nrun     runs/a\n"
    assert said.out == f"{make_data()}\n{ends}report  runs/a/report.html\n"
    assert said.err == "remark: odd\n"
    fit(as_json=True, quiet=True, cores=3)
    assert (done[3][1], done[5][4]) == (3, True)
    run = {"run": "runs/a", "report": "runs/a/report.html", "remarks": ["odd"]}
    assert json.loads(capsys.readouterr().out) == {**run, "scores": {"scores": "all"}}


def test_of_several_processes_each_has_a_core_and_the_first_speaks(steps, capsys, monkeypatch):
    done, folder = steps
    fit(address={"process": 1}, cores=2)
    fit(address={"process": 1})
    assert done[:2] == [("prepare", 2), ("connect", {"process": 1})]
    assert done[4:6] == [("prepare", 1), ("connect", {"process": 1})]
    capsys.readouterr()
    monkeypatch.setattr(fitting, "is_first", lambda: False)
    folder.scoring = None
    fit(address={"process": 1})
    assert capsys.readouterr() == ("", "")


def test_settings_of_a_file_are_read_and_those_of_options_go_before(steps, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("seeds = 4\n[training]\nsteps = 9\nbatch_size = 7\n")
    fit(config_file=path)
    assert steps[0][2][1] == {"steps": 5, "learning_rate": 0.5, "batch_size": 7}


def test_seeds_that_have_failed_are_told_beside_the_best(steps, capsys):
    steps[1].failed = {0: 3.0, 2: 2.5}
    fit()
    assert capsys.readouterr().err == (
        "remark: odd\nwarning: failed on rows of the training part: seed 0 (RMSE 3), seed 2 (RMSE "
        "2.5); seed 1 has 2. No command chooses a failed seed; --starts 3, with another --out, "
        "restarts each seed and keeps one that has not failed.\n"
    )
    steps[1].training_rmse = {0: np.nan}
    fit()
    assert capsys.readouterr().err == "remark: odd\n"
