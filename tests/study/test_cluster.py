"""On Ray: a worker that is killed costs nothing but time."""

import importlib.util
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from gpssm import Cluster, ConfigError, sweep
from gpssm.study import Job, open_display, open_runner, run_round
from support_study import make_data, make_study, pretend

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="ray is not installed: pip install 'gpssm[cluster]'",
)


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    """One Ray for all tests here, since it takes seconds to start; its workers find the tests."""
    import ray

    paths = os.pathsep.join(path for path in sys.path if path)
    cache = str(tmp_path_factory.mktemp("cache"))
    with pytest.MonkeyPatch.context() as patch:
        # Ray's workers give way to everybody else: beside other tests they would starve.
        patch.setenv("RAY_worker_niceness", "0")
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"env_vars": {"PYTHONPATH": paths, "XDG_CACHE_HOME": cache}},
        )
        yield ray
        ray.shutdown()


def killed_once(marks, study, data, batch, progress):
    """The first worker that gets one of the batches is killed in it."""
    mark = Path(marks) / f"{batch.configurations[0].number}"
    if batch.configurations[0].number in (1, 2) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return pretend(study, data, batch, progress)


@needs_ray
def test_a_worker_that_is_killed_is_replaced_and_the_table_is_complete(ray, tmp_path, monkeypatch):
    monkeypatch.setattr("gpssm.study.driver.fit_batch", partial(killed_once, str(tmp_path)))
    study = make_study(side_by_side=1)
    found = sweep(study, {"lag": make_data()}, out=tmp_path / "study", cluster=Cluster())
    assert {mark.name for mark in tmp_path.glob("[0-9]")} == {"1", "2"}, "nobody was killed"
    assert found.lost == ()
    table = pd.read_parquet(found.path)
    assert sorted(zip(table["configuration"], table["seed"], strict=True)) == [
        (number, seed) for number in range(4) for seed in range(2)
    ]


def kill(progress):
    os.kill(os.getpid(), signal.SIGKILL)


@needs_ray
def test_what_always_kills_its_worker_is_named_and_the_rest_goes_on(ray):
    kept = []
    jobs = [Job("bad", kill, kept.append), Job("good", lambda progress: 7, kept.append)]
    with open_runner(Cluster(retries=0)) as runner, open_display(quiet=True) as display:
        failed = run_round(jobs, display, runner)
    assert kept == [7]
    assert len(failed) == 1
    assert failed[0].startswith("bad: its worker died, after 0 retries")


def refuse(progress):
    raise ConfigError("dim_x: too many")


@needs_ray
def test_errors_of_gpssm_are_outcomes_and_others_end_everything(ray):
    with open_runner(Cluster()) as runner, open_display(quiet=True) as display:
        refused, broken = Job("a", refuse, print), Job("b", lambda progress: 1 / 0, print)
        assert run_round([refused], display, runner) == ["a: dim_x: too many"]
        with pytest.raises(ZeroDivisionError):
            run_round([broken], display, runner)


@needs_ray
def test_a_fit_on_a_worker_is_a_fit(ray, tmp_path):
    study = make_study(seeds=1, search={"training": {"learning_rate": [0.1]}})
    data = {"lag": make_data()}
    there = sweep(study, data, out=tmp_path / "there", cluster=Cluster(), quiet=True).table
    here = sweep(study, data, out=tmp_path / "here", quiet=True).table
    assert there["rmse"][0] == pytest.approx(here["rmse"][0], rel=1e-3)


def test_without_ray_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'gpssm\[cluster\]'"):
        sweep(make_study(), {"lag": make_data()}, out=tmp_path, cluster=Cluster())


def test_without_optuna_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'gpssm\[cluster\]'"):
        sweep(make_study("optuna"), {"lag": make_data()}, out=tmp_path)
