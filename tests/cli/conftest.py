"""One tiny run that `gpssm fit` made, for all tests of the command line and of the pages."""

import pytest

from support_cli import CONFIG, invoke, write_csv


@pytest.fixture(autouse=True, scope="session")
def _unprepared():
    """`prepare` sets up the whole process, and this one also runs all the other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpssm.prepare", lambda cores=1: None)
        yield


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("log") / "log.csv")


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="session")
def fit_arguments(log, config):
    return ["fit", log, "--inputs", "pump", "--outputs", "level", "--config", config]


@pytest.fixture(scope="session")
def fitted(fit_arguments, tmp_path_factory):
    """The folder of the run, and what the command said."""
    out = tmp_path_factory.mktemp("runs") / "tiny <run>"
    result = invoke(*fit_arguments, "--seeds", 2, "--out", out)
    assert result.exit_code == 0, result.output
    return out, result


@pytest.fixture(scope="session")
def folder(fitted):
    return fitted[0]
