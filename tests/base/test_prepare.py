"""`prepare`: cores as devices and a cache on disk, in a process of its own."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, warnings
import jax
import gpssm
from threadpoolctl import threadpool_info
warnings.simplefilter("error")
assert jax.config.jax_compilation_cache_dir is None
gpssm.prepare(cores=3, cache=sys.argv[1])
blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
print(len(jax.devices("cpu")), max(blas), os.environ["XLA_FLAGS"])
jax.jit(lambda x: x * 2.0 + 1.0)(3.0)
warnings.simplefilter("always")
gpssm.prepare(cores=2)
"""


DEFAULT = "import gpssm, jax; gpssm.prepare(); print(len(jax.devices('cpu')))"


def run(program, *arguments, **told):
    """A program in an environment that says nothing but what it is told."""
    ours = ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES", "OPENBLAS_NUM_THREADS")
    quiet = {name: value for name, value in os.environ.items() if name not in ours}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=quiet | told, check=True)


def test_cores_become_devices_and_programs_are_kept(tmp_path):
    done = run(PROGRAM, tmp_path / "cache")
    assert done.stdout.split() == ["3", "1", "--xla_backend_optimization_level=2"]
    assert any((tmp_path / "cache").iterdir())


def test_too_late_is_said_and_changes_nothing(tmp_path):
    assert "JAX has already started" in run(PROGRAM, tmp_path).stderr


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="asks the system for its cores")
def test_by_default_the_cores_of_the_process(tmp_path):
    assert int(run(DEFAULT, XDG_CACHE_HOME=str(tmp_path)).stdout) == min(
        len(os.sched_getaffinity(0)), 8
    )


def test_what_jax_was_told_goes_first(tmp_path):
    assert run(DEFAULT, XDG_CACHE_HOME=str(tmp_path), JAX_NUM_CPU_DEVICES="5").stdout == "5\n"
