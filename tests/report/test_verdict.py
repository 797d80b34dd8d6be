"""The verdict, from both sides of each of its thresholds."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from gpssm import Dataset, Forecast, RunConfig
from gpssm.base.json_text import as_json
from gpssm.cli import app
from gpssm.data import Experiment
from gpssm.evaluation.scoring import ARX, MEAN, Evaluation, Stretch
from gpssm.metrics import Scored, score
from gpssm.metrics.reliability import HorizonBin
from gpssm.report import html, verdict
from gpssm.report.summary import calibration
from gpssm.report.verdict import Evidence, Whiteness, decide, gather, not_tested, whiteness
from gpssm.workflow.configuration import DataConfig
from gpssm.workflow.next_steps import next_commands

GOOD = Evidence(
    rmse=0.5,
    mean=4.0,
    linear=1.0,
    coverage={"level": 0.95, "flow": 0.94},
    measured=500,
    outside={"pump": 0.0},
    innovations={"level": Whiteness(0.5, 0.05)},
)
TINY = 1e-9


def causes(**changes):
    found = decide(GOOD._replace(**changes))
    return found.level, [each.cause for each in found.reasons]


def test_nothing_against_it():
    assert causes() == ("use", ["accurate"])
    assert "50 % below that of a linear ARX" in str(decide(GOOD))
    assert "covers 94 % of the measurements" in str(decide(GOOD))


@pytest.mark.parametrize(
    ("rmse", "mean", "linear", "level", "cause"),
    [
        (2.0 + TINY, 2.0, 3.0, "do not use", "mean"),
        (2.0, 2.0, 3.0, "use with care", "mean"),  # no better
        (2.0 - TINY, 2.0, 3.0, "use", "accurate"),
        (1.05 + TINY, 9.0, 1.0, "do not use", "linear"),
        (1.05, 9.0, 1.0, "use with care", "linear"),
        (1.05 - TINY, 9.0, 1.0, "use with care", "linear"),
        (1.0, 9.0, 1.0, "use with care", "linear"),
        (1.0 - TINY, 9.0, 1.0, "use", "accurate"),
        (1.0, 9.0, np.inf, "use", "accurate"),  # the linear model diverges
        (1.0, 9.0, np.nan, "use", "accurate"),
    ],
)
def test_the_error_beside_the_baselines(rmse, mean, linear, level, cause):
    assert causes(rmse=rmse, mean=mean, linear=linear) == (level, [cause])


@pytest.mark.parametrize(
    ("coverage", "level"),
    [
        (0.70 - TINY, "do not use"),
        (0.70, "use with care"),
        (0.85 - TINY, "use with care"),
        (0.85, "use"),
        (0.995, "use"),
        (0.995 + TINY, "use with care"),
    ],
)
def test_the_coverage_of_the_worst_output(coverage, level):
    found, reasons = causes(coverage={"flow": 0.95, "level": coverage})
    assert (found, reasons) == (level, ["accurate" if level == "use" else "coverage"])


def test_an_interval_is_too_wide_only_for_enough_measurements():
    assert causes(coverage={"level": 1.0}, measured=30)[1] == ["coverage"]
    assert causes(coverage={"level": 1.0}, measured=29)[1] == ["few rows"]
    assert causes(coverage={"level": 0.8}, measured=29)[1] == ["few rows", "coverage"]


def test_the_coverage_names_the_output_that_is_furthest_off():
    found = decide(GOOD._replace(coverage={"flow": 0.8, "level": 1.0}))
    assert "of flow covers 80.0 % of its measurements: it is too narrow" in str(found)
    found = decide(GOOD._replace(coverage={"flow": 0.9, "level": 1.0}))
    assert "of level covers 100.0 % of its measurements: it is too wide" in str(found)


@pytest.mark.parametrize(
    ("coverage", "worst", "mark", "kind"),
    [
        ((0.96, 0.96, 0.6), "c", "problem", "narrow"),  # 84 % of all measurements
        ((0.8, 0.95, 1.0), "a", "caution", "narrow"),
        ((0.89, 0.95, 1.0), "c", "caution", "wide"),
        ((0.95, 0.93, 0.96), "b", "good", "fine"),
    ],
)
def test_verdict_and_finding_speak_of_the_same_output(coverage, worst, mark, kind):
    found = GOOD._replace(coverage=dict(zip("abc", coverage, strict=True)))
    share = found.coverage[worst]
    assert found.worst_covered == worst
    said = calibration(share, [HorizonBin(1, 40, 400, 1.0, 4.0, share)], worst)
    assert (said.mark, said.kind) == (mark, kind)
    wanted = {"good": "use", "caution": "use with care", "problem": "do not use"}[mark]
    assert decide(found).level == wanted
    assert mark == "good" or f"interval of {worst} covers" in str(decide(found))


@pytest.mark.parametrize(("share", "level"), [(0.01, "use"), (0.01 + TINY, "use with care")])
def test_inputs_outside_of_the_training_range(share, level):
    assert causes(outside={"pump": share, "valve": 0.0})[0] == level


@pytest.mark.parametrize(
    ("p_value", "largest", "level"),
    [
        (0.01 - TINY, 0.2 + TINY, "use with care"),
        (0.01, 0.2 + TINY, "use"),
        (0.01 - TINY, 0.2, "use"),
        (0.0, 0.9, "use with care"),
        (0.5, 0.9, "use"),  # few errors
        (0.0, 0.1, "use"),  # many errors: significant and small
    ],
)
def test_innovations_need_a_p_value_and_a_size(p_value, largest, level):
    assert causes(innovations={"level": Whiteness(p_value, largest)})[0] == level


@pytest.mark.parametrize(("measured", "level"), [(30, "use"), (29, "use with care")])
def test_a_positive_verdict_needs_measurements(measured, level):
    assert causes(measured=measured)[0] == level


def test_an_output_that_is_constant_in_training_is_never_praised():
    found = decide(GOOD._replace(constant=("level",)))
    assert found.level == "use with care"
    assert "below" not in str(found)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    assert causes(rmse=bad) == ("do not use", ["diverged"])
    assert causes(coverage={"level": bad}) == ("do not use", ["diverged"])
    assert causes(finite=False) == ("do not use", ["diverged"])


def test_a_refusal_keeps_to_what_refuses():
    found = causes(rmse=27.0, mean=10.8, linear=3.0, coverage={"y": 0.4}, outside={"u": 0.9})
    assert found == ("do not use", ["mean", "coverage"])
    words = str(decide(GOOD._replace(rmse=27.0, mean=10.8, unit=" cm")))
    assert words == "do not use: its RMSE of 27 cm is above the 10.8 of a constant mean."


def test_without_a_test_part():
    assert not_tested().level == "not tested"
    assert not_tested({"more test rows": "gpssm fit x"}).next_step == "gpssm fit x"


@pytest.mark.parametrize(
    ("own", "linear", "learned"),
    [
        (1.05, 1.0, True),
        (1.05 + TINY, 1.0, False),
        (None, 1.0, True),
        (9.0, None, True),
        (np.nan, 1.0, True),
    ],
)
def test_a_model_has_learned_its_own_rows_as_well_as_a_linear_one(own, linear, learned):
    assert verdict._has_learned(own, linear) == learned


def test_every_cause_has_its_next_step():
    commands = {remedy: remedy for remedy in set(verdict._REMEDIES.values())}
    for changes, remedy in (
        ({"rmse": 9.0}, "restart"),
        ({"rmse": 9.0, "outside": {"pump": 0.3}}, "look"),
        ({"rmse": 9.0, "outside": {"pump": 0.3}, "learned": False}, "restart"),
        ({"coverage": {"level": 0.5}, "outside": {"pump": 0.3}}, "calibrate"),
        ({"coverage": {"y": 0.5}}, "calibrate"),
        ({"innovations": {"y": Whiteness(0.0, 0.9)}}, "more states"),
        ({"measured": 3}, "more test rows"),
        ({"outside": {"u": 0.5}}, "look"),
        ({}, "forecast"),
    ):
        assert decide(GOOD._replace(**changes), commands).next_step == remedy


def test_the_json_has_stable_names():
    content = json.loads(as_json(decide(GOOD).to_json()))
    assert set(content) == {"level", "reasons", "next_step"}
    assert set(content["reasons"][0]) == {"cause", "text"}


def test_the_page_escapes_names_and_colours_the_level():
    found = decide(GOOD._replace(coverage={"<b>": 0.5}), {"calibrate": "gpssm fit 'a<b'"})
    text = html.verdict(found)
    assert 'class="verdict do-not-use"' in text
    assert "&lt;b&gt;" in text
    assert "<b>:" not in text
    assert "<span>gpssm</span> <span>fit</span> <span>&#x27;a&lt;b&#x27;</span></code>" in text
    style = Path(html.__file__).with_name("page.css").read_text(encoding="utf-8")
    for level in ("do-not-use", "use-with-care", "use", "not-tested"):
        assert re.search(rf"\.verdict\.{level} {{ color: var\(--\w+\)", style)


# ---------------------------------------------------------------------- from forecasts


def forecast_of(y, error):
    """An evaluation whose forecasts are off by so much, with an interval of ± 1.96."""
    forecast = Forecast((y + np.asarray(error))[None], np.ones(y.shape[1]), 0, 2)
    scores = score([forecast.after(2).sample(y[2:], np.ones(y.shape[1]))])
    return Evaluation((Stretch(Experiment.of(y), Scored(forecast, y)),), scores, 2)


def test_the_evidence_is_that_of_the_forecasts():
    rng = np.random.default_rng(0)
    y, u = rng.standard_normal((60, 2)), rng.uniform(size=60)
    u[:2], u[50:] = [0.0, 1.0], 3.0
    y[10:20, 1] = np.nan
    y[:40, 0] = 5.0
    data = Dataset.from_arrays(y, u, input_names=["pump"]).split_at(40)
    test = data.test[0].y
    off = forecast_of(test, np.array([0.1, 3.0]))
    baselines = {MEAN: forecast_of(test, [2.0, 2.0]), ARX: forecast_of(test, [1.0, 1.0])}
    errors = np.cumsum(rng.standard_normal((200, 2)), axis=0)
    errors[:, 1] = rng.standard_normal(200)
    found = gather(off, baselines, data.train, data.test, [errors])
    assert found.coverage == {"y1": 1.0, "y2": 0.0}
    assert found.rmse == pytest.approx(np.sqrt((0.01 + 9.0) / 2))
    assert (found.mean, found.linear) == (pytest.approx(2.0), pytest.approx(1.0))
    assert found.outside == {"pump": 0.5}
    assert found.constant == ("y1",)
    assert found.measured == 18
    assert found.finite
    assert (found.label, found.unit) == ("normalised RMSE of all outputs", "")
    assert {name: each.is_white for name, each in found.innovations.items()} == {
        "y1": False, "y2": True,
    }  # fmt: skip
    assert gather(off, baselines, data.train, data.test, []).innovations == {}


def test_an_output_without_measurements_has_no_say():
    y = np.random.default_rng(0).standard_normal((60, 2))
    y[:, 1] = np.where(np.arange(60) < 40, y[:, 1], np.nan)
    data = Dataset.from_arrays(y, None).split_at(40)
    off = forecast_of(data.test[0].y, np.array([0.1, 3.0]))
    found = gather(off, {MEAN: off, ARX: off}, data.train, data.test, [])
    assert list(found.coverage) == ["y1"]
    assert found.measured == 18
    assert found.finite
    assert gather(off, {MEAN: off, ARX: off}, data.train, data.test, [y]).innovations.keys() == {
        "y1"
    }
    lost = replace(off, scores=replace(off.scores, values={
        **off.scores.values, "log_likelihood": np.array([np.nan, 0.0])
    }))  # fmt: skip
    assert not gather(lost, {MEAN: off, ARX: off}, data.train, data.test, []).finite


@pytest.mark.parametrize(("unit", "wanted"), [("cm", " cm"), ("", "")])
def test_the_error_of_a_single_output_has_its_unit(unit, wanted):
    y = np.random.default_rng(0).standard_normal((60, 1))
    data = Dataset.from_arrays(y, None, output_units=[unit]).split_at(40)
    off = forecast_of(data.test[0].y, np.array([0.1]))
    found = gather(off, {MEAN: off, ARX: off}, data.train, data.test, [])
    assert (found.label, found.unit) == ("RMSE", wanted)


@pytest.mark.parametrize(("rows", "lags"), [(200, 25), (103, 25), (40, 10), (43, 10)])
def test_errors_are_correlated_over_a_quarter_of_their_number_but_25_lags_at_most(rows, lags):
    for apart, seen in ((lags, True), (lags + 1, False)):
        errors = np.zeros(rows)
        errors[[2, 2 + apart]] = 1.0
        assert bool(whiteness([errors]).largest > 0.3) is seen
        gapped = np.concatenate([errors, np.full(300, np.nan)])
        assert bool(whiteness([gapped]).largest > 0.3) is seen


def test_words_of_every_reason():
    for changes, words in (
        ({"linear": np.inf}, "its RMSE of 0.5 is 88 % below that of a constant mean, and its 95 % "
         "interval covers 94 % of the measurements"),
        ({"rmse": 1.06}, "its RMSE of 1.06 is above the 1 of a linear ARX"),
        ({"rmse": 1.0}, "its RMSE of 1 is not below the 1 of a linear ARX"),
        ({"rmse": 1.0, "mean": 1.0, "linear": np.inf}, "its RMSE of 1 is not below the 1 of a "
         "constant mean"),
        ({"measured": 29}, "29 measurements of an output in the test part are too few to tell (30 "
         "are needed)"),
        ({"constant": ("a", "b")}, "a is constant in training: nothing was learned; b is constant "
         "in training: nothing was learned"),
        ({"outside": {"a": 0.02, "b": 0.3, "c": 0.1}}, "30 % of the test values of b (and of 2 "
         "more inputs) lie outside of the training range"),
        ({"outside": {"a": 0.02}}, "2 % of the test values of a lie outside of the training range"),
        ({"innovations": {"a": Whiteness(0.0, 0.3), "b": Whiteness(0.0, 0.456)}}, "one-step errors "
         "of b are not white (autocorrelation up to 0.46, p < 0.01)"),
        ({"coverage": {"a": 0.94, "b": 0.6}}, "the 95 % interval of b covers 60.0 % of its "
         "measurements: it is too narrow"),
        ({"finite": False}, "its forecasts diverge: their scores are not finite"),
        ({"label": "normalised RMSE", "unit": " cm", "rmse": 9.0}, "its normalised RMSE of 9 cm is "
         "above the 4 of a constant mean"),
    ):  # fmt: skip
        found = decide(GOOD._replace(**changes))
        assert str(found) == f"{found.level}: {words}."
        assert found.to_json() == {
            "level": found.level, "reasons": [each._asdict() for each in found.reasons],
            "next_step": "",
        }  # fmt: skip


def test_of_two_outputs_inside_of_the_limits_the_one_further_off_is_named():
    assert GOOD._replace(coverage={"a": 0.94, "b": 0.99}).worst_covered == "b"
    assert GOOD._replace(coverage={"a": 0.90, "b": 0.99}).worst_covered == "a"


def test_small_correlations_of_many_errors_are_white_enough():
    rng = np.random.default_rng(0)
    errors = rng.standard_normal(20_000)
    errors[1:] += 0.1 * errors[:-1]
    found = whiteness([errors])
    assert found.p_value < 1e-6
    assert found.is_white
    assert not whiteness([np.cumsum(errors)]).is_white
    assert whiteness([errors[:3]]).is_white


# ---------------------------------------------------------------------- commands


def config(**data):
    return RunConfig(data=DataConfig(**data), model={"dim_x": 4}, training={"steps": 70})


def test_commands_can_be_run_as_they_stand():
    """They are parsed by the shell and by the command line."""
    path = Path("runs/a 'b")
    found = next_commands(path, config(files=("/data/x y.csv",), outputs=("y",)))
    for line in found.values():
        words = shlex.split(line)
        assert words[0] == "gpssm"
        command = get_command(app).commands[words[1]]
        command.make_context(words[1], words[2:], resilient_parsing=False)
    assert shlex.split(found["restart"])[-4:] == ["--starts", "3", "--out", "runs/a 'b-starts-3"]
    assert shlex.split(found["more states"])[4:6] == ["--dim-x", "5"]
    assert shlex.split(found["more test rows"])[4:6] == ["--test-fraction", "0.5"]
    assert shlex.split(found["forecast"])[3] == "/data/x y.csv"


def test_the_folder_may_be_the_current_one():
    refit = shlex.split(next_commands(Path(), config(files=("y.csv",), outputs=("y",)))["restart"])
    assert refit[-1] == f"{Path.cwd()}-starts-3"


def test_what_was_tried_already_is_not_the_next_step():
    path, plain = Path("runs/a"), config(name="two_tanks")
    tried = plain.replace(training={"starts": 3, "steps": 70}, calibration_folds=3)
    assert "--steps 140" in next_commands(path, tried)["restart"]
    assert "--steps 140" in next_commands(path, tried)["calibrate"]
    long = tried.replace(training={"starts": 3, "steps": 600_000})
    assert shlex.split(next_commands(path, long)["restart"])[4:6] == ["--steps", "1200000"]
    assert next_commands(path, plain)["more test rows"] == "gpssm report runs/a"
    in_python = next_commands(path, config())
    assert set(in_python.values()) == {"gpssm report runs/a"}
