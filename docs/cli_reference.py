"""Writes the reference of cli.md from the commands themselves.

    python docs/cli_reference.py

It stands between the comments `<!-- begin commands -->` and `<!-- end commands -->`. A test
compares the page with what this script would write.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from gpssm.cli import app

PAGE = Path(__file__).with_name("cli.md")
_BEGIN, _END = "<!-- begin commands -->", "<!-- end commands -->"
_SHARED = {"help", "as_json", "debug"}  # options of every command, explained above them


def commands(group: Any, prefix: str = "gpssm") -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        words = f"{prefix} {name}"
        if hasattr(command, "commands"):
            yield from commands(command, words)
        else:
            yield words, command


def describe(words: str, command: Any) -> str:
    """A heading, what the command does, its example, and a table of its options."""
    example = command.epilog.removeprefix("Example: ")
    text = " ".join(command.help.split())
    rows = [row(each) for each in command.params if each.name not in _SHARED]
    table = ["| | meaning | default |", "|---|---|---|", *rows] if rows else []
    return "\n".join([f"### {words}", "", text, "", "```bash", example, "```", "", *table]).rstrip()


def row(parameter: Any) -> str:
    """One option or argument."""
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        flag = parameter.opts[-1]
        name = f"`{flag}`" if parameter.is_flag else f"`{flag} {_value(parameter)}`"
    meaning = (parameter.help or "").replace("|", "\\|")
    return f"| {name} | {meaning} | {_default(parameter)} |"


def _value(parameter: Any) -> str:
    return parameter.metavar or "PATH"


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    default = parameter.default
    return "" if default in (None, False, ()) or callable(default) else f"`{default}`"


def updated(page: str) -> str:
    """The text of the page with a fresh reference."""
    parts = [describe(*each) for each in commands(typer.main.get_command(app))]
    fresh = "\n\n".join([_BEGIN, *parts, _END])
    return re.sub(f"{_BEGIN}.*?{_END}", lambda _: fresh, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
