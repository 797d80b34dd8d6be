"""What a program does first: take some cores, and keep what it compiles for the next start."""

import os
import warnings
from pathlib import Path

import jax
import pooch

from .errors import GpssmWarning


def prepare(cores: int = 1, cache: str | Path | None = None) -> None:
    """Use so many CPU cores, and keep compiled programs on disk.

    Each core becomes a JAX device with one thread, and `fit` cuts its batches over the devices.
    Compiled programs go to the folder `cache`, by default one in the user's cache: the second
    start of a program compiles nothing. All are settings of JAX for the whole process, so a
    program has to ask for them, before its first computation; importing gpssm changes nothing.
    """
    os.environ.setdefault("NPROC", "1")  # XLA's threads: as many as devices, not as cores
    _compile_quickly()
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        message = "prepare: JAX has already started, so its number of CPU devices stays as it is."
        warnings.warn(message, GpssmWarning, stacklevel=2)
    if cache is not None or getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        folder = Path(cache) if cache is not None else Path(pooch.os_cache("gpssm")) / "compiled"
        jax.config.update("jax_compilation_cache_dir", str(folder))
        # Starting takes many small programs, each of which JAX would not think worth keeping.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def _compile_quickly() -> None:
    """LLVM at its second level: training runs as fast, and compiles in two thirds of the time."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_optimization_level" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_backend_optimization_level=2".strip()
