"""What comes before and after training is shown, and no display ends it."""

import re

import pytest

from gpssm.base.errors import GpssmWarning
from gpssm.training import phase as module
from gpssm.training import silent
from gpssm.training.phase import phase
from gpssm.training.progress import guarded, titled


class Broken:
    """A progress that fails in one of its methods."""

    def __init__(self, method):
        self.method, self.updates = method, 0

    def _act(self, name):
        if name == self.method:
            raise RuntimeError("no screen")

    def __enter__(self):
        self._act("enter")
        return self

    def __exit__(self, *_):
        self._act("exit")

    def update(self, step, terms):
        self.updates += 1
        self._act("update")


@pytest.mark.parametrize("method", ["make", "enter", "update", "exit"])
def test_a_progress_that_fails_is_left_out(method):
    broken = Broken(method)

    def make(title, total):
        if method == "make":
            raise RuntimeError("no screen")
        return broken

    def train():
        with guarded(make, "plant", 3) as shown:
            for step in range(3):
                shown.update(step, {})

    words = "progress is no longer shown, after RuntimeError"
    with pytest.warns(GpssmWarning, match=words) as told:
        train()
    assert len(told) == 1
    assert broken.updates == {"make": 0, "enter": 0, "update": 1, "exit": 3}[method]


def test_a_stop_passes_through_a_guard():
    def stopped():
        with guarded(silent, "plant", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()


@pytest.mark.parametrize(("seconds", "lines"), [(0.1, []), (3.0, ["scores took 3 s"])])
def test_a_short_phase_has_no_line(seconds, lines, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    clock = iter([0.0, seconds, seconds])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with phase("scores", 1) as tell:
        tell()
    assert capsys.readouterr().err.splitlines() == lines


def test_a_long_phase_has_a_line_every_few_seconds(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    clock = iter([0.0, 6.0, 12.0, 18.0, 24.0, 24.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with phase("scores", 4) as tell:
        for _ in range(4):
            tell()
    assert capsys.readouterr().err.splitlines() == ["scores 2/4", "scores took 24 s"]


@pytest.mark.parametrize(("parts", "words"), [(1, r"report.*0:00:00"), (3, r"report.*3/3")])
def test_a_phase_has_a_bar_in_a_terminal(parts, words, monkeypatch, capfd):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with phase("report", parts) as tell:
        for _ in range(parts):
            tell()
    out, error = capfd.readouterr()
    assert out == ""
    assert re.search(words, error)


def test_a_quiet_phase_shows_nothing(monkeypatch, capfd):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with phase("report", 1, quiet=True) as tell:
        tell()
    assert capfd.readouterr() == ("", "")


def test_words_before_a_title():
    seen = []
    titled(lambda *given: seen.append(given), "fold 1/3")("vcdt", 7)
    assert seen == [("fold 1/3, vcdt", 7)]
