"""Every figure of the report as a whole: its lines, its colours, its axes, its words."""

import numpy as np
import pandas as pd
import pytest

from gpssm import Dataset, Forecast
from gpssm.evaluation.scoring import ARX, Stretch
from gpssm.metrics import Scored
from gpssm.metrics.reliability import LEVELS, HorizonBin
from gpssm.report import charts, traces

READ = "%{y:.4~g}"


def solid(x, y, name, color, width=1.6, dash="solid", **more):
    """A line, written out."""
    style = {"color": color, "width": width, "dash": dash}
    base = {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "line": style}
    return base | more


def area(x, low, high, name, color):
    """A band, written out."""
    base = {"type": "scatter", "mode": "lines", "x": x, "legendgroup": name}
    base |= {"line": {"width": 0, "color": color}}
    words = name + ": %{customdata:.4~g} to %{y:.4~g}<extra></extra>"
    return [
        {**base, "y": low, "showlegend": False, "hoverinfo": "skip"},
        {**base, "y": high, "customdata": low, "fill": "tonexty", "fillcolor": color,
         "name": name, "hovertemplate": words},
    ]  # fmt: skip


def titled(text, **more):
    return {"title": {"text": text}, **more}


def shaded(**place):
    return {"type": "rect", "line": {"width": 0}, "fillcolor": "@shade", "layer": "below", **place}


def level(y, color, dash):
    style = {"color": color, "width": 1, "dash": dash}
    return {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": y, "y1": y,
            "line": style}  # fmt: skip


# ---------------------------------------------------------------------- the forecast

ROWS = np.arange(16.0)


def of_inputs(*columns, warmup=3, rows=6, **more):
    """The figure of the second output, every second row of which was kept, at half a second."""
    u = np.stack(columns, axis=1) if columns else None
    names = [f"u{j}" for j in range(len(columns))]
    data = Dataset.from_arrays(
        np.stack([ROWS, 10.0 * ROWS], axis=1), u, sampling_time=0.5, input_names=names,
        output_names=("flow", "level"), output_units=("l", "cm"), input_units=["V"] * len(names),
    ).decimate(2)  # fmt: skip
    y = data[0].y[:rows]
    forecast = Forecast((y + 1.0)[None], np.ones(2), 0, warmup)
    bands = {0.95: (y - 2.0, y + 4.0), 0.5: (y, y + 2.0)}
    return charts.forecast_figure(Stretch(data[0], Scored(forecast, y)), bands, 1, data, **more)


def test_a_forecast_is_drawn_over_the_time_of_the_record_with_its_inputs_below():
    linear = np.full((6, 2), [7.0, 8.0])
    found = of_inputs(ROWS, -ROWS, linear=linear, most=4)  # every second row of six
    x, y = [0.0, 2.0, 4.0], np.array([0.0, 40.0, 80.0])
    held = {"hovertemplate": READ, "yaxis": "y2"}
    inputs = [
        solid(x, [0.0, 4.0, 8.0], "u0 [V]", "@green", 1.2, **held),
        solid(x, [0.0, -4.0, -8.0], "u1 [V]", "@purple", 1.2, **held),
    ]
    for each in inputs:
        each["line"]["shape"] = "hv"
    assert found["data"] == [
        *area(x, list(y - 2.0), list(y + 4.0), "95&#37; band", "@band95"),
        *area(x, list(y), list(y + 2.0), "50&#37; band", "@band50"),
        solid(x, [8.0] * 3, ARX, "@orange", dash="dash", hovertemplate=READ),
        solid(x, list(y + 1.0), "forecast", "@blue", hovertemplate=READ),
        solid(x, list(y), "measured", "@ink", 1.1, hovertemplate=READ),
        *inputs,
    ]
    shade = shaded(xref="x", yref="paper", x0=0.0, x1=2.0, y0=0, y1=1)
    assert found["layout"] == {
        "xaxis": titled("time [s]", anchor="y2"),
        "yaxis": titled("level [cm]", domain=[0.3, 1.0]),
        "yaxis2": titled("inputs", domain=[0.0, 0.22], anchor="x"),
        "hovermode": "x unified",
        "shapes": [shade],
    }


def test_a_single_input_names_its_axis_and_none_leaves_all_the_room():
    assert of_inputs(ROWS)["layout"]["yaxis2"]["title"] == {"text": "u0 [V]"}
    alone = of_inputs(warmup=0)["layout"]
    assert alone["yaxis"] == titled("level [cm]", domain=[0.0, 1.0])
    assert alone["xaxis"] == titled("time [s]")
    assert "yaxis2" not in alone
    assert (alone["shapes"][0]["x0"], alone["shapes"][0]["x1"]) == (0.0, 0.0)


