"""A strict mode for all tests: double precision, no silent rank promotion, checked shapes."""

import itertools
import os
from pathlib import Path

# Nearly all of the time goes into compiling. Without optimisation, and with XLA's older way to
# write fused kernels, the training program of a test compiles in a third of the time.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)

# Each worker has a core. LAPACK's further threads would spin on the other one's.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "1")

import hypothesis
import jax
import pytest
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
# Compiled programs are kept, for the other worker and for the next run; results do not depend on
# it. Most of them take less than the second from which on JAX would think them worth keeping.
jax.config.update(
    "jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".pytest_cache" / "xla")
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
os.environ.setdefault("MPLBACKEND", "Agg")

# The first example of a property compiles, which takes longer than any deadline.
hypothesis.settings.register_profile("gpssm", deadline=None, derandomize=True)
hypothesis.settings.load_profile("gpssm")

with install_import_hook("gpssm", "typechecker.check_types"):
    import gpssm
    import gpssm.report

    for name in gpssm.__all__:  # a name is loaded when it is first used: here, while the hook is on
        getattr(gpssm, name)
    from gpssm.inference.methods.abstract import find_method
    from gpssm.inference.recognition import RECOGNITIONS, find_recognition

    for name in RECOGNITIONS:
        find_recognition(name)
    find_method(gpssm.Model())

# The reports of these tests are of models that are hardly trained, and never settle. Step responses
# of 1500 steps would take longer than all else in them.
gpssm.report.response.HORIZONS = (30,)

# Each shape would compile a filter with its derivative: tests/belief has its tests.
gpssm.fitted.fitting.tune_filters = lambda runs, *_: list(runs)


_MAPPINGS = Path("/proc/self/maps")  # Linux only
_MANY_MAPPINGS = 35_000  # of the 65 530 that a process may have by default
_TESTS = itertools.count(1)


@pytest.fixture(autouse=True)
def few_programs():
    """Compiled programs are memory mappings: a process with too many of them aborts.

    To count them takes as long as a short test, so only every tenth test does.
    """
    yield
    if next(_TESTS) % 10 or not _MAPPINGS.exists():
        return
    if _MAPPINGS.read_bytes().count(b"\n") > _MANY_MAPPINGS:
        jax.clear_caches()


@pytest.fixture
def key() -> jax.Array:
    """A key that is the same in every run."""
    return jax.random.key(20200610)
