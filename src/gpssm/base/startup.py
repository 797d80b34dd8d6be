"""Start-up of a program: number of cores, compilation cache, connection to processes."""

import os
import warnings
from pathlib import Path

import jax
from platformdirs import user_cache_dir
from threadpoolctl import threadpool_limits

from .errors import ConfigError, GpssmWarning, expected

_MOST_CORES = 8  # by default: the shares of a batch of ten get too small for more
STOP_SECONDS = 30  # in which the death of a process is noticed by the others, at the latest


def connect(
    coordinator: str | None = None, processes: int | None = None, process: int | None = None
) -> None:
    """Make this process one of several that train together, here or on other machines.

    Under Slurm and Open MPI no argument is needed. Elsewhere give the address `host:port` of the
    first process, how many there are, and which one this is, from 0. Call it in all of them, after
    `prepare` and before a model is built; `fit` then uses the devices of all. When one of them dies
    the others stop within half a minute.
    """
    place = {"coordinator": coordinator, "processes": processes, "process": process}
    lacking = [name for name, value in place.items() if value is None]
    if 0 < len(lacking) < len(place):
        wanted = "all three, or none of them under Slurm and MPI"
        raise ConfigError(expected("connect", f"no {' and no '.join(lacking)}", wanted))
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            cluster_detection_method="deactivate" if coordinator else None,
            heartbeat_timeout_seconds=STOP_SECONDS,
        )
    except (RuntimeError, ValueError) as error:
        remedy = "Outside of Slurm and MPI, give `coordinator`, `processes` and `process`. Connect "
        remedy += "before a model is built or anything is computed."
        given = f"no connection ({str(error).splitlines()[0]})"
        raise ConfigError(expected("connect", given, "one", remedy)) from error


def disconnect() -> None:
    """Leave the other processes, where there are any."""
    if jax.process_count() > 1:
        jax.distributed.shutdown()


def prepare(cores: int | None = None, cache: str | Path | None = None) -> None:
    """Use this number of CPU cores, by default those of this process, and a compilation cache.

    Each core becomes a JAX device with one thread, and `fit` cuts its batches over the devices.
    The default is the setting of JAX (`JAX_NUM_CPU_DEVICES`), else at most eight.
    Compiled programs go to the folder `cache`, by default one in the user's cache: the second
    start of a program compiles nothing. All are settings of the whole process, so a program has
    to ask for them, before its first computation; importing gpssm changes nothing.
    """
    os.environ.setdefault("NPROC", "1")  # XLA's threads: as many as devices, not as cores
    _calm_lapack()
    _compile_quickly()
    try:
        jax.config.update("jax_num_cpu_devices", cores or _own_cores())
    except RuntimeError:
        message = "prepare: JAX has already started, so its number of CPU devices stays as it is."
        warnings.warn(message, GpssmWarning, stacklevel=2)
    if cache is not None or getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        folder = Path(cache) if cache is not None else Path(user_cache_dir("gpssm")) / "compiled"
        jax.config.update("jax_compilation_cache_dir", str(folder))
        # Starting takes many small programs, each of which JAX would not think worth keeping.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def _own_cores() -> int:
    configured = getattr(jax.config, "jax_num_cpu_devices", None)
    if configured is not None and configured > 0:
        return int(configured)
    allowed = getattr(os, "sched_getaffinity", None)  # Linux only
    count = len(allowed(0)) if allowed else os.cpu_count() or 1
    return min(count, _MOST_CORES)


def _calm_lapack() -> None:
    """Use one thread for SciPy's LAPACK, which XLA calls in every step for small matrices.

    A second one brings nothing, and waits for the next call by spinning: it takes a whole core.
    """
    import scipy.linalg  # noqa: F401 - what is loaded can be limited

    threadpool_limits(limits=1, user_api="blas")


def _compile_quickly() -> None:
    """Use level 2 of LLVM: compilation takes two thirds of the time, training is as fast."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_optimization_level" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_backend_optimization_level=2".strip()