def test_without_a_sampling_time_the_axis_counts_steps():
    data = Dataset.from_arrays(ROWS)
    forecast = Forecast(ROWS[None, :, None], np.ones(1), 0, 2)
    bands = dict.fromkeys((0.95, 0.5), (data[0].y, data[0].y))
    stretch = Stretch(data[0], Scored(forecast, data[0].y))
    found = charts.forecast_figure(stretch, bands, 0, data)
    assert found["layout"]["xaxis"] == titled("time step")
    assert found["data"][0]["x"] == list(ROWS)


@pytest.mark.parametrize(
    ("values", "near"),
    [([-1.99, 3.99], True), ([0.0, 4.0], False), ([-2.0, 1.0], False), ([1.0, np.nan], False)],
)
def test_a_line_is_near_within_once_the_range_of_the_others(values, near):
    others = [np.array([0.0, 1.0]), np.array([2.0, np.inf, np.nan])]
    assert charts.stays_near(np.array(values), others) is near


def test_beside_nothing_every_line_is_near():
    assert charts.stays_near(np.array([1e9]), [np.array([np.nan])]) is True


# ---------------------------------------------------------------------- the training


def test_the_training_has_a_panel_for_each_kind_of_term():
    x = np.arange(1.0, 5.0)
    table = pd.DataFrame({
        "elbo": x, "log_likelihood": 2 * x, "state_kl": 0 * x, "gradient_norm": 3 * x,
        "validation_rmse": [np.nan, np.nan, np.nan, 9.0], "entropy": [np.nan, 0.0, 0.0, 0.0],
    })  # fmt: skip
    found, height = charts.training_figure(table)
    steps = [0.0, 1.0, 2.0, 3.0]
    assert found["data"] == [
        solid(steps, [1.0, 2.0, 3.0, 4.0], "elbo", "@blue", yaxis="y"),
        solid(steps, [2.0, 4.0, 6.0, 8.0], "log likelihood", "@orange", yaxis="y"),
        solid(steps, [3.0, 6.0, 9.0, 12.0], "gradient norm", "@green", yaxis="y2"),
        solid([3.0], [9.0], "validation rmse", "@purple", yaxis="y3"),
    ]
    layout = found["layout"]
    for number, title, top, kind in (
        ("", "per step", 1.0, "linear"),
        ("2", "gradient", 2 / 3, "log"),
        ("3", "validation", 1 / 3, "linear"),
    ):
        panel = layout.pop(f"yaxis{number}")
        assert panel.pop("domain") == pytest.approx([top - 0.82 / 3, top])
        assert panel == titled(title, type=kind, anchor="x")
    assert layout == {"xaxis": titled("gradient step", anchor="y3"), "hovermode": "x"}
    assert height == 110 + 3 * 105


def test_every_term_has_its_panel_and_only_the_gradient_a_logarithm():
    terms = [
        ("per step", ["elbo", "log_likelihood"]), ("KL per step", ["state_kl", "initial_kl"]),
        ("KL of the GPs", ["inducing_kl", "smoother_kl"]), ("entropy", ["entropy"]),
        ("gradient", ["gradient_norm"]), ("rate", ["learning_rate"]),
        ("validation", ["validation_rmse", "validation_log_likelihood"]),
    ]  # fmt: skip
    names = [name for _, panel in terms for name in panel]
    found, _ = charts.training_figure(pd.DataFrame({name: [1.0, 2.0] for name in names}))
    assert [each["name"] for each in found["data"]] == [name.replace("_", " ") for name in names]
    axes = [each for name, each in found["layout"].items() if name.startswith("yaxis")]
    assert [each["title"]["text"] for each in axes] == [title for title, _ in terms]
    assert [each["type"] for each in axes] == ["linear"] * 4 + ["log"] + ["linear"] * 2


def test_a_single_panel_and_no_panel_at_all():
    found, height = charts.training_figure(pd.DataFrame({"learning_rate": [0.1, 0.2]}))
    assert found["layout"]["xaxis"] == titled("gradient step", anchor="y")
    assert found["layout"]["yaxis"]["domain"] == pytest.approx([0.18, 1.0])
    assert (found["layout"]["yaxis"]["title"], height) == ({"text": "rate"}, 215)
    pair = pd.DataFrame({"learning_rate": [0.1, 0.2], "entropy": [1.0, 2.0]})
    assert charts.training_figure(pair)[0]["layout"]["xaxis"]["anchor"] == "y2"
    empty, height = charts.training_figure(pd.DataFrame({"elbo": [0.0, 0.0]}))
    assert (empty["data"], height) == ([], 110)


