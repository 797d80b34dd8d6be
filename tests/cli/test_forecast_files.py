"""The table that `gpssm predict` writes, column by column, and what it warns of."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gpssm import ConfigError, Dataset, Forecast
from gpssm.cli import forecasting
from gpssm.cli.forecasting import (
    evaluate_command,
    forecast_table,
    measured_rows,
    predict_command,
    without_formulas,
)
from gpssm.data import Experiment
from gpssm.data.stamps import Stamps
from gpssm.evaluation.scoring import Protocol
from gpssm.report.tables import verdict_text
from gpssm.report.verdict import Reason, Verdict

Y = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, np.nan], [4.0, 7.0]])
NORMAL = {0.025: -1.959964, 0.05: -1.644854, 0.25: -0.6744898, 0.5: 0.0}


def make_data(**names):
    names = {"output_names": ("level", "step"), **names}
    return Dataset.from_arrays(Y, np.arange(4.0), sampling_time=0.5, name="mon", **names)


def test_a_table_has_the_forecast_of_every_output_beside_its_measurements():
    """One particle: at every step a normal distribution."""
    mean, std = np.arange(8.0).reshape(4, 2), np.array([1.0, 10.0])
    table = forecast_table(Forecast(mean[None], std, 0, 2), make_data()[0], make_data())
    quantiles = ["2.5%", "5.0%", "25.0%", "50.0%", "75.0%", "95.0%", "97.5%"]
    wanted = ["experiment", "step", "time", "part"]
    for name, measured in (("level", "level"), ("step", "step measured")):
        kinds = ["mean", "std", *quantiles]
        wanted += [measured, *(f"{name} {kind}" for kind in kinds)]
    assert list(table) == wanted
    assert list(table["experiment"]) == ["mon"] * 4
    assert list(table["step"]) == [0, 1, 2, 3]
    assert list(table["time"]) == [0.0, 0.5, 1.0, 1.5]
    assert list(table["part"]) == ["warm-up", "warm-up", "open loop", "open loop"]
    for d, (name, measured) in enumerate((("level", "level"), ("step", "step measured"))):
        np.testing.assert_array_equal(table[measured], Y[:, d])
        np.testing.assert_allclose(table[f"{name} mean"], mean[:, d])
        np.testing.assert_allclose(table[f"{name} std"], std[d])
        for level, far in NORMAL.items():
            low, high = table[f"{name} {level:.1%}"], table[f"{name} {1.0 - level:.1%}"]
            np.testing.assert_allclose(low, mean[:, d] + far * std[d], atol=1e-5)
            np.testing.assert_allclose(high, mean[:, d] - far * std[d], atol=1e-5)


def test_columns_without_any_value_are_left_out():
    data = replace(make_data(), sampling_time=None)
    blind = replace(data[0], y=np.where([True, False], Y, np.nan))
    table = forecast_table(Forecast(np.zeros((1, 4, 2)), np.ones(2), 0, 2), blind, data)
    assert "time" not in table
    assert "level" in table
    assert "step measured" not in table


def test_the_time_is_that_of_the_user_unless_its_name_is_taken():
    forecast = Forecast(np.zeros((1, 4, 2)), np.ones(2), 0, 2)
    for name, column in (("t", "t"), ("step", "time"), ("part", "time"), ("experiment", "time")):
        stamped = replace(make_data()[0], stamps=Stamps(name, np.array([3.0, 4.0, 5.0, 6.0])))
        table = forecast_table(forecast, stamped, make_data())
        assert list(table)[2] == column
        assert list(table[column]) == [3.0, 4.0, 5.0, 6.0]
    data = make_data(output_names=("t", "level"))
    stamped = replace(data[0], stamps=Stamps("t", np.array([3.0, 4.0, 5.0, 6.0])))
    assert "t measured" in forecast_table(forecast, stamped, data)


@pytest.mark.parametrize(
    ("known", "rows"),
    [([1, 1, 1, 1], None), ([1, 1, 1, 0], 3), ([1, 0, 0, 0], 1), ([0, 1, 0, 0], 2)],
)
def test_rows_are_measured_up_to_the_last_value_of_any_output(known, rows):
    mask = np.array(known, bool)[:, None]
    for order in (slice(None), slice(None, None, -1)):
        y = np.hstack([np.where(mask, 1.0, np.nan), np.full((4, 1), np.nan)])[:, order]
        assert measured_rows(Experiment.of(y)) == rows


def test_texts_that_begin_as_formulas_are_quoted():
    table = pd.DataFrame({"experiment": ["=1", "a", "+b"], "-x": [1, 2, 3]})
    found = without_formulas(table)
    assert list(found["experiment"]) == ["'=1", "a", "'+b"]
    assert list(found) == ["experiment", "'-x"]
    assert list(table) == ["experiment", "-x"]


# ---------------------------------------------------------------------- how much is seen


class OfRun:
    """A run that says what it is asked, and forecasts zeros."""

    def __init__(self, shortest=1, lost=None):
        self.model, self.asked, self.lost = self, [], lost
        self.shortest_warmup, self.seed = shortest, 5

    def predict(self, u, y, particles):
        self.asked.append((len(u), len(y), particles))
        values = np.zeros((1, len(u), y.shape[1]))
        if self.lost is not None:
            values[:, self.lost :, 0] = np.inf
        return Forecast(values, np.ones(y.shape[1]), 0, len(y))

    def check_data(self, data):
        self.asked.append(data)


@pytest.mark.parametrize(
    ("asked", "measured", "shortest", "seen"),
    [(7, 20, 1, 7), (None, 12, 1, 12), (None, 20, 1, 6), (3, 20, 9, 9), (19, 20, 1, 19)],
)
def test_a_forecast_sees_what_was_asked_or_measured_or_the_usual_warm_up(
    asked, measured, shortest, seen, capsys
):
    y = np.where(np.arange(20) < measured, 1.0, np.nan)
    run, protocol = OfRun(shortest), Protocol(warmup=6, particles=11)
    forecast = forecasting._forecast(run, Experiment.of(y, np.ones(20)), asked, protocol)
    assert run.asked == [(20, seen, 11)]
    assert forecast.warmup == seen
    assert capsys.readouterr().err == ""


def test_nothing_to_see_of_a_forecast_is_said(capsys):
    whole, protocol = Experiment.of(np.ones(20), np.ones(20), "mon"), Protocol()
    forecasting._forecast(OfRun(), whole, 99, protocol)
    words = "warning: all 20 rows of experiment 'mon' are warm-up: nothing is forecast.\n"
    assert capsys.readouterr().err == words
    forecasting._forecast(OfRun(lost=17), whole, 5, protocol)
    words = "warning: the forecast of experiment 'mon' diverges: no numbers from step 17.\n"
    assert capsys.readouterr().err == words


@pytest.fixture
def opened(monkeypatch):
    """A folder that holds such a run, and what is read into it."""
    run, data = OfRun(), make_data()
    more = replace(data, experiments=(data[0], replace(data[0], name="=tue")))
    config = SimpleNamespace(data="the settings")
    folder = SimpleNamespace(config=config, data=data, protocol=Protocol(warmup=2, particles=3))
    folder.choose = lambda seed: run.asked.append(seed) or run
    monkeypatch.setattr(forecasting, "open_folder", lambda path: run.asked.append(path) or folder)

    def load_more(arguments, config, known):
        run.asked.append((arguments, config, known is data))
        return more

    @contextmanager
    def phase(title, total, quiet):
        run.asked.append((title, total, quiet))
        yield lambda: run.asked.append("tell")

    monkeypatch.setattr(forecasting, "load_more", load_more)
    monkeypatch.setattr(forecasting, "phase", phase)
    monkeypatch.setattr(forecasting.gpssm, "prepare", lambda: run.asked.append("prepare"))
    return run, more


def test_a_forecast_is_written_for_every_experiment(opened, capsys, tmp_path):
    (run, more), out = opened, tmp_path / "new" / "f.csv"
    predict_command(Path("run"), ["a.csv"], out, 3, 8, False, True, True)
    read = ["prepare", Path("run"), 8, (["a.csv"], "the settings", True), more]
    assert run.asked[:5] == read
    assert run.asked[5:] == [("forecast", 2, True), (4, 3, 3), "tell", (4, 3, 3), "tell"]
    table = pd.read_csv(out)
    assert list(table["experiment"]) == ["mon"] * 4 + ["'=tue"] * 4
    assert list(table["step"]) == [0, 1, 2, 3] * 2
    said = json.loads(capsys.readouterr().out)
    columns = said.pop("columns")
    assert columns == list(table)
    assert said == {"forecast": str(out), "rows": 8, "warmup": [3, 3], "seed": 5}
    predict_command(Path("run"), ["a.csv"], out, 3, 8, True, False, True)
    words = "8 rows; outputs of the first 3 rows are used; seed 5"
    assert capsys.readouterr().out == f"forecast  {out} ({words})\n"
    with pytest.raises(ConfigError, match="which exists already"):
        predict_command(Path("run"), ["a.csv"], out, 3, 8, False, False, True)


def test_a_forecast_is_never_written_over_its_input(opened, tmp_path):
    path = tmp_path / "f.csv"
    for arguments in ([str(path)], ["a.csv", str(path)]):
        with pytest.raises(ConfigError, match="which is the input, expected another name"):
            predict_command(Path("run"), arguments, path, None, None, True, False, True)
    assert opened[0].asked == []


def test_an_evaluation_is_of_the_test_part_or_of_other_data(opened, monkeypatch, capsys):
    (run, more), scored = opened, []
    verdict = Verdict("use", (Reason("a", "b"),), "gpssm")
    shown = ["the table", verdict_text(verdict)]
    scoring = SimpleNamespace(to_json=lambda: {"a": 1}, shown=lambda: shown)
    folder = forecasting.open_folder(Path("run"))
    folder.score = lambda test, quiet: scored.append((test, quiet)) or scoring
    evaluate_command(Path("run"), [], True, True)
    assert json.loads(capsys.readouterr().out) == {"run": "run", "scores": {"a": 1}}
    evaluate_command(Path("run"), ["a.csv"], False)
    assert capsys.readouterr().out == "the table\nverdict use: b.\nnext    gpssm\n"
    assert scored == [(None, True), (more, False)]
    opened_again = ["prepare", Path("run")]
    read = (["a.csv"], "the settings", True)
    assert run.asked == [Path("run"), *opened_again, *opened_again, read]
