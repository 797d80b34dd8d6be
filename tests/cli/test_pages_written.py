"""`gpssm report`, `compare` and `demo`: which files they write, and what they say of them."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpssm import ConfigError
from gpssm.cli import reporting
from gpssm.cli.reporting import compare_command, demo_command, report_command


class Folder:
    """The folder of a run, that notes what it is asked."""

    def __init__(self, path, asked):
        self.path, self.asked, self.report = path, asked, path / "report.html"
        self.data = SimpleNamespace(train=f"train {path.name}", name=path.name)
        self.protocol, self.trained_on = "protocol", "rows"

    def about(self, data):
        self.asked.append(("about", self.path.name, data))
        found = Folder(self.path, self.asked)
        found.report = self.path / "report-x.html"
        return found

    def write_report(self, path, seed, quiet):
        self.asked.append(("write", self.path.name, path, seed, quiet))
        return path or self.report

    def choose(self):
        return f"run of {self.path.name}"


@pytest.fixture
def asked(monkeypatch):
    calls = []
    monkeypatch.setattr(reporting, "open_folder", lambda path: Folder(path, calls))
    monkeypatch.setattr(reporting.gpssm, "prepare", lambda: calls.append("prepare"))
    return calls


def test_every_run_gets_its_page(asked, capsys, tmp_path):
    runs = [tmp_path / "a", tmp_path / "b"]
    report_command(runs, [], None, 4, False, False, True)
    assert asked == ["prepare", ("write", "a", None, 4, True), ("write", "b", None, 4, True)]
    lines = "".join(f"report  {run / 'report.html'}\n" for run in runs)
    assert capsys.readouterr().out == lines
    out = tmp_path / "new" / "page.html"
    report_command(runs[:1], [], out, None, False, True)
    assert json.loads(capsys.readouterr().out) == {"reports": [str(out)]}
    assert asked[-1] == ("write", "a", out, None, False)
    assert out.parent.is_dir()


def test_a_single_file_is_for_a_single_run(asked, tmp_path):
    words = "--out: got 2 runs, expected one. Leave --out out: each run gets its own report.html."
    with pytest.raises(ConfigError) as error:
        report_command([tmp_path / "a", tmp_path / "b"], [], tmp_path / "p", None, True, False)
    assert str(error.value) == words
    assert asked == []


def test_no_page_is_replaced_but_that_of_the_test_part(asked, tmp_path):
    run, out = tmp_path / "a", tmp_path / "page.html"
    out.write_text("")
    with pytest.raises(ConfigError, match=r"page\.html, which exists already"):
        report_command([run], [], out, None, False, False)
    assert asked == []
    report_command([run], [], out, None, True, False)
    run.mkdir()
    (run / "report.html").write_text("")
    report_command([run], [], None, None, False, False)  # anew
    (run / "report-x.html").write_text("")
    asked.clear()
    with pytest.raises(ConfigError, match=r"report-x\.html, which exists already"):
        report_command([run], ["d.csv"], None, None, False, False)
    assert asked == ["prepare", ("about", "a", ["d.csv"])]
    report_command([run], ["d.csv"], None, None, True, False)
    report_command([run], ["d.csv"], tmp_path / "other.html", None, False, False)
    assert [each[2] for each in asked if each[0] == "write"] == [None, tmp_path / "other.html"]


@pytest.fixture
def compared(asked, monkeypatch):
    """A comparison whose numbers are the words with which they were asked for."""
    pages = []

    def evaluate(*words):
        asked.append(("evaluate", *words))
        return SimpleNamespace(tested="run of b" not in words[0], to_json=lambda: words[0])

    def baselines(*words):
        asked.append(("baselines", *words))
        return {"mean": 1}

    def phase(title, total, quiet):
        asked.append((title, total, quiet))
        return Bar(asked)

    monkeypatch.setattr(reporting, "phase", phase)
    monkeypatch.setattr(reporting, "evaluate", evaluate)
    monkeypatch.setattr(reporting, "evaluate_baselines", baselines)
    monkeypatch.setattr(reporting, "Compared", lambda *parts: SimpleNamespace(
        parts=parts, name=parts[0], evaluation=parts[3]
    ))  # fmt: skip
    monkeypatch.setattr(
        reporting, "comparison_page", lambda *parts: pages.append(parts) or "the page"
    )
    return pages


class Bar:
    def __init__(self, asked):
        self.asked = asked

    def __enter__(self):
        return lambda: self.asked.append("tell")

    def __exit__(self, *_):
        pass


def test_runs_are_compared_on_their_test_parts(asked, compared, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(reporting, "tested_part", lambda data: f"test {data.name}")
    out = tmp_path / "new" / "page.html"
    compare_command([tmp_path / "a", tmp_path / "b"], out, False, False, True)
    assert asked == [
        "prepare", ("scores", 3, True),
        ("evaluate", "run of a", "test a", "protocol", "rows"), "tell",
        ("evaluate", "run of b", "test b", "protocol", "rows"), "tell",
        ("baselines", "train a", "test a", "protocol", "rows"), "tell",
    ]  # fmt: skip
    ((models, baselines),) = compared
    assert [each.name for each in models] == ["a", "b (not tested)"]
    assert [each.parts[1] for each in models] == ["run of a", "run of b"]
    assert [each.parts[2].name for each in models] == ["a", "b"]
    assert baselines == {"mean": 1}
    assert out.read_text() == "the page"
    assert capsys.readouterr().out == f"page    {out}\n"
    with pytest.raises(ConfigError, match="which exists already"):
        compare_command([tmp_path / "a", tmp_path / "b"], out, False, True)
    compare_command([tmp_path / "a", tmp_path / "b"], out, True, True)
    scores = {"a": "run of a", "b (not tested)": "run of b"}
    assert json.loads(capsys.readouterr().out) == {"page": str(out), "scores": scores}
    assert asked[9] == ("scores", 3, False)


def test_folders_of_one_name_keep_their_paths():
    assert reporting._names([Path("x/a"), Path("x/../b")]) == ["a", "b"]
    assert reporting._names([Path("x/a"), Path("y/a")]) == ["x/a", "y/a"]


def test_a_demo_says_nothing_of_its_own_but_to_machines(asked, monkeypatch, capsys, tmp_path):
    def main(out, *, silent, quiet):
        asked.append((out, silent, quiet))
        return {"a": 1}

    monkeypatch.setattr("gpssm.workflow.demo.main", main)
    demo_command(tmp_path / "d", True, True)
    assert json.loads(capsys.readouterr().out) == {"a": 1}
    demo_command(tmp_path / "d", False)
    assert capsys.readouterr().out == ""
    assert asked == [
        "prepare", (tmp_path / "d", True, True), "prepare", (tmp_path / "d", False, False)
    ]  # fmt: skip
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    with pytest.raises(ConfigError, match="a new folder or that of a demo"):
        demo_command(tmp_path / "mine", False)
