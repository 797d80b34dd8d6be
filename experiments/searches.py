"""Which settings of Table 1 are searched, and by what: `configs/tune.toml`, or the command line."""

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from gpssm.data import Dataset
from gpssm.errors import ConfigError, expected
from gpssm.inference.presets import METHODS
from gpssm.prediction import blocked_folds

from .config import CONFIGS, DATASETS, merge
from .overrides import Grid, parse_set

PLAN = CONFIGS / "tune.toml"
_FOLDS, _SEEDS, _SMALL, _USUAL = 3, 1, DATASETS[:-1], ("cbf-ssm-50",)
_OWN = ("folds", "held", "ahead", "seeds")  # options of a search that no plan has


class Folds(NamedTuple):
    """The training part in `count` stretches, the last `held` of which are held out in turn.

    `ahead`: only what came before a stretch trains.
    """

    count: int
    held: int
    ahead: bool = False

    @property
    def label(self) -> str:
        """As the names of files have it."""
        number = f"{self.count}" if self.held == self.count else f"{self.held}of{self.count}"
        return f"{'ahead' if self.ahead else 'folds'}={number}"

    def of(self, data: Dataset) -> list[Dataset]:
        return blocked_folds(data.train, self.count, self.ahead)[-self.held :]


def make_folds(count: int, held: int | None, ahead: bool) -> Folds:
    """At most as many held out as there are; ahead, the first stretch has no past to train on."""
    most = count - 1 if ahead else count
    return Folds(count, min(held or most, most), ahead)


@dataclass(frozen=True)
class Search:
    """Every combination of the values of a grid, for each of the methods on each data set."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    folds: Folds
    seeds: int
    grid: Grid

    def only(self, datasets: Sequence[str], methods: Sequence[str]) -> "Search":
        """What of it concerns these."""
        return replace(
            self,
            datasets=tuple(name for name in self.datasets if name in datasets),
            methods=tuple(name for name in self.methods if name in methods),
        )


def read_searches(path: Path) -> list[Search]:
    """All of the file; each has the grid of all on top of which it says its own."""
    with open(path, "rb") as file:
        plan = tomllib.load(file)
    return [_search(each, plan["grid"]) for each in plan["search"]]


def _search(given: dict[str, Any], common: Grid) -> Search:
    return Search(
        datasets=tuple(given["datasets"]),
        methods=tuple(given["methods"]),
        folds=make_folds(given["folds"], given.get("held"), given.get("ahead", False)),
        seeds=given["seeds"],
        grid=merge(common, given["grid"]),
    )


def asked_for(options: argparse.Namespace) -> list[Search]:
    """One search with `--set`, else those of the file; what would have no effect is refused."""
    return [_own_search(options)] if options.set else _planned(options)


def _planned(options: argparse.Namespace) -> list[Search]:
    given = [name for name in _OWN if getattr(options, name)]
    if given:
        remedy = "The searches of the plan say this themselves."
        raise ConfigError(expected(f"--{given[0]}", "no --set", "one", remedy))
    names = options.datasets or DATASETS, options.methods or tuple(METHODS)
    found = [each.only(*names) for each in read_searches(options.plan or PLAN)]
    found = [each for each in found if each.datasets and each.methods]
    if not found:
        wanted, remedy = "some that the plan has", "Search others with --set."
        raise ConfigError(expected("--datasets, --methods", " ".join(names[0]), wanted, remedy))
    return found


def _own_search(options: argparse.Namespace) -> Search:
    if options.plan is not None:
        raise ConfigError(expected("--plan", "also --set", "one of them"))
    grid: Grid = {}
    for text in options.set:
        grid = merge(grid, parse_set(text))
    return Search(
        datasets=tuple(options.datasets or _SMALL),
        methods=tuple(options.methods or _USUAL),
        folds=make_folds(options.folds or _FOLDS, options.held, options.ahead),
        seeds=options.seeds or _SEEDS,
        grid=grid,
    )


def add_search_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), metavar="NAME")
    parser.add_argument("--plan", type=Path, help="the searches; default: configs/tune.toml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=V1,V2",
        help="one search of these values in place of the plan; may be given more than once",
    )
    group = parser.add_argument_group("with --set")
    group.add_argument("--folds", type=int, help=f"default: {_FOLDS}")
    group.add_argument(
        "--held", type=int, help="hold out only so many of the folds, the last ones; default: all"
    )
    group.add_argument(
        "--ahead", action="store_true", help="train only on what came before a held-out stretch"
    )
    group.add_argument("--seeds", type=int, help=f"default: {_SEEDS}")
