"""`prepare`: cores as devices and a cache on disk, in a process of its own."""

import os
import subprocess
import sys

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


def run(cache):
    """The program above, with what it says."""
    ours = ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES", "OPENBLAS_NUM_THREADS")
    quiet = {name: value for name, value in os.environ.items() if name not in ours}
    command = [sys.executable, "-c", PROGRAM, str(cache)]
    return subprocess.run(command, capture_output=True, text=True, env=quiet, check=True)


def test_cores_become_devices_and_programs_are_kept(tmp_path):
    done = run(tmp_path / "cache")
    assert done.stdout.split() == ["3", "1", "--xla_backend_optimization_level=2"]
    assert any((tmp_path / "cache").iterdir())


def test_too_late_is_said_and_changes_nothing(tmp_path):
    assert "JAX has already started" in run(tmp_path).stderr
