"""`load_dataset(name)` and `list_datasets()`: measured and simulated data sets by name."""

from collections.abc import Sequence
from functools import partial
from io import StringIO

import jax
from rich.console import Console
from rich.table import Table

from gpssm.base.errors import DataError, expected
from gpssm.base.settings import nearest
from gpssm.data.dataset import Dataset

from . import cart, simulators
from .sets import BENCHMARKS, Benchmark
from .sources import locate, locate_first, on_disk

_simulated = partial(Benchmark, (), source="simulated", licence="part of gpssm")
SIMULATED: dict[str, Benchmark] = {
    "dubins": _simulated(simulators.dubins, 2, 2, 30000),
    "dubins_full": _simulated(simulators.dubins_full, 2, 4, 30000),
    "spring": _simulated(simulators.spring, 1, 1, 10000),
    "kink": _simulated(simulators.kink, 0, 1, 600),
    "two_tanks": _simulated(simulators.two_tanks, 1, 1, 5000),
    "cart_pole": _simulated(cart.cart_pole, 1, 2, 4000),
}


def load_dataset(name: str, *, seed: int | None = None) -> Dataset:
    """A data set by name, with its columns, units and split.

    Measured ones are looked for in the folder GPSSM_DATA, then in the user's cache, then
    downloaded. Simulated ones are drawn from `seed` (0 if not given).
    """
    if name in SIMULATED:
        return SIMULATED[name].build(jax.random.key(0 if seed is None else seed))
    if name not in BENCHMARKS:
        names = list(list_datasets())
        near = nearest(name, names, 0.4)
        remedy = f"Nearest: {near}." if near else ""
        raise DataError(expected("data set", repr(name), f"one of {names}", remedy))
    if seed is not None:
        remedy = f"Leave it out; seeds are for {list(SIMULATED)}."
        raise DataError(expected("seed", seed, f"none: {name!r} was measured", remedy))
    entry = BENCHMARKS[name]
    if entry.one_of_files:
        return entry.build(locate_first(entry.files))
    return entry.build(*[locate(file) for file in entry.files])


def list_datasets() -> "DatasetList":
    """All names; iterate over them, or print the table."""
    return DatasetList((*BENCHMARKS, *SIMULATED))


_TITLES = ("name", "size", "inputs", "outputs", "rows", "source", "licence", "on disk")


class DatasetList(tuple[str, ...]):
    """Names of data sets that print as a table."""

    def __repr__(self) -> str:
        table = Table(box=None, pad_edge=False)
        for title in _TITLES:
            right = title in ("size", "inputs", "outputs", "rows")
            table.add_column(title, justify="right" if right else "left", no_wrap=True)
        for name in self:
            table.add_row(*_row(name))
        text = StringIO()
        Console(file=text, width=200).print(table)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def describe_dataset(name: str) -> dict[str, str]:
    """The row of a data set in the table, by the titles of its columns."""
    return dict(zip(_TITLES, _row(name), strict=True))


def _row(name: str) -> list[str]:
    entry = BENCHMARKS[name] if name in BENCHMARKS else SIMULATED[name]
    size, have = "-", "not needed"
    if name in BENCHMARKS:
        present = [file for file in entry.files if on_disk(file)]
        used = (present or entry.files)[:1] if entry.one_of_files else entry.files
        size, have = _size([f.bytes for f in used]), "yes" if set(used) <= set(present) else "no"
    counts = [str(entry.inputs), str(entry.outputs), str(entry.rows)]
    return [name, size, *counts, entry.source, entry.licence, have]


def _size(sizes: Sequence[int | None]) -> str:
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return "unknown"
    count = sum(known)
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
