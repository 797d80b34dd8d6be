"""What a record says of the code that made it."""

import subprocess

import pytest
from experiments.common import files


@pytest.fixture
def repository(tmp_path):
    """A repository with a line of code and a result, both committed."""
    for name in ("src", "experiments", "benchmarks", "results"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("old")
    who = "-c", "user.name=a", "-c", "user.email=a@b"
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_results_do_not_make_the_code_another_one(repository):
    clean = files._commit(repository)
    (repository / "results" / "file").write_text("new")
    (repository / "results" / "another").write_text("new")
    assert files._commit(repository) == clean
    assert len(clean) >= 7
    assert "dirty" not in clean


@pytest.mark.parametrize("path", ["src/file", "experiments/untracked"])
def test_changed_code_does(repository, path):
    clean = files._commit(repository)
    (repository / path).write_text("new")
    assert files._commit(repository) == f"{clean}-dirty"


def test_without_a_repository_it_is_not_known(tmp_path):
    assert files._commit(tmp_path) == "unknown"
