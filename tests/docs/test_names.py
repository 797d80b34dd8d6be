"""Every file, module, class and function that a document names exists."""

import ast
import builtins
import functools
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PACKAGE = ROOT / "src" / "gpssm"
TOPS = ("src", "tests", "docs", "examples", "experiments", "benchmarks", ".ci")
ROOMS = tuple(path.name for path in PACKAGE.iterdir() if path.is_dir())
SCRIPTS = ("src", "tests", "docs", "examples", "experiments", "benchmarks")

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(
    r"(?<![\w./-])(?:\.?\w[\w.-]*/)*[\w*.-]+\.py\b|(?<![\w./-])\.?\w[\w.-]*/[\w./*-]*"
)
DOTTED = re.compile(r"(?<![\w./-])(?:gpssm|experiments)(?:\.[A-Za-z_]\w*)+")
# A class, a function or a variable: `SourceFile`, `make_kernel`, `tile()`
NAME = re.compile(r"(?<![\w.'\"-])(_*[A-Z][a-z]\w*|_*[A-Za-z]\w*_\w+|[a-z]\w+(?=\())(?![\w-])")

# Names of other packages.
OTHERS = {"Path", "RAY_ADDRESS", "read_parquet"}


def unknown_names(page: Path, text: str) -> list[str]:
    """What a text names that does not exist, as one line each."""
    spans = SPAN.findall(FENCE.sub("", text))
    paths = [path for span in spans for path in PATH.findall(span) if not file_exists(path)]
    dotted = [name for name in DOTTED.findall(text) if not resolves(name)]
    links = [link for link in LINK.findall(FENCE.sub("", text)) if not link_exists(page, link)]
    known = defined_names() | set(re.findall(r"\w+", "".join(m[0] for m in FENCE.finditer(text))))
    names = [name for span in spans for name in names_in(span) if name not in known]
    found = {"file": paths, "name": dotted, "link": links, "definition": names}
    return [f"{page.name}: no {kind} {each}" for kind, all_ in found.items() for each in all_]


def file_exists(path: str) -> bool:
    """In the repository or, where a room is named first, in the package; others are not ours."""
    first = path.partition("/")[0]
    if first not in (*TOPS, *ROOMS) and not path.endswith(".py"):
        return True
    folders = [ROOT, PACKAGE, *(ROOT / top for top in TOPS)]
    return any(any(folder.glob(path.rstrip("/"))) for folder in folders)


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or can be reached from one by its attributes."""
    first, *rest = name.split(".")
    if first == "experiments":
        return is_experiment(rest)
    value = importlib.import_module(first)
    for i, part in enumerate(rest):
        if not hasattr(value, part):
            try:
                importlib.import_module(".".join([first, *rest[: i + 1]]))
            except ImportError:
                return False
        value = getattr(value, part)
    return True


def is_experiment(parts: list[str]) -> bool:
    """A module, a package or a name that a module defines; nothing is imported."""
    place = ROOT.joinpath("experiments", *parts)
    module = place.parent.with_suffix(".py")
    names = names_of(module) if module.is_file() else set()
    return place.is_dir() or place.with_suffix(".py").is_file() or parts[-1] in names


def link_exists(page: Path, link: str) -> bool:
    target = link.partition("#")[0]
    return not target or "://" in target or (page.parent / target).exists()


def names_in(span: str) -> list[str]:
    """Names of classes, functions and variables in a piece of code, but none of its paths."""
    return [name for name in NAME.findall(PATH.sub(" ", span)) if name not in OTHERS]


@functools.cache
def defined_names() -> frozenset[str]:
    scripts = [path for top in SCRIPTS for path in (ROOT / top).rglob("*.py")]
    found = set().union(*(names_of(path) for path in scripts))
    return frozenset(found | set(dir(builtins)))


def names_of(path: Path) -> set[str]:
    """All that a file defines: classes, functions, arguments, variables; and its plain strings.

    Columns of tables, groups of parameters and choices of a setting are strings.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update([node.value] if node.value.isidentifier() else [])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_whatever_a_document_names_exists(page):
    assert unknown_names(page, page.read_text(encoding="utf-8")) == []


WRONG = {
    "See `src/gpssm/gp/kernal.py`.": "no file src/gpssm/gp/kernal.py",
    "See `gp/kernal.py`.": "no file gp/kernal.py",
    "Run `python -m pytest tests/nowhere`.": "no file tests/nowhere",
    "Call `gpssm.fitt`.": "no name gpssm.fitt",
    "```python\ngpssm.gp.Kernal()\n```": "no name gpssm.gp.Kernal",
    "Run `python -m experiments.table2`.": "no name experiments.table2",
    "[a page](nowhere.md#part)": "no link nowhere.md#part",
    "Write an `AbstractKernal`.": "no definition AbstractKernal",
    "Call `make_kernal`.": "no definition make_kernal",
    "Call `kernalise(x)`.": "no definition kernalise",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_name_that_does_not_exist_is_found(text):
    assert unknown_names(ROOT / "README.md", text) == [f"README.md: {WRONG[text]}"]


def test_what_exists_is_not_complained_of():
    text = """
`src/gpssm/gp/kernels.py`, `gp/kernels.py`, `tests/gp`, `gpssm.gp.AbstractKernel`,
`gpssm.Dataset.from_arrays`, `make_kernel`, `runs/mine/report.html`,
[a site](https://example.org/none.md), `report.html`, `--dim-x 3`,
[a page](docs/start.md#1-install)
"""
    assert unknown_names(ROOT / "README.md", text) == []
