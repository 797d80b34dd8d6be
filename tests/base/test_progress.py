"""One bar for training, downloads and studies: on standard error, gone from it when it is left."""

import pytest
from rich.progress import TextColumn

from gpssm.base.progress import Bar
from gpssm.data.benchmarks.sources import _DownloadBar
from gpssm.study.display import open_display


def task_of(bar):
    return bar._rich.tasks[0]


def test_a_bar_shows_its_fields_and_says_lines_on_standard_error(capfd):
    columns = TextColumn("{task.description}"), TextColumn("left {task.fields[left]}")
    with Bar("plant", 4, *columns, left="unknown") as bar:
        bar.say("[bold] is no markup")
        bar.show(completed=3, left="5 s")
        assert (task_of(bar).completed, task_of(bar).total) == (3, 4)
    out, error = capfd.readouterr()
    assert out == ""
    assert "[bold] is no markup" in error
    assert "plant left 5 s" in error


def test_an_error_closes_the_bar():
    bar = Bar("plant", None)

    def interrupted():
        with bar:
            assert bar._rich.live.is_started
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not bar._rich.live.is_started


def test_a_download_counts_bytes_as_pooch_tells_them():
    with _DownloadBar("file.csv", None, transient=True) as bar:
        bar.total = 0  # the server has not said how much it will send
        assert task_of(bar).total is None
        bar.total = 2500
        for _ in range(3):
            bar.update(1024)
        bar.reset()
        bar.update(2500)
        bar.close()
        assert (task_of(bar).completed, task_of(bar).total) == (2500, 2500)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_study_has_a_bar_in_a_terminal_and_lines_elsewhere(terminal, monkeypatch, capfd):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with open_display() as display:
        display.expect(10.0)
        display.begin("first job", 4.0, 1)
        display.training("", 100).update(50, {})
        assert display.reached == 2.0
        if terminal:
            task = task_of(display._bar)
            assert (task.description, task.total, task.completed) == ("first job", 10.0, 2.0)
        display.finish("first job", 4.0, 3.2)
    assert "first job took 3 s, left " in capfd.readouterr().err
