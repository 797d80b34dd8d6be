"""`load_dataset(name)` and `list_datasets()`: measured and simulated data sets by name."""

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple

import jax
from rich.console import Console
from rich.table import Table

from ..errors import DataError, expected
from . import cart, drone, simulators
from .benchmarks import BENCHMARKS, Benchmark
from .dataset import Dataset
from .sources import locate, locate_first, on_disk


class Simulated(NamedTuple):
    """A simulator with what is known of its data before it runs."""

    build: Callable[..., Dataset]
    inputs: int
    outputs: int
    rows: int


SIMULATED: dict[str, Simulated] = {
    "dubins": Simulated(simulators.dubins, 2, 2, 30000),
    "dubins_full": Simulated(simulators.dubins_full, 2, 4, 30000),
    "spring": Simulated(simulators.spring, 1, 1, 10000),
    "kink": Simulated(simulators.kink, 0, 1, 600),
    "two_tanks": Simulated(simulators.two_tanks, 1, 1, 5000),
    "cart_pole": Simulated(cart.cart_pole, 1, 2, 4000),
    "voliro": Simulated(drone.voliro, 12, 7, 8000),
}


def load_dataset(name: str, *, seed: int | None = None) -> Dataset:
    """A data set by name, with its columns, units and split.

    Measured ones are looked for in the folder GPSSM_DATA, then in the user's cache, then
    downloaded. Simulated ones are drawn anew from `seed` (0 if not given).
    """
    if name in SIMULATED:
        return SIMULATED[name].build(jax.random.key(0 if seed is None else seed))
    if name not in BENCHMARKS:
        names = list(list_datasets())
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        remedy = f"Nearest: {near}." if near else ""
        raise DataError(expected("data set", repr(name), f"one of {names}", remedy))
    if seed is not None:
        remedy = f"Leave it out; seeds are for {list(SIMULATED)}."
        raise DataError(expected("seed", seed, f"none: {name!r} was measured", remedy))
    return _build(BENCHMARKS[name])


def _build(entry: Benchmark) -> Dataset:
    if entry.one_of_files:
        return entry.build(locate_first(entry.files))
    return entry.build(*[locate(file) for file in entry.files])


def list_datasets() -> "DatasetList":
    """All names; iterate over them, or print the table."""
    return DatasetList((*BENCHMARKS, *SIMULATED))


_TITLES = ("name", "size", "inputs", "outputs", "rows", "source", "licence", "on disk")


@dataclass(frozen=True, repr=False)
class DatasetList(Sequence[str]):
    """Names of data sets that print as a table."""

    names: tuple[str, ...]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        return self.names[index]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        table = Table(box=None, pad_edge=False)
        for title in _TITLES:
            right = title in ("size", "inputs", "outputs", "rows")
            table.add_column(title, justify="right" if right else "left", no_wrap=True)
        for name in self.names:
            table.add_row(*_row(name))
        text = StringIO()
        Console(file=text, width=200).print(table)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def describe_dataset(name: str) -> dict[str, str]:
    """The row of a data set in the table, by the titles of its columns."""
    return dict(zip(_TITLES, _row(name), strict=True))


def _row(name: str) -> list[str]:
    if name in SIMULATED:
        made = SIMULATED[name]
        counts = [str(made.inputs), str(made.outputs), str(made.rows)]
        return [name, "-", *counts, "simulated", "part of gpssm", "not needed"]
    entry = BENCHMARKS[name]
    present = [file for file in entry.files if on_disk(file)]
    used = (present or entry.files)[:1] if entry.one_of_files else entry.files
    counts = [str(entry.inputs), str(entry.outputs), str(entry.rows)]
    have = "yes" if set(used) <= set(present) else "no"
    return [name, _size([f.bytes for f in used]), *counts, entry.source, entry.licence, have]


def _size(sizes: Sequence[int | None]) -> str:
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return "unknown"
    count = sum(known)
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
