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
from gpssm.base.json_text import as_json

from .options import Debug

Command = TypeVar("Command", bound=Callable[..., None])
_OPTIONS = {"run_dir": "--out", "folds": "--calibration-folds"}  # by their names in Python
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)


def readable(command: Command) -> Command:
    """Wrap a command: show an error as one line with a remedy, and add `--debug`."""

    @functools.wraps(command)
    def run(*args: Any, debug: bool = False, **options: Any) -> None:
        as_json = options.get("as_json", False)
        try:
            with warnings.catch_warnings():
                _show_warnings(debug)
                command(*args, **options)
        except (typer.Exit, typer.BadParameter, SystemExit):
            raise
        except KeyboardInterrupt:
            say("Stopped. All files are complete: run the same command again.")
            raise typer.Exit(STOPPED[0]) from None
        except Exception as error:
            if debug:
                raise
            _fail(error, as_json)

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

    console = Console()
    if isinstance(content, str):
        console.print(content, highlight=False, markup=False, soft_wrap=True)
    else:  # a table is never cut off: a narrow terminal wraps its lines
        console.width = max(console.width, console.measure(content).maximum)
        console.print(content)


def show_json(content: Any) -> None:
    """One JSON object on standard output."""
    print(as_json(content))


def may_write(path: Path, overwrite: bool = False) -> Path:
    """Return the path; raise if it exists and `overwrite` is false."""
    if path.is_dir():
        raise ConfigError(expected("--out", f"{path}, which is a folder", "the name of a file"))
    if path.exists() and not overwrite:
        remedy = "Choose another name, or add --overwrite."
        raise ConfigError(expected("--out", f"{path}, which exists already", "a new one", remedy))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _show_warnings(debug: bool) -> None:
    """Show warnings of gpssm as one line each; other warnings only with `--debug`."""
    if debug:
        return
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", GpssmWarning)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")


def _fail(error: Exception, as_json: bool) -> None:
    """Print the error on standard error and, with `--json`, an object on standard output."""
    line = " ".join(_explain(error).split())
    if as_json:
        show_json({"error": line, "kind": type(error).__name__})
    say(f"error: {line}")
    if isinstance(error, ProcessLostError):
        sys.stdout.flush()
        os._exit(1)  # a regular exit would wait for the process that is gone
    raise typer.Exit(1) from None


def _explain(error: Exception) -> str:
    if isinstance(error, GpssmError):
        return str(error.renamed(_OPTIONS))
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}. Check the path, its permissions and the free space."
    if isinstance(error, MemoryError):
        return "out of memory. Use fewer particles, a smaller batch_size or shorter sequences."
    kind = f"{type(error).__name__}: {error}"
    return f"unexpected {kind}. Please report it with the traceback that --debug shows."
