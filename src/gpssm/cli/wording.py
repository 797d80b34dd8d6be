"""Messages in the words of the command line: `run_dir` becomes `--out`.

The library says which of its arguments is wrong. An option has the name of its argument, so the
options of a command are known from its signature; the few others are in `_OTHER_NAMES`.
"""

import re
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, get_args

from typer.models import ArgumentInfo, OptionInfo

_OTHER_NAMES = {  # of an argument in Python: the parameter of the command
    "run_dir": "out",
    "folds": "calibration_folds",
    "test_files": "test",
    "files": "data",
    "connect": "distributed",
}
_ALWAYS = {"y_warmup": "the warm-up"}  # what no option is about
_WITHOUT_OPTION = {"sampling_time": "sampling time", "time_unit": "unit of time"}  # of a command
_BESIDE = r"[\w/'\"-]"  # next to these a name is part of a path, or what the user gave


def options_of(command: Callable[..., Any]) -> dict[str, str]:
    """The option for each argument that the library may speak of."""
    own = dict(_options(command))
    others = {name: own[option] for name, option in _OTHER_NAMES.items() if option in own}
    return {**_WITHOUT_OPTION, **own, **others, **_ALWAYS}


def _options(command: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    for name, parameter in signature(command).parameters.items():
        for info in get_args(parameter.annotation)[1:]:
            if isinstance(info, ArgumentInfo):
                yield name, str(info.metavar)
            elif isinstance(info, OptionInfo):
                spelled = [each for each in info.param_decls or () if each.startswith("--")]
                yield name, spelled[0] if spelled else f"--{name.replace('_', '-')}"


def in_options(message: str, options: dict[str, str]) -> str:
    """The message with options in place of arguments of Python.

    The field of a message comes before ": got". Further down a plain word such as `time`
    counts if it is in backticks, and a name with an underscore anywhere but before `=`: that is
    how an argument is given in Python. What follows "in Python" is for these users alone.
    """
    message = re.sub(r", in Python \w+=[\w.]*", "", message)
    for name, option in options.items():
        message = re.sub(rf"^{name}(?=: got )", option, message)
        message = re.sub(rf"`{name}`", option, message)
        if "_" in name:
            message = re.sub(rf"(?<!{_BESIDE})(?<!\.){name}(?!{_BESIDE}|\.\w|=)", option, message)
    return message
