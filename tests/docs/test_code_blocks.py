"""The documentation is true: its code runs, it prints what it says, its tables are complete."""

import dataclasses
import functools
import importlib.util
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gpssm
from gpssm.cli import app
from gpssm.cli.configuration import RunConfig, read_config
from gpssm.cli.sweeping import read_study
from gpssm.data.benchmarks import BENCHMARKS
from gpssm.data.sources import on_disk

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [path for path in (*sorted(DOCS.glob("*.md")), ROOT / "README.md") if path.is_file()]
STEPS = 2  # of every fit in the documentation: the tests ask whether it runs, not how well

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    """(kind, line, content) of every fenced block of a page."""
    text = path.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        yield found["info"].strip(), text[: found.start()].count("\n") + 2, found["body"]


def compiled(path, line, body):
    """The block as code whose line numbers are those of the page."""
    return compile("\n" * (line - 1) + body, str(path), "exec")


def brief(fit):
    """The same fit with a handful of steps and few particles, and no progress on the screen."""

    @functools.wraps(fit)
    def shorter(model, *data, **settings):
        small = model.replace(particles=min(model.particles, 4))
        stages = [{**dict(stage), "steps": 1} for stage in settings.get("stages", ())]
        changes = {"steps": STEPS + len(stages), "stages": stages, "quiet": True}
        return fit(small, *data, **{**settings, **changes})

    return shorter


@pytest.fixture
def brief_fits(monkeypatch):
    for name in ("fit", "fit_candidates"):
        monkeypatch.setattr(gpssm, name, brief(getattr(gpssm, name)))
    monkeypatch.setattr("gpssm.study.trials.fit_candidates", gpssm.fit_candidates)
    # `prepare` sets up the whole process, and this one runs other tests too.
    monkeypatch.setattr(gpssm, "prepare", lambda cores=1: None)


def like_the_furnace():
    """Drawn numbers with the columns and the split of the measured ones."""
    rng = np.random.default_rng(0)
    rate = np.convolve(rng.standard_normal(300), np.ones(5) / 5)[:296]
    share = 53.0 - 2.0 * np.convolve(rate, 0.8 ** np.arange(40))[:296]
    names = {"input_names": ["InputGasRate"], "output_names": ["CO2"]}
    return gpssm.Dataset.from_arrays(share, rate, name="furnace", **names).split_at(148)


@pytest.fixture
def furnace(monkeypatch):
    """No page waits for a download: without its file the one measured set they use is drawn."""
    entry = BENCHMARKS["furnace"]
    if not all(on_disk(file) for file in entry.files):
        drawn = dataclasses.replace(entry, files=(), build=like_the_furnace)
        monkeypatch.setitem(BENCHMARKS, "furnace", drawn)


def read_any_config(path):
    """The file of a study, or that of a fit."""
    return read_study(path) if "study" in path.name else RunConfig(**read_config(path))


def typed(body):
    """What `gpssm …` prints when each line is typed."""
    lines = body.replace("\\\n", " ").splitlines()
    results = [CliRunner().invoke(app, shlex.split(line)[1:]) for line in lines]
    assert all(line.startswith("gpssm ") for line in lines), body
    assert [each.exit_code for each in results] == [0] * len(lines), results[-1].output
    return "".join(each.stdout for each in results)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_code_blocks_run_and_print_what_the_page_says(
    path, brief_fits, furnace, tmp_path, monkeypatch, capsys
):
    """One page after the other, its blocks in order and in one namespace."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    namespace, printed = {"__name__": "__main__"}, None
    for kind, line, body in blocks(path):
        if kind == "python":
            capsys.readouterr()
            exec(compiled(path, line, body), namespace)
            printed = capsys.readouterr().out
        elif kind == "bash run":
            printed = typed(body)
        elif kind.startswith("toml "):
            Path(kind.split()[1]).write_text(body, encoding="utf-8")
            read_any_config(Path(kind.split()[1]))
        elif kind == "text output":
            assert printed is not None, f"{path.name}:{line}: no python block before it"
            assert body.rstrip() == printed.rstrip(), f"{path.name}:{line}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_fence_is_of_a_known_kind(path):
    """A misspelt mark would silently leave a block unchecked."""
    known = {"python", "text", "text output", "bash", "bash run"}
    kinds = {kind for kind, _, _ in blocks(path)}
    assert {kind for kind in kinds if not re.fullmatch(r"toml [\w-]+\.toml", kind)} <= known
    assert path.read_text(encoding="utf-8").count("```") % 2 == 0


BASH = [
    (path, line)
    for path in PAGES
    for kind, _, body in blocks(path)
    if kind == "bash"
    for line in body.splitlines()
    if line.startswith(("make ", "gpssm "))
]


@pytest.mark.parametrize(("path", "line"), BASH, ids=lambda each: getattr(each, "name", each))
def test_commands_that_would_take_long_exist_at_least(path, line):
    """What a page shows without running it: a target of the Makefile, or options of gpssm."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    else:
        assert CliRunner().invoke(app, [*words[1:], "--help"]).exit_code == 0


def test_the_navigation_lists_every_page():
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^\s+- [\w ']+: ([\w/-]+\.md)$", lines, re.MULTILINE)
    assert sorted(listed) == sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md"))


def script(name):
    """A script beside the pages, as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_the_command_line_is_that_of_the_commands():
    module = script("cli_reference")
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.updated(page), "run: python docs/cli_reference.py"
    assert "### gpssm data check" in page


def test_the_tables_of_settings_are_those_of_the_code():
    """Every setting is in a table, and what its description leaves open is explained below it."""
    module = script("settings_tables")
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.updated(page), "run: python docs/settings_tables.py"
    for settings in module.TABLES.values():
        for name, field in settings.model_fields.items():
            assert field.description or f"**`{name}`**" in page, name


def test_the_reference_has_every_public_name_and_no_other():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: gpssm\.(\w+)$", page, re.MULTILINE)) == sorted(gpssm.__all__)


def test_every_dependency_has_its_reason_and_no_other_has():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = [re.match(r"[\w-]+", each)[0] for group in groups for each in group]
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    reasons = re.findall(r"^\| `([\w-]+)` \| \S.*\|$", page, re.MULTILINE)
    assert sorted(reasons) == sorted(wanted)


NOTATION = [
    line.strip("|").split("|")
    for line in (DOCS / "notation.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and line.count("|") == 5 and ".py" in line
]


@pytest.mark.parametrize("row", NOTATION, ids=lambda row: row[0].strip())
def test_the_names_of_the_notation_are_in_the_files_it_gives(row):
    code, files = (re.findall(r"`([^`]+)`", cell) for cell in row[2:4])
    assert code, "a row without a name"
    assert files, "a row without a file"
    source = "\n".join((ROOT / "src/gpssm" / f).read_text(encoding="utf-8") for f in files)
    for name in code:
        for part in re.findall(r"[A-Za-z_]\w*", name):
            assert re.search(rf"\b{part}\b", source), f"{part} is not in {files}"


def test_no_page_names_a_place_on_somebodys_machine():
    for path in (*PAGES, ROOT / "mkdocs.yml"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users|opt)/", text), path.name
