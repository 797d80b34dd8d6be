"""`gpssm reproduce`: the experiments of the paper, which are part of the repository."""

import importlib.util
import runpy
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import gpssm
from gpssm.errors import ConfigError

from .talk import STOPPED, say, show_json


class Experiment(NamedTuple):
    """The module that computes a table or a figure, and the words it wants first."""

    module: str
    arguments: tuple[str, ...] = ()


EXPERIMENTS = {
    "table1": Experiment("experiments.table1"),
    "figure1": Experiment("experiments.dubins_predictions"),
    "figure3a": Experiment("experiments.sequence_length", ("dubins",)),
    "figure3b": Experiment("experiments.drone", ("--figure", "3b")),
    "figure4": Experiment(
        "experiments.drone", ("--figure", "4", "--methods", "cbf-ssm", "--lengths", "50")
    ),
    "cost": Experiment("experiments.cost"),
}


def reproduce_command(what: str, quick: bool, more: Sequence[str], as_json: bool) -> None:
    """Run the module as `python -m` would, from the root of the repository."""
    experiment = EXPERIMENTS[what]
    find(what, experiment.module)
    arguments = [*experiment.arguments, *(["--quick"] if quick else []), *more]
    # What an experiment prints is for people: machines get one object and nothing else.
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        code = run_module(experiment.module, arguments)
    if as_json:
        show_json({"experiment": what, "module": experiment.module, "exit_code": code})
    if code in STOPPED:
        say("Run the same command again to go on: what was finished is not computed again.")
    if code:
        raise SystemExit(code)


def find(what: str, module: str) -> None:
    """Make the module importable, or say in one line why it is not."""
    roots = [root for root in (Path.cwd(), _clone()) if (root / "experiments").is_dir()]
    if not roots:
        raise ConfigError(
            f"{what}: the experiments are not part of the installed package. "
            "Clone the repository and run this command in it."
        )
    if str(roots[0]) not in sys.path:
        sys.path.insert(0, str(roots[0]))
    if importlib.util.find_spec(module) is None:
        raise ConfigError(
            f"{what}: {module} is not in {roots[0]}. "
            "This version does not have that experiment: update the clone."
        )


def _clone() -> Path:
    """The root of the repository, where gpssm was installed from a clone in place."""
    return Path(gpssm.__file__).parents[2]


def run_module(module: str, arguments: Sequence[str]) -> int:
    """Its exit code."""
    before = sys.argv
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return 0
