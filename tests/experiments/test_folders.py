"""Every experiment is self-contained: it imports from its own folder and from the common one."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "experiments"
FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
# Stability trains the car as that folder does; belief reads the models of horizon.
ALSO = {"stability": {"car"}, "belief": {"horizon"}}


def others(path):
    """The folders of `experiments` that a module imports from, beside its own."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 2:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.split(".")[0] for name in names)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_needs_no_other_experiment(folder):
    found = {name for path in (ROOT / folder).glob("*.py") for name in others(path)}
    allowed = set() if folder == "common" else {"common"} | ALSO.get(folder, set())
    assert found <= allowed
