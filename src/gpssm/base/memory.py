"""What fits into the memory of this machine, asked before it is needed."""

import os
from pathlib import Path

from .errors import ConfigError, expected

_CGROUP = Path("/sys/fs/cgroup/memory.max")  # the limit of a container, on Linux


def machine_memory() -> float:
    """Bytes of memory of this machine or container; infinite where it is not known."""
    try:
        found = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        found = float("inf")
    try:
        return min(found, float(_CGROUP.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no such file, or "max"
        return found


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise if more bytes are needed than the machine has."""
    memory = machine_memory()
    if needed > memory:
        wanted = f"at most the {_readable(memory)} of this machine"
        given = f"{_readable(needed)} or more, for {what}"
        raise ConfigError(expected("memory", given, wanted, remedy))


def _readable(size: float) -> str:
    """`3.2 GB`."""
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    for unit in units[:-1]:
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} {units[-1]}"
