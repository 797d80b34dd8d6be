"""`.ci/run`: on a build machine it installs the browser, and no test is skipped without it."""

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "run"
TOOLS = ("bash", "dirname", "env")


@pytest.fixture
def machine(tmp_path):
    """A machine with stand-ins for `make`, `apt-get` and `id`, which note how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        (folder / name).symlink_to(shutil.which(name))
    note = 'echo "${0##*/} $* ${GPSSM_NO_SKIP:+(no skip)}" >> calls'
    for name, body in {"make": note, "apt-get": note, "id": "echo ${USER_ID:-0}"}.items():
        (folder / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (folder / name).chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci" / "run")

    def run(**variables):
        environment = {"PATH": str(folder), **variables}
        subprocess.run([str(tmp_path / ".ci" / "run")], env=environment, check=True)
        return [line.strip() for line in (tmp_path / "calls").read_text().splitlines()]

    run.folder = folder
    return run


INSTALLED = ["apt-get update (no skip)", "apt-get install --yes chromium (no skip)"]
CHECKED = ["make lint (no skip)", "make test (no skip)"]


def test_a_build_machine_gets_the_browser(machine):
    assert machine(CI="true") == INSTALLED + CHECKED


def test_a_browser_that_is_there_is_not_installed_again(machine):
    (machine.folder / "chromium").symlink_to(shutil.which("true"))
    assert machine(CI="true") == CHECKED


def test_who_is_not_root_installs_nothing_and_still_skips_nothing(machine):
    assert machine(CI="true", USER_ID="1000") == CHECKED


def test_elsewhere_nothing_is_installed(machine):
    assert machine() == ["make lint", "make test"]


def test_the_script_can_be_executed():
    assert os.access(SCRIPT, os.X_OK)


def test_no_two_test_files_have_the_same_name():
    """Without packages pytest knows a file by its name alone, and would collect one of them."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
