"""Figures from numbers: which lines they have, and what the reader sees at first."""

import numpy as np
import pandas as pd
import pytest

from gpssm import Dataset, Forecast
from gpssm.data import Experiment
from gpssm.evaluation.scoring import ARX, Stretch
from gpssm.metrics import Scored
from gpssm.report import charts, report_charts

T = np.arange(20.0)


def figure(linear):
    """The forecast of a ramp, beside that of a linear model."""
    y = T[:, None]
    forecast = Forecast(y[None] + 0.1, np.array([0.5]), 0, 4, ("level",))
    data = Dataset.from_arrays(y, y, name="ramp")
    bands = {level: forecast.interval(level) for level, _ in charts.BANDS}
    stretch = Stretch(Experiment.of(y, y), Scored(forecast, y))
    return charts.forecast_figure(stretch, bands, 0, data, linear)


def trace(found, name):
    return next(each for each in found["data"] if each.get("name") == name)


def test_the_linear_forecast_is_a_line_of_its_own_that_the_legend_switches():
    linear = trace(figure(T[:, None] + 1.0), ARX)
    assert linear["y"] == list(T + 1.0)
    assert linear.get("showlegend", True)
    assert "legendgroup" not in linear
    assert "visible" not in linear  # shown from the start


@pytest.mark.parametrize("last", [1e6, np.inf, np.nan])
def test_a_linear_forecast_that_diverges_waits_in_the_legend(last):
    values = T.copy()
    values[-1] = last
    assert trace(figure(values[:, None]), ARX)["visible"] == "legendonly"


def test_bands_of_50_and_95_percent_have_colours_of_their_own():
    bands = [each for each in figure(None)["data"] if each.get("fill") == "tonexty"]
    assert [each["name"] for each in bands] == ["95&#37; band", "50&#37; band"]
    assert len({each["fillcolor"] for each in bands}) == 2
    wide, narrow = (np.array(each["y"]) - np.array(each["customdata"]) for each in bands)
    np.testing.assert_allclose(wide / narrow, 1.95996 / 0.67449, rtol=2e-3)


def test_a_line_has_no_more_points_than_its_share():
    y = T[:, None]
    forecast = Forecast(y[None], np.array([0.5]), 0, 4, ("level",))
    bands = {level: forecast.interval(level) for level, _ in charts.BANDS}
    stretch = Stretch(Experiment.of(y, y), Scored(forecast, y))
    data = Dataset.from_arrays(y, y, name="ramp")
    found = charts.forecast_figure(stretch, bands, 0, data, y, 5)
    assert {len(each["x"]) for each in found["data"]} == {5}


def test_no_two_lines_of_the_forecast_have_the_same_colour():
    found = figure(T[:, None])["data"]
    colors = [each["line"]["color"] for each in found if each.get("showlegend", True)]
    assert len(set(colors)) == len(colors)


@pytest.mark.parametrize(("outputs", "shown"), [(1, 30), (2, 30), (3, 20), (6, 10), (70, 1)])
def test_a_page_shows_no_more_experiments_than_it_has_room_for(outputs, shown):
    scored = Scored(Forecast(T[None, :, None], np.ones(1), 0, 2), T[:, None])
    every = tuple(Stretch(Experiment.of(T, name=f"run {i}"), scored) for i in range(30))
    assert report_charts.shown_stretches(every, outputs) == every[:shown]


def test_every_panel_of_the_training_has_an_axis_with_its_title():
    steps = np.arange(5.0)
    table = pd.DataFrame({"elbo": steps, "state_kl": steps, "gradient_norm": 1.0 + steps})
    found, _ = charts.training_figure(table)
    titles = [axis["title"]["text"] for name, axis in found["layout"].items() if "yaxis" in name]
    used = {line["yaxis"].replace("y", "yaxis") for line in found["data"]}
    assert used <= set(found["layout"])
    assert len(titles) == len(set(titles)) == len(used) > 1


def test_shares_of_calibration_are_drawn_over_their_whole_range():
    layout = charts.coverage_figure({"level": charts.LEVELS})["layout"]
    for name in ("xaxis", "yaxis"):
        assert layout[name]["range"] == [0, 1]
        assert layout[name]["tickformat"] == ".0%"