def test_a_long_training_is_smoothed_over_a_two_hundredth_and_thinned_to_400_points():
    values = np.arange(1000.0)
    values[500] = np.inf
    found, _ = charts.training_figure(pd.DataFrame({"elbo": values}))
    (curve,) = found["data"]
    assert curve["x"] == list(np.arange(0.0, 1000.0, 3.0))
    assert curve["y"][:2] == [1.0, 3.0]  # of three rows, as there is nothing before; of five
    assert curve["y"][166:168] == [497.5, 501.25]  # of four: what is infinite is left out


@pytest.mark.parametrize(("known", "shown"), [(5, 10), (4, 4)])
def test_scores_that_half_of_the_steps_have_are_a_curve_and_fewer_are_points(known, shown):
    values = np.where(np.arange(10) < known, 2.0, np.nan)
    (curve,) = charts.training_figure(pd.DataFrame({"entropy": values}))[0]["data"]
    assert len(curve["x"]) == shown


# ---------------------------------------------------------------------- calibration


def test_the_coverage_is_drawn_beside_the_ideal():
    shares = 0.5 * LEVELS
    found = charts.coverage_figure({"level": shares, "flow": LEVELS})
    words = {"hovertemplate": "%{x:.0%} band covers %{y:.1%}<extra></extra>"}
    marked = {"mode": "lines+markers", "marker": {"size": 5}}
    x = [round(0.05 * i, 2) for i in range(1, 20)]
    assert found["data"] == [
        solid([0.0, 1.0], [0.0, 1.0], "ideal", "@muted", 1, "dot", hoverinfo="skip"),
        solid(x, pytest.approx([0.5 * each for each in x]), "level", "@blue", **words) | marked,
        solid(x, x, "flow", "@orange", **words) | marked,
    ]
    percent = {"range": [0, 1], "tickformat": ".0%"}
    assert found["layout"] == {
        "xaxis": titled("level of the band", **percent),
        "yaxis": titled("measurements inside", **percent),
    }


def test_the_histogram_has_its_density_and_its_limits():
    found = charts.pit_figure(np.array([0.1, 0.2, 0.3, 0.9]), bins=2)
    (bars,), limit = found["data"], 1.96 * np.sqrt(1 / 4)
    assert bars == {
        "type": "bar", "x": [0.25, 0.75], "y": [1.5, 0.5], "marker": {"color": "@blue"},
        "name": "measurements", "hovertemplate": "%{y:.2f}<extra></extra>",
    }  # fmt: skip
    shapes = found["layout"].pop("shapes")
    wanted = [(1.0, "solid"), (1.0 - limit, "dot"), (1.0 + limit, "dot")]
    assert shapes == [level(pytest.approx(y), "@ink", dash) for y, dash in wanted]
    assert found["layout"] == {
        "xaxis": titled("P(Y &lt; measured)", range=[0, 1]),
        "yaxis": titled("density", rangemode="tozero"),
        "bargap": 0.06,
        "showlegend": False,
    }
    assert len(charts.pit_figure(np.array([0.5]))["data"][0]["x"]) == 10


def test_the_error_is_drawn_over_the_horizon_beside_that_of_the_linear_model():
    profile = [HorizonBin(1, 4, 4, 2.0, 3.92, 0.9), HorizonBin(5, 10, 6, 3.0, 7.84, 1.0)]
    linear = [HorizonBin(1, 10, 10, 5.0, 1.0, 0.5)]
    found = charts.horizon_figure(profile, linear, "RMSE [cm]")
    x, words = [2.5, 7.5], {"hovertemplate": "steps %{text}: %{y:.4~g}", "text": ["1–4", "5–10"]}
    marked = {"mode": "lines+markers", "marker": {"size": 5}}
    covered = {"yaxis": "y2", "hovertemplate": "95 % band covers %{y:.0%}"}
    assert found["data"] == [
        solid(x, [2.0, 3.0], "RMSE", "@blue", **words),
        solid(x, [1.0, 2.0], "implied by the band", "@blue", dash="dot", **words),
        solid([5.5], [5.0], f"RMSE, {ARX}", "@orange", dash="dash"),
        solid(x, [0.9, 1.0], "coverage", "@purple", **covered) | marked,
    ]
    assert found["layout"] == {
        "xaxis": titled("steps after the warm-up", anchor="y2"),
        "yaxis": titled("RMSE [cm]", domain=[0.4, 1.0], rangemode="tozero"),
        "yaxis2": titled(
            "covered", domain=[0.0, 0.3], tickformat=".0%", anchor="x", range=[0, 1.05]
        ),
        "hovermode": "x unified",
        "shapes": [{**level(0.95, "@muted", "dot"), "yref": "y2"}],
    }


