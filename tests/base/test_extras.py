"""Packages that a fit does not need are not loaded by it; where one is missing, a line says so."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

import gpssm
from gpssm.base.errors import ConfigError
from gpssm.base.extras import load_extra
from support_study import make_data, make_study

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
LATE = {"pooch"}  # is always installed: for downloads

# pandas loads pyarrow wherever it is installed. So it is hidden, as if it were not: what follows
# must work all the same.
FIT = """
import sys
sys.modules["pyarrow"] = None
import numpy as np
import gpssm
import gpssm.cli.fitting
import gpssm.workflow.demo
gpssm.prepare(cores=1, cache=sys.argv[1])
tiny = gpssm.pr_ssm(dim_x=1, inducing_points=3, particles=2, recognition="output")
run = gpssm.fit(tiny, y=np.sin(np.arange(30.0)), steps=2, calibrate=False, quiet=True)
del sys.modules["pyarrow"]
import json
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def optional_packages():
    """The packages of all extras but those that every user gets, by the names of their modules."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    groups = project["optional-dependencies"].values()
    names = [
        {re.match(r"[\w-]+", line)[0].replace("-", "_") for line in lines}
        for lines in (project["dependencies"], [line for group in groups for line in group])
    ]
    return names[1] - names[0] - {"gpssm"}


def test_a_fit_loads_no_package_that_it_does_not_use(tmp_path):
    command = [sys.executable, "-c", FIT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert {"gpssm", "jax", "pandas"} <= loaded
    assert {"pyarrow", "h5py"} <= optional_packages()
    assert loaded & (optional_packages() | LATE) == set()


@pytest.fixture
def bare(monkeypatch):
    """An installation without any extra."""
    for name in ("pyarrow", "pyarrow.parquet", "h5py"):
        monkeypatch.setitem(sys.modules, name, None)


def write_parquet(path):
    pd.DataFrame({"u": np.arange(9.0), "y": np.arange(9.0)}).to_parquet(path)


def write_new_mat(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["u"] = file["y"] = np.arange(9.0)


FILES = {"log.parquet": write_parquet, "log.mat": write_new_mat}
ON_DISK = [("log.parquet", False), ("log.parquet", True), ("log.mat", False)]


@pytest.mark.parametrize(("name", "on_disk"), ON_DISK)
def test_a_file_that_needs_an_extra_says_which(name, on_disk, tmp_path, request):
    path = tmp_path / name
    FILES[name](path)
    request.getfixturevalue("bare")
    place = tmp_path / "arrays" if on_disk else False
    with pytest.raises(ConfigError, match=rf"{name}: .* pip install 'gpssm\[files\]'"):
        gpssm.read(path, inputs="u", outputs="y", on_disk=place)


def test_a_study_without_pyarrow_says_what_to_install(tmp_path, bare):
    with pytest.raises(ConfigError, match=r"table of a study .* pip install 'gpssm\[files\]'"):
        gpssm.sweep(make_study(), {"lag": make_data()}, out=tmp_path, quiet=True)


def test_a_package_that_is_there_is_loaded():
    assert load_extra("h5py", "files", "A file") is h5py
