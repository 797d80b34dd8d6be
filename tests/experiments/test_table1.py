"""The grid: settings by layers, a file of records, and a second start that goes on."""

import json

import pytest
from experiments.common.config import merge, quick, same_settings
from experiments.common.files import add_record, read_json, read_record
from experiments.common.grid import run_jobs
from experiments.table1 import __main__ as table1
from experiments.table1.cells import Stopwatch, run_cell
from experiments.table1.config import (
    DATASETS,
    METHODS,
    Table1Settings,
    cell_settings,
    read_config,
)

from gpssm import ConfigError, load_dataset
from gpssm.training.progress import silent


@pytest.fixture
def runs(monkeypatch):
    """Cells that are not computed: what was asked for is noted."""
    asked = []

    def pretend(data, method, settings, progress, figure):
        asked.append((data.name, method))
        return {"settings": settings.to_json(), "number": len(asked)}

    monkeypatch.setattr(table1, "run_cell", pretend)
    return asked


def jobs(config, data, results, methods=("pr-ssm", "arx")):
    return [table1.make_job(config, data, method, results) for method in methods]


def number(job):
    return read_record(job.path, job.key)["number"]


# ---------------------------------------------------------------------- settings


def test_layers_win_in_their_order(data, tiny):
    changes = {
        "methods": {"vcdt": {"training": {"steps": 5, "learning_rate": 0.5}}},
        "datasets": {
            "furnace": {
                "training": {"steps": 6},
                "methods": {"vcdt": {"model": {"dim_x": 3}}},
            },
            "drive": {"training": {"steps": 7}},
        },
    }
    found = cell_settings(merge(tiny, changes), data, "vcdt")
    assert (found.training.steps, found.training.learning_rate) == (6, 0.5)
    assert (found.model.dim_x, found.model.inducing_points) == (3, 4)


def test_a_method_has_only_the_settings_that_it_uses(data, tiny):
    assert cell_settings(tiny, data, "arx") == Table1Settings()
    gru = cell_settings(tiny, data, "gru")
    assert gru.model is None
    assert gru.gru.sequence_length == tiny["training"]["sequence_length"]
    other = merge(tiny, {"training": {"inducing_kl": 9.0}})
    assert cell_settings(other, data, "gru") == gru


@pytest.mark.parametrize(
    "wrong", [{"training": {"stepz": 3}}, {"model": {"dim_x": 0}}, {"sede": 3}]
)
def test_a_wrong_setting_is_refused_on_reading(wrong, data, tiny):
    with pytest.raises(ConfigError):
        cell_settings(merge(tiny, wrong), data, "pr-ssm")


def test_the_settings_survive_json_whatever_the_method(data, tiny):
    for method in METHODS:
        settings = cell_settings(merge(tiny, {"model": {"lag": 3}}), data, method)
        stored = json.loads(json.dumps(settings.to_json()))
        assert same_settings(stored, settings)


def test_a_setting_that_is_new_at_its_default_is_no_change(data, tiny):
    settings = cell_settings(tiny, data, "pr-ssm")
    stored = settings.to_json()
    del stored["training"]["clip_norm"]
    assert same_settings(stored, settings)
    stored["training"]["clip_norm"] = 1.0
    assert not same_settings(stored, settings)
    stored["training"]["a_setting_of_old"] = 1.0
    assert not same_settings(stored, settings)


def test_quick_is_one_seed_and_a_tenth_of_all_steps():
    config = quick(
        {"seeds": 5, "training": {"steps": 1000}, "datasets": {"a": {"gru": {"steps": 5}}}}
    )
    assert config == {
        "seeds": 1,
        "training": {"steps": 100},
        "datasets": {"a": {"gru": {"steps": 1}}},
    }


@pytest.mark.data
def test_the_configuration_of_the_study_has_the_sizes_of_the_paper(monkeypatch):
    monkeypatch.setattr("experiments.table1.config.count_parameters", lambda model, data: 500)
    config = read_config()
    for name in DATASETS:
        try:
            data = load_dataset(name)
        except Exception as error:
            pytest.skip(str(error))
        for method in METHODS:
            found = cell_settings(config, data, method)
            if found.model is not None:
                sizes = found.model.dim_x, found.model.inducing_points, found.model.particles
                windows = found.training.sequence_length, found.training.stride
                sarcos = name == "sarcos"
                assert sizes == ((14, 100, 20) if sarcos else (4, 20, 50))
                assert windows == ((250, 10) if sarcos else (50, 1))
                assert found.training.batch_size == (5 if sarcos else 10)
                assert found.seeds == 5