def test_correlations_beyond_the_limit_are_red_but_for_lag_zero():
    values = np.array([0.1, 0.5, -0.4, 0.2])
    found = charts.correlation_figure(np.array([-1, 0, 1, 2]), values, 0.2, "lag")
    (bars,) = found["data"]
    assert (bars["x"], bars["y"]) == ([-1.0, 0.0, 1.0, 2.0], list(values))
    assert bars["marker"] == {"color": ["@blue", "@blue", "@red", "@blue"]}
    assert bars["name"] == "correlation"
    assert bars["hovertemplate"] == "lag %{x}: %{y:.3f}<extra></extra>"
    inside = shaded(xref="paper", yref="y", x0=0, x1=1, y0=-0.2, y1=0.2)
    assert found["layout"].pop("yaxis") == titled("correlation", range=pytest.approx([-0.55, 0.55]))
    assert found["layout"] == {
        "xaxis": titled("lag"), "shapes": [inside], "showlegend": False, "bargap": 0.35,
    }  # fmt: skip
    low = charts.correlation_figure(np.array([1, 2]), np.array([-0.3, 0.1]), 0.2, "lag")["layout"]
    assert low["yaxis"]["range"] == pytest.approx([-0.44, 0.44])  # twice the limit, and a little


# ---------------------------------------------------------------------- what was learned


def test_a_slice_has_its_band_and_ticks_where_the_states_have_been():
    grid, mean, std = np.arange(3.0), np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0])
    found = charts.slice_figure(grid, mean, std, np.arange(5.0), ("level [cm]", "pump [V]"), 2)
    low, high = [0.02, 0.04, -0.92], [1.98, 3.96, 6.92]
    x = [0.0, 1.0, 2.0]
    assert found["data"] == [
        *area(x, low, high, "95 &#37; band", "@band95"),
        solid(x, [1.0, 2.0, 3.0], "mean", "@blue", hovertemplate=READ),
        {
            "type": "scatter", "mode": "markers", "x": [0.0, 3.0], "y": [-0.92, -0.92],
            "name": "visited", "hoverinfo": "skip",
            "marker": {"symbol": "line-ns-open", "size": 7, "color": "@muted"},
        },
    ]  # fmt: skip
    assert found["layout"] == {
        "xaxis": titled("pump [V]"),
        "yaxis": titled("change of level [cm] per step"),
        "hovermode": "x unified",
    }


def test_inducing_inputs_are_diamonds_beside_the_path_of_the_states():
    visited = np.stack([np.arange(5.0), 10.0 * np.arange(5.0)], axis=1)
    found = charts.inducing_figure(visited, np.array([[7.0, 8.0]]), ("across", "up"), 2)
    assert found["data"] == [
        solid([0.0, 3.0], [0.0, 30.0], "states", "@blue", 1, hoverinfo="skip"),
        {
            "type": "scatter", "mode": "markers", "x": [7.0], "y": [8.0],
            "name": "inducing inputs", "hovertemplate": "%{x:.4~g}, %{y:.4~g}<extra></extra>",
            "marker": {"symbol": "diamond", "size": 8, "color": "@orange"},
        },
    ]  # fmt: skip
    assert found["layout"] == {"xaxis": titled("across"), "yaxis": titled("up")}


# ---------------------------------------------------------------------- pieces of all of them


def test_numbers_have_five_digits_and_gaps_where_there_is_none():
    assert traces.numbers([1, None, 1.2345678, -np.inf]) == [1.0, None, 1.2346, None]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 48, "x" * 48),
        ("x" * 49, "x" * 47 + "…"),
        (" a\nb\t ", "a b"),
        ("<b>&%$", "&lt;b&gt;&amp;&#37;&#36;"),
    ],
)
def test_a_name_in_a_chart_is_plain_and_short(text, shown):
    assert traces.plain(text) == shown


def test_more_lines_than_colours_begin_again():
    colors = [traces.series_color(i) for i in range(7)]
    assert colors == ["@blue", "@orange", "@green", "@purple", "@red", "@teal", "@blue"]


def test_a_chart_names_its_variants_by_the_places_of_the_choices():
    chart = traces.Chart("one", {(): {"a": 1}, (1, 2): {"b": 2}})
    assert chart.to_json() == {"height": 320, "variants": {"": {"a": 1}, "1|2": {"b": 2}}}
