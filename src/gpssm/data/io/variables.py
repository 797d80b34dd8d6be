"""Variables of MAT and NPZ files as columns, of which only those that are asked for are read."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.base.errors import DataWarning

from .opening import check_size, explained
from .tables import Table

_MORE = 20  # names in a warning


@dataclass
class Variable:
    """An array of a file, known by its header and read when it is asked for."""

    path: Path
    name: str
    shape: tuple[int, ...]
    load: Callable[[], Any]
    bytes_per_value: int = 8

    @classmethod
    def of(cls, path: Path, name: str, array: np.ndarray) -> "Variable":
        """One that is in memory already."""
        return cls(path, name, array.shape, lambda: array)

    @property
    def is_wide(self) -> bool:
        """Whether its longer side, which is the time, is the second one."""
        return len(self.shape) == 2 and self.shape[1] > self.shape[0]

    @property
    def rows(self) -> int:
        """Steps in time."""
        return max(self.shape)

    @property
    def channels(self) -> int:
        """Values per step."""
        return min(self.shape) if len(self.shape) == 2 else 1

    @cached_property
    def values(self) -> np.ndarray:
        """The numbers [time, channels]."""
        with explained(self.path):
            size = math.prod(self.shape) * self.bytes_per_value
            check_size(self.path, f"an array {self.name!r}", size)
            array = np.asarray(self.load())
            if array.size != self.rows * self.channels or array.dtype.kind not in "biufmM":
                raise ValueError(f"array {self.name!r} is not what its header says")
            return array.reshape(self.shape).T if self.is_wide else array.reshape(self.rows, -1)


@dataclass
class Columns(Mapping[str, Any]):
    """Columns by name; getting one reads its variable."""

    places: dict[str, tuple[Variable, int]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> np.ndarray:
        variable, channel = self.places[name]
        return variable.values[:, channel]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def rows(self, name: str) -> int:
        """The length of a column, without reading it."""
        return self.places[name][0].rows


def variables_table(path: Path, variables: list[Variable], refused: dict[str, str]) -> Table:
    """Time runs along the longest side of a matrix.

    A variable `y` of several channels is found as `y`, and its channels as `y[0]`, `y[1]`, …
    """
    columns, groups = Columns(), {}
    for each in variables:
        if len(each.shape) not in (1, 2) or 0 in each.shape:
            what = f"an array of shape {each.shape}" if each.shape else "a single number"
            refused[each.name] = what
        elif each.channels == 1:
            columns.places[each.name] = (each, 0)
        else:
            parts = tuple(f"{each.name}[{i}]" for i in range(each.channels))
            columns.places |= {part: (each, i) for i, part in enumerate(parts)}
            groups[each.name] = parts
    return Table(str(path), columns, groups=groups, refused=refused, name=path.stem)


def warn_skipped(path: Path, name: str, skipped: list[str]) -> None:
    """Say which elements of an array of structures are no columns."""
    if skipped:
        listed = ", ".join(skipped[:_MORE]) + (", …" if len(skipped) > _MORE else "")
        text = f"{path}: skipped {listed} of the array {name!r}: they are no arrays of numbers."
        warnings.warn(text, DataWarning, stacklevel=2)
