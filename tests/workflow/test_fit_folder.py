"""What `gpssm fit` does, as Python calls: one object with runs, scores and paths."""

import json

import numpy as np
import pytest

import gpssm
from gpssm import ConfigError, DataError, Dataset, RunConfig

MODEL = {"dim_x": 3, "inducing_points": 4, "particles": 5, "lag": 3}
TRAINING = {"steps": 3, "sequence_length": 10, "batch_size": 2, "validation_warmup": 4}


def record(rows=90):
    """Two outputs of very different size."""
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal((rows, 1)), np.zeros((rows, 2))
    for t in range(rows - 1):
        y[t + 1] = 0.8 * y[t] + [0.5, 0.2] * u[t]
    y = y * [1.0, 1e6] + rng.standard_normal(y.shape) * [0.05, 5e4]
    names = {"input_names": ["pump"], "output_names": ["level", "flow"]}
    return Dataset.from_arrays(y, u, name="two", **names).split(0.7)


def config(**changes):
    settings = {"model": MODEL, "training": TRAINING, "forecast": {"warmup": 4, "particles": 6}}
    return RunConfig(**{"seeds": 2, **settings, **changes})


@pytest.fixture(scope="module")
def written():
    """What has been written of configuration and data, by the name of the function that does it."""
    names = []

    def noted(name):
        original = getattr(gpssm.workflow.fitting, name)
        return lambda *values: (names.append(name), original(*values))

    with pytest.MonkeyPatch.context() as patch:
        for name in ("keep_data", "keep_config"):
            patch.setattr(gpssm.workflow.fitting, name, noted(name))
        yield names


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, written):
    out = tmp_path_factory.mktemp("runs") / "two"
    return gpssm.fit_folder(config(), record(), out, quiet=True)


def test_the_folder_holds_runs_scores_and_paths(fitted):
    assert [run.seed for run in fitted.runs] == [0, 1]
    assert fitted.report.is_file()
    assert fitted.scoring is not None
    assert set(fitted.scoring.seeds) == {0, 1}
    kept = json.loads((fitted.path / "scores.json").read_text())
    assert kept["method"] == "cbf-ssm-50"
    assert set(kept["baselines"]) == {"constant_mean", "linear_arx"}
    level = kept["seeds"]["1"]["outputs"]["level"]["rmse"]
    assert level == pytest.approx(fitted.scoring.seeds[1].scores["rmse"][0])


def test_nothing_is_read_back_from_the_disk(fitted):
    """The runs are those that were trained; a folder that is opened later gives the same."""
    opened = gpssm.open_folder(fitted.path)
    u, y = record().test[0].u, record().test[0].y
    ours, theirs = (each.runs[1].predict(u, y[:4]).mean for each in (fitted, opened))
    np.testing.assert_array_equal(ours, theirs)
    assert gpssm.Training(**opened.config.training) == fitted.runs[0].training
    assert gpssm.Model(**opened.config.model) == fitted.runs[0].model
    assert opened.scoring is None


def test_forecasts_of_training_rows_count_as_memory(tmp_path, monkeypatch):
    """63 training rows and 27 test rows: 6 MB for the test alone, 17 MB with both."""
    monkeypatch.setattr("gpssm.base.memory.machine_memory", lambda: 12e6)
    large = config(seeds=1, forecast={"warmup": 4, "particles": 8000})
    with pytest.raises(ConfigError, match=r"particles 8000 × 90 steps × 2 outputs"):
        gpssm.fit_folder(large, record(), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_configuration_and_data_are_written_once(fitted, written):
    assert written == ["keep_data", "keep_config"]
    gpssm.fit_folder(config(), record(), fitted.path, quiet=True)  # there is nothing to train
    assert written == ["keep_data", "keep_config", "keep_config"]


def test_outputs_are_scored_apart_and_pooled_in_units_of_their_spread(fitted):
    scores = fitted.scoring.seeds[0].scores
    spread = np.array([part.y.std(axis=0) for part in record().train])[0]
    assert scores.output_names == ("level", "flow")
    np.testing.assert_allclose(scores["nrmse"], scores["rmse"] / spread)
    assert scores.pooled["rmse"] == pytest.approx(np.sqrt(np.mean(scores["nrmse"] ** 2)))
    assert scores.overall("rmse") == scores.pooled["rmse"]


def test_another_run_in_the_folder_is_refused_by_the_field(fitted):
    with pytest.raises(ConfigError, match=r"^run_dir: got .* another run") as error:
        gpssm.fit_folder(config(seeds=1), record(), fitted.path, quiet=True)
    assert str(error.value).endswith("Use another run_dir.")


def test_score_without_a_test_part_is_of_training_rows(fitted):
    scoring = gpssm.score(fitted.runs, fitted.data.train)
    assert not scoring.tested
    assert scoring.to_json()["seeds"]["0"].keys() == {"training"}
    whole = Dataset.from_arrays(record()[0].y)
    with pytest.raises(DataError, match=r"data\.split\(0\.7\)"):
        gpssm.score(fitted.runs, whole)
    other = gpssm.score(fitted.runs[0], record().train, test=record().test)
    assert other.tested
    assert list(other.seeds) == [0]


def test_a_report_is_one_call(fitted, tmp_path):
    path = gpssm.write_report(
        fitted.runs[0], record(), tmp_path / "page.html", scoring=fitted.scoring
    )
    page = path.read_text()
    for metric in gpssm.metrics.metrics().values():
        assert metric.label in page
    assert "all outputs, in units of their standard deviation" in page
