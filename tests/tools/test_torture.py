"""What `make torture` would notice; the kills themselves take minutes."""

import random
import signal

import pytest

from gpssm.base.sealing import sealed
from tools import torture


@pytest.fixture
def run(tmp_path):
    """The files of a small run, all whole."""
    folder = tmp_path / "run"
    (folder / "checkpoints" / "7").mkdir(parents=True)
    (folder / "folds-2" / "fold-0").mkdir(parents=True)
    (folder / "checkpoints" / "7" / "state.json").write_text("{")  # Orbax's own affair
    (folder / "run.json").write_text('{"seeds": [0]}')
    (folder / "config.toml").write_text("seeds = 1\n")
    (folder / "report.html").write_text("<html></html>\n")
    (folder / "history-seed-0.csv").write_text("step,elbo\n0,1\n")
    (folder / "folds-2" / "fold-0" / "seed-0.gpssm").write_bytes(sealed({}, {"format": "3"}))
    (folder / ".lock").touch()
    (folder / ".run.json.1.gpssm-tmp").write_text("{")
    return folder


def test_whole_files_are_no_fault(run):
    assert torture.damaged(run) == []


@pytest.mark.parametrize(
    "name",
    ["run.json", "config.toml", "report.html", "history-seed-0.csv", "folds-2/fold-0/seed-0.gpssm"],
)
def test_half_a_file_is_a_fault(name, run):
    data = (run / name).read_bytes()
    (run / name).write_bytes(data[: len(data) // 2])
    assert torture.damaged(run) == [f"{name.rpartition('/')[2]} is not whole"]


def test_another_byte_a_missing_file_and_one_too_many_are_differences(run):
    whole = torture.content(run)
    assert torture.differences(whole, torture.content(run)) == []
    assert ".lock" not in whole
    assert not [name for name in whole if "checkpoints" in name]
    (run / "run.json").write_text('{"seeds": [1]}')
    (run / "report.html").unlink()
    (run / ".a.2.gpssm-tmp").touch()
    found = torture.differences(whole, torture.content(run))
    assert found == [f"{name} differs" for name in (".a.2.gpssm-tmp", "report.html", "run.json")]


def test_a_moment_comes_with_a_new_file_only(run):
    moment = torture.Moment("claim", "run.json", 0.1)
    before = torture.files_of(run, moment)
    assert not torture.files_of(run, moment) - before
    (run / "run.json").unlink()
    (run / "run.json").write_text("{}")
    assert torture.files_of(run, moment) - before


def test_every_phase_and_every_signal_is_drawn():
    names = {moment.name for moment in torture.MOMENTS}
    assert names >= {"first second", "claim", "training", "calibration", "scoring", "report"}
    drawn = random.Random(0).choices(torture.SIGNALS, k=100)
    assert set(drawn) == {signal.SIGKILL, signal.SIGTERM, signal.SIGINT}
    assert drawn.count(signal.SIGKILL) > 60


def test_the_page_says_what_was_lost():
    trial = torture.Trial(
        1, [torture.Kill("claim", "SIGKILL", 0.5)], faults=["report.html differs"]
    )
    found = torture.summary([torture.Trial(0), trial], seed=1, seconds=60.0, files=12)
    assert (found["kills"], found["runs"], found["by_moment"]) == (1, 1, {"claim": 1})
    assert found["faults"] == ["trial 1: report.html differs"]
    assert "with 1 faults: trial 1: report.html differs" in torture.page_of(found)
    trial.faults.clear()
    found = torture.summary([torture.Trial(0), trial], seed=1, seconds=60.0, files=12)
    assert "12 files in each folder, all of them equal" in torture.page_of(found)
