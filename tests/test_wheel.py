"""The built wheel, in an environment of its own and far from the repository: `gpssm demo` works."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support_tools import missing_tool

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gpssm"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def run(command, folder, **variables):
    """The output of a command; none of the paths and settings of these tests reach it."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" and not name.startswith(("JAX_", "XLA_", "MPL"))
    }
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=1800,  # a minute or two, but other work may take the cores
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if importlib.util.find_spec("hatchling") is None:
        missing_tool("no hatchling to build the wheel with: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder]
    run([*PIP, *build, ROOT], folder)
    (found,) = folder.glob("gpssm-*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment that holds the wheel and sees the dependencies, but not the checkout.

    A path in a .pth file makes the packages in it importable. The .pth files in there are not
    read, and so not the one through which the tests find the checkout.
    """
    folder = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", "--without-pip", folder], folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    seen = [place for place in sys.path if Path(place).name == "site-packages"]
    (packages / "dependencies.pth").write_text("\n".join(seen))
    python = folder / "bin" / "python"
    install = ["install", "--no-deps", "--no-index", "--force-reinstall", wheel]
    run([*PIP, "--python", python, *install], folder)
    return folder


def test_the_wheel_holds_every_file_of_the_package_and_its_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    wanted = {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    bundle = {f"gpssm/report/plotly/{name}" for name in ("plotly-basic.min.js", "LICENSE")}
    assert {"gpssm/report/page.html", "gpssm/py.typed"} | bundle <= wanted
    assert wanted == {name for name in names if name.startswith("gpssm/")}
    assert [name for name in names if name.endswith("licenses/LICENSE")]


@pytest.mark.slow
def test_the_demo_runs_in_an_empty_folder(environment, tmp_path):
    where = "import gpssm, sys; print(gpssm.__file__); print(*sys.path, sep='\\n')"
    file, *places = run([environment / "bin" / "python", "-c", where], tmp_path).splitlines()
    assert Path(file).is_relative_to(environment)
    assert str(PACKAGE.parent) not in places
    told = run(
        [environment / "bin" / "gpssm", "demo"],
        tmp_path,
        JAX_NUM_CPU_DEVICES="1",  # the other tests have the other cores
        XDG_CACHE_HOME=str(ROOT / ".pytest_cache" / "demo"),
        MPLBACKEND="Agg",
    )
    assert "RMSE" in told
    made = {path.name: path.stat().st_size for path in (tmp_path / "demo").iterdir()}
    for name in ("report.html", "forecast.png", "two_tanks.gpssm"):
        assert made[name] > 1000, name