# ---------------------------------------------------------------------- going on


def test_a_second_start_computes_nothing(data, tiny, tmp_path, runs):
    for _ in range(2):
        assert run_jobs(jobs(tiny, data, tmp_path)) == []
    assert runs == [("furnace", "pr-ssm"), ("furnace", "arx")]


def test_a_start_after_a_stop_does_only_the_rest(data, tiny, tmp_path, runs):
    run_jobs(jobs(tiny, data, tmp_path, ["pr-ssm"]))
    run_jobs(jobs(tiny, data, tmp_path))
    assert runs == [("furnace", "pr-ssm"), ("furnace", "arx")]


def test_other_settings_are_computed_again_and_only_where_they_matter(data, tiny, tmp_path, runs):
    run_jobs(jobs(tiny, data, tmp_path))
    changed = jobs(merge(tiny, {"training": {"steps": 4}}), data, tmp_path)
    run_jobs(changed)
    assert [number(job) for job in changed] == [3, 2]


def test_a_cell_that_fails_is_named_and_the_others_go_on(data, tiny, tmp_path, monkeypatch, runs):
    first, second = jobs(tiny, data, tmp_path)

    def fail(progress):
        raise ConfigError("no finite gradient")

    object.__setattr__(first, "run", fail)
    assert run_jobs([first, second]) == ["furnace pr-ssm: no finite gradient"]
    assert not first.is_done
    assert second.is_done


def test_a_stop_while_writing_leaves_no_half_file(data, tiny, tmp_path, monkeypatch, runs):
    job = jobs(tiny, data, tmp_path)[0]
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run_jobs([job])
    assert not job.path.exists()
    assert not job.is_done


def test_a_cell_is_added_to_those_of_another_process(tmp_path):
    path = tmp_path / "new" / "table1.json"
    for record, key in enumerate(["ax", "bx", "ay", "bx"], start=1):
        add_record(path, tuple(key), record)
    assert read_json(path) == {"a": {"x": 1, "y": 3}, "b": {"x": 4}}
    assert read_record(path, ("b", "x")) == 4
    assert read_record(path, ("c", "x")) is None
    assert read_record(tmp_path / "none.json", ("c", "x")) is None


def test_without_a_terminal_there_are_lines_with_the_time_left(data, tiny, tmp_path, runs, capsys):
    run_jobs(jobs(tiny, data, tmp_path))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0 of 2 are there, 2 to do"
    assert lines[1].startswith("1/2 furnace pr-ssm took")
    assert "left" in lines[1]


# ---------------------------------------------------------------------- one cell


def test_the_record_of_a_cell(data, tiny, tmp_path):
    settings = cell_settings(tiny, data, "gru")
    figure = tmp_path / "figure.png"
    record = run_cell(data, "gru", settings, silent, figure)
    json.dumps(record, allow_nan=False)
    assert same_settings(record["settings"], settings)
    assert [seed["seed"] for seed in record["seeds"]] == [0, 1]
    assert record["seeds"][0]["paper"]["rmse"] != record["seeds"][1]["paper"]["rmse"]
    assert set(record["seeds"][0]["strict"]) == {"rmse", "log_likelihood", "coverage", "horizon"}
    assert record["versions"]["jax"]
    assert figure.is_file()


def test_seeds_one_at_a_time_are_all_there(data, tiny):
    settings = cell_settings({**tiny, "seeds": 3, "seeds_at_once": 2}, data, "gru")
    assert len(run_cell(data, "gru", settings)["seeds"]) == 3


def test_the_stopwatch_leaves_the_compilation_out(monkeypatch):
    times = iter([100.0, 101.0, 103.0, 500.0, 501.0])  # a second group starts at 500
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    watch = Stopwatch(silent)
    for steps in ((25, 50, 75), (25, 50)):
        with watch("", 75) as shown:
            for step in steps:
                shown.update(step, {})
    assert watch.seconds_per_step == pytest.approx(4.0 / 75)


@pytest.mark.data
def test_the_command_line(tmp_path, capsys):
    names = ["--datasets", "furnace", "--methods", "constant-mean", "--results", str(tmp_path)]
    try:
        load_dataset("furnace")
    except Exception as error:
        pytest.skip(str(error))
    assert table1.main(names) == 0
    assert "3.398" in (tmp_path / "table1.md").read_text()
    assert str(tmp_path / "table1.md") in capsys.readouterr().out


def test_a_setting_for_all_cells_needs_a_folder_of_its_own(capsys):
    with pytest.raises(SystemExit):
        table1.main(["--set", "training.steps=4"])
    assert "--results" in capsys.readouterr().err
