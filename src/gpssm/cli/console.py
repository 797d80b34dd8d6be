"""Output of commands: tables or JSON on standard output, all else on standard error.

Exit codes: 0 done, 1 an error that one line explains, 2 wrong usage, 130 and 143 stopped by
Ctrl-C and SIGTERM.
"""

import functools
import inspect
import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import typer

from gpssm.base.errors import ConfigError, GpssmError, GpssmWarning, ProcessLostError, expected
from gpssm.base.files import refuse_special
from gpssm.base.json_text import as_json

from .options import Debug
from .wording import in_options, options_of

Command = TypeVar("Command", bound=Callable[..., None])

STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
_WIDEST = 10_000  # characters of a line of a table


def readable(command: Command) -> Command:
    """Wrap a command: show an error as one line with a remedy, and add `--debug`."""

    @functools.wraps(command)
    def run(*args: Any, debug: bool = False, **options: Any) -> None:
        as_json, names = options.get("as_json", False), options_of(command)
        try:
            with warnings.catch_warnings():
                _show_warnings(debug, names)
                command(*args, **options)
        except (typer.Exit, typer.BadParameter, SystemExit):
            raise
        except KeyboardInterrupt:
            say("Stopped. All files are complete: run the same command again.")
            raise typer.Exit(STOPPED[0]) from None
        except Exception as error:
            if debug:
                raise
            _fail(error, as_json, names)

    run.__signature__ = _with_debug(command)  # type: ignore[attr-defined]  # what typer reads
    return run  # type: ignore[return-value]


def _with_debug(command: Callable[..., None]) -> inspect.Signature:
    signature = inspect.signature(command)
    named = inspect.Parameter.KEYWORD_ONLY
    option = inspect.Parameter("debug", named, default=False, annotation=Debug)
    return signature.replace(parameters=[*signature.parameters.values(), option])


def say(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr, flush=True)


def show(content: Any) -> None:
    """A table or a text on standard output."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    if isinstance(content, str | Text):  # a command can be copied: no line break in it
        console.print(content, highlight=False, markup=False, soft_wrap=True)
    else:  # a table is never cut off: a narrow terminal wraps its lines
        unlimited = console.options.update(max_width=_WIDEST)
        console.width = max(console.width, console.measure(content, options=unlimited).maximum)
        console.print(content)


def show_json(content: Any) -> None:
    """One JSON object on standard output."""
    print(as_json(content))


def may_write(path: Path, overwrite: bool = False) -> Path:
    """Return the path; raise if it exists and `overwrite` is false."""
    refuse_special(path, "--out")
    if path.exists() and not overwrite:
        remedy = "Choose another name, or add --overwrite."
        raise ConfigError(expected("--out", f"{path}, which exists already", "a new one", remedy))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _show_warnings(debug: bool, names: dict[str, str]) -> None:
    """Show each warning of gpssm once, as a line; other warnings only with `--debug`."""
    if debug:
        return
    said: set[str] = set()

    def show_once(message: Warning | str, *_: Any, **__: Any) -> None:
        line = _in_one_line(in_options(str(message), names))
        if line not in said:
            said.add(line)
            say(f"warning: {line}")

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", GpssmWarning)
    warnings.showwarning = show_once


def _fail(error: Exception, as_json: bool, names: dict[str, str]) -> None:
    """Print the error on standard error and, with `--json`, an object on standard output."""
    line = _in_one_line(_explain(error, names))
    if as_json:
        show_json({"error": line, "kind": type(error).__name__})
    say(f"error: {line}")
    if isinstance(error, ProcessLostError):
        sys.stdout.flush()
        os._exit(1)  # a regular exit would wait for the process that is gone
    raise typer.Exit(1) from None


def _in_one_line(text: str) -> str:
    """The same words without a line break of any kind; other blanks stay as they are."""
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def _explain(error: Exception, names: dict[str, str]) -> str:
    if isinstance(error, GpssmError):
        return in_options(str(error), names)
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}. Check the path, its permissions and the free space."
    if isinstance(error, MemoryError):
        return "out of memory. Use fewer particles, a smaller batch_size or shorter sequences."
    kind = f"{type(error).__name__}: {error}"
    return f"unexpected {kind}. Please report it with the traceback that --debug shows."
