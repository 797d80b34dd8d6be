"""The documentation is true: its code runs, it prints what it says, its tables are complete."""

import dataclasses
import functools
import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gpssm
from gpssm.cli import app
from gpssm.cli.sweeping import read_study
from gpssm.data.benchmarks.sets import BENCHMARKS
from gpssm.data.benchmarks.sources import on_disk
from gpssm.evaluation.scoring import Protocol, beginning
from gpssm.linear import forecasting_linear
from gpssm.linear.arx import ARX_ORDERS, arx
from gpssm.workflow.configuration import RunConfig, read_config

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FRONT = (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
PAGES = [path for path in (*sorted(DOCS.rglob("*.md")), *FRONT) if path.is_file()]
STEPS = 2  # of every fit in the documentation: the tests ask whether it runs, not how well

# What .ci/run and the Makefile do themselves, or what stands for a program of the reader's own
BY_HAND = {
    "git clone <the repository> gpssm",
    "cd gpssm",
    "python3 -m venv .venv",
    ".venv/bin/pip install -c constraints.txt -e .",
    "source .venv/bin/activate",
    'pip install "gpssm[cluster]"',
    ".venv/bin/python docs/settings_tables.py",
    ".venv/bin/python docs/cli_reference.py",
    "GPSSM_DATA=folder/with/files python my_program.py",
}

# Options that need other machines: tests/multidevice and tests/study have stand-ins for them.
ELSEWHERE = {"--distributed", "--cluster"}

# The examples of the commands stand for themselves: this run is made before they are typed.
BEFORE = {"cli.md": ["gpssm fit log.csv --inputs pump --outputs level --time time --method pr-ssm"]}

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
    """The same fit with a handful of steps and few particles, not calibrated, and quiet.

    All fits of as many steps, and two starts as two seeds: so they share a compiled program.
    """

    @functools.wraps(fit)
    def shorter(model, *data, **settings):
        small = model.replace(particles=min(model.particles, 4))
        stages = [{**dict(stage), "steps": 1} for stage in settings.get("stages", ())]
        starts = min(settings.get("starts", 1), 2)
        changes = {"steps": max(STEPS, len(stages) + 1), "stages": stages, "starts": starts}
        return fit(small, *data, **{**settings, **changes, "calibrate": False, "quiet": True})

    return shorter


@pytest.fixture
def brief_fits(monkeypatch):
    for name in ("fit", "fit_candidates"):
        monkeypatch.setattr(gpssm, name, brief(getattr(gpssm, name)))
    for place in ("demo", "fitting"):
        monkeypatch.setattr(f"gpssm.workflow.{place}.fit", gpssm.fit)
    monkeypatch.setattr(
        "gpssm.workflow.demo.PROTOCOL", Protocol(warmup=16, horizon=60, particles=20)
    )
    monkeypatch.setattr("gpssm.study.trials.fit_candidates", gpssm.fit_candidates)
    monkeypatch.setattr("gpssm.evaluation.scoring.TRAINING_ROWS", 60)
    few = functools.partial(arx, orders=ARX_ORDERS[:2])
    monkeypatch.setattr("gpssm.evaluation.scoring.arx", few)
    monkeypatch.setattr("gpssm.fitted.linear_inside.forecasting_linear", of_few_rows)
    # `prepare` sets up the whole process, and this one runs other tests too.
    monkeypatch.setattr(gpssm, "prepare", lambda cores=1: None)


def of_few_rows(data, **settings):
    """The linear part of a model, found from the first rows alone."""
    return forecasting_linear(beginning(data, 200), **settings)


def drawn(name, columns, rows):
    """Drawn numbers with the columns and the split of a measured set."""
    rng = np.random.default_rng(0)
    u = np.convolve(rng.standard_normal(rows + 4), np.ones(5) / 5)[:rows]
    y = 53.0 - 2.0 * np.convolve(u, 0.8 ** np.arange(40))[:rows]
    names = {"input_names": columns[:1], "output_names": columns[1:]}
    return gpssm.Dataset.from_arrays(y, u, name=name, **names).split_at(rows // 2)


@pytest.fixture
def measured(monkeypatch):
    """No page waits for a download: without their files the measured sets are drawn."""
    for name, columns in {"furnace": ("InputGasRate", "CO2"), "actuator": ("u", "p")}.items():
        entry = BENCHMARKS[name]
        if not all(on_disk(file) for file in entry.files):
            build = functools.partial(drawn, name, columns, 296)
            replaced = dataclasses.replace(entry, files=(), build=build)
            monkeypatch.setitem(BENCHMARKS, name, replaced)


def lines_of(body):
    """The commands of a block, those over several lines joined."""
    return [line for line in body.replace("\\\n", " ").splitlines() if line.strip()]


def typed(line):
    """What is printed when a command is typed; a study is only asked whether it takes its words."""
    program, *words = shlex.split(line, comments=True)
    if program == "gpssm":
        words += ["--help"] if ELSEWHERE & set(words) else []
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        return result.stdout
    if program == "make":
        dry_run(words)
    else:
        assert line in BY_HAND, line
    return ""


def dry_run(words):
    """Make knows the target, and the study behind it the arguments."""
    made = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    *_, recipe = made.stdout.strip().splitlines()
    if "-m experiments." in recipe:
        module, *arguments = shlex.split(recipe.partition("-m ")[2])
        accept(module, arguments)


def accept(module, arguments):
    """In the place of a study of hours: its own parser takes the arguments."""
    package = importlib.util.find_spec(module).submodule_search_locations is not None
    importlib.import_module(f"{module}.__main__" if package else module)._parse(arguments)


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    """A folder with the files that the pages speak of, in which no study really runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    rows = (ROOT / "examples" / "two_tank.csv").read_text(encoding="utf-8").splitlines()
    for name in ("log", "tomorrow", "another-day"):
        Path(f"{name}.csv").write_text("\n".join(rows[:401]) + "\n", encoding="utf-8")
    study = next(body for kind, _, body in blocks(DOCS / "sweep.md") if kind == "toml study.toml")
    Path("study.toml").write_text(study, encoding="utf-8")
    return tmp_path


def read_any_config(path):
    """The file of a study, or that of a fit."""
    return read_study(path) if "study" in path.name else RunConfig(**read_config(path))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_code_blocks_run_and_print_what_the_page_says(
    path, brief_fits, measured, laboratory, capsys
):
    """One page after the other, its blocks in order and in one namespace."""
    namespace, printed = {"__name__": "__main__"}, None
    for line in BEFORE.get(path.name, ()):
        typed(line)
    for kind, line, body in blocks(path):
        if kind == "python":
            capsys.readouterr()
            exec(compiled(path, line, body), namespace)
            printed = capsys.readouterr().out
        elif kind == "bash":
            printed = "".join(typed(each) for each in lines_of(body))
        elif kind.startswith("toml "):
            Path(kind.split()[1]).write_text(body, encoding="utf-8")
            read_any_config(Path(kind.split()[1]))
        elif kind == "text output":
            assert printed is not None, f"{path.name}:{line}: no code before it"
            assert body.rstrip() == printed.rstrip(), f"{path.name}:{line}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_fence_is_of_a_known_kind(path):
    """A misspelt mark would silently leave a block unchecked."""
    known = {"python", "text", "text output", "bash"}
    kinds = {kind for kind, _, _ in blocks(path)}
    assert {kind for kind in kinds if not re.fullmatch(r"toml [\w-]+\.toml", kind)} <= known
    assert path.read_text(encoding="utf-8").count("```") % 2 == 0


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
    assert sum(map(len, module.FIRST.values())) == 15
    assert page.index("<!-- begin First -->") < page.index("<details")
    for settings in module.TABLES.values():
        for name, field in settings.model_fields.items():
            assert field.description or f"**`{name}`**" in page, name


def test_the_page_on_choosing_begins_with_what_to_change_when():
    page = (DOCS / "choosing.md").read_text(encoding="utf-8")
    _, first, *_ = re.split(r"^## ", page, flags=re.MULTILINE)
    assert first.startswith("What to change when")
    rows = re.findall(r"^\| (?!the report says)\S.*\|$", first, re.MULTILINE)
    assert 8 <= len(rows) <= 12


def test_the_reference_has_every_public_name_and_no_other():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: gpssm\.(\w+)$", page, re.MULTILINE)) == sorted(gpssm.__all__)


def test_every_dependency_has_its_reason_and_no_other_has():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = [re.match(r"[\w-]+", each)[0] for group in groups for each in group]
    wanted = [name for name in names if name != "gpssm"]  # an extra that holds other extras
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


def test_the_citation_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {gpssm.__version__}\n" in text


def test_no_page_names_a_place_on_somebodys_machine():
    for path in (*PAGES, ROOT / "mkdocs.yml"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users|opt)/", text), path.name
