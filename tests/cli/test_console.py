"""What commands say and where: tables, warnings, errors, exit codes."""

import json
import sys
import warnings
from pathlib import Path

import pytest
import typer
from rich.table import Table

from gpssm.base.errors import ConfigError, GpssmWarning, ProcessLostError
from gpssm.cli import console
from gpssm.cli.console import STOPPED, may_write, readable, say, show, show_json


def command_that(does):
    """A command of two options, which does this."""

    @readable
    def command(run_dir: int = 0, as_json: bool = False) -> None:
        does(run_dir)

    return command


def fails(error):
    def does(_):
        raise error

    return command_that(does)


def ended(command, **options):
    """The exit code of a command that ends."""
    with pytest.raises(typer.Exit) as found:
        command(**options)
    return found.value.exit_code


def test_messages_are_on_standard_error_and_results_on_standard_output(capsys):
    say("a")
    show_json({"b": Path("c")})
    assert capsys.readouterr() == ('{\n  "b": "c"\n}\n', "a\n")


def test_a_text_is_copied_whole_and_a_table_is_never_cut_off(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    words = f"[b]{'x' * 60} 1 y[/b]"
    show(words)
    assert capsys.readouterr().out == f"{words}\n"
    table = Table(box=None, show_header=False)
    table.add_row("x" * 60, "[b]y[/b]")
    show(table)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split() == ["x" * 60, "y"]


def test_a_file_is_written_where_there_is_none_or_where_one_says_so(tmp_path):
    new, old = tmp_path / "a" / "b" / "new.csv", tmp_path / "old.csv"
    assert may_write(new) == new
    assert new.parent.is_dir()
    assert may_write(new) == new  # the folder is there already
    old.write_text("")
    words = "old.csv, which exists already, expected a new one"
    with pytest.raises(ConfigError, match=words):
        may_write(old)
    assert may_write(old, True) == old


# ---------------------------------------------------------------------- warnings


def test_a_warning_is_told_once_and_in_one_line(capsys):
    def warns(_):
        warnings.warn("two\n  lines", GpssmWarning, stacklevel=1)
        warnings.warn("two\nlines", GpssmWarning, stacklevel=1)
        warnings.warn("another", GpssmWarning, stacklevel=1)
        warnings.warn("of no interest", UserWarning, stacklevel=1)

    before = warnings.showwarning
    command_that(warns)()
    assert capsys.readouterr() == ("", "warning: two lines\nwarning: another\n")
    assert warnings.showwarning is before
    with pytest.warns(UserWarning, match="of no interest") as seen:
        command_that(warns)(debug=True)
    assert len(seen) == 4
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ConfigError("a\nb"), "a b"),
        (ConfigError("`sampling_time` is odd"), "sampling time is odd"),
        (OSError(28, "No space left", "a.csv"), "a.csv: No space left. Check the path, its "
         "permissions and the free space."),
        (OSError(28, "No space left"), "No space left. Check the path, its permissions and the "
         "free space."),
        (OSError("odd"), "unexpected OSError: odd. Please report it with the traceback that "
         "--debug shows."),
        (MemoryError(), "out of memory. Use fewer particles, a smaller batch_size or shorter "
         "sequences."),
        (ValueError("x\n\ny"), "unexpected ValueError: x y. Please report it with the traceback "
         "that --debug shows."),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_an_object_for_machines(error, line, capsys):
    assert ended(fails(error)) == 1
    assert capsys.readouterr() == ("", f"error: {line}\n")
    assert ended(fails(error), as_json=True) == 1
    said = capsys.readouterr()
    assert said.err == f"error: {line}\n"
    assert json.loads(said.out) == {"error": line, "kind": type(error).__name__}
    with pytest.raises(type(error)):
        fails(error)(debug=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [typer.Exit(7), typer.BadParameter("x"), SystemExit(7)])
def test_an_exit_code_passes(error, capsys):
    with pytest.raises(type(error)):
        fails(error)()
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_is_a_word_and_an_exit_code(capsys):
    assert ended(fails(KeyboardInterrupt())) == STOPPED[0] == 130
    assert STOPPED[1] == 143
    words = "Stopped. All files are complete: run the same command again.\n"
    assert capsys.readouterr() == ("", words)


def test_a_process_that_lost_another_does_not_wait_for_it(monkeypatch, capsys):
    codes, flushed = [], []
    monkeypatch.setattr(console.os, "_exit", codes.append)
    monkeypatch.setattr(sys.stdout, "flush", lambda: flushed.append("out"))
    monkeypatch.setattr(sys.stderr, "flush", lambda: flushed.append("err"))
    assert ended(fails(ProcessLostError("gone"))) == 1
    assert (codes, flushed) == ([1], ["err", "out"])  # nothing flushes after this exit
    assert ended(fails(ConfigError("odd"))) == 1
    assert codes == [1]
    assert capsys.readouterr().err == "error: gone\nerror: odd\n"


def test_a_command_keeps_its_options_and_gets_one_more():
    command, seen = command_that(lambda value: seen.append(value)), []
    names = list(console.inspect.signature(command).parameters)
    assert names == ["run_dir", "as_json", "debug"]
    debug = console.inspect.signature(command).parameters["debug"]
    assert (debug.default, debug.kind) == (False, debug.KEYWORD_ONLY)
    assert command.__name__ == "command"
    command(3, as_json=True)
    assert seen == [3]
