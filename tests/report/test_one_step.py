"""One-step errors of known processes, beside those of holding the last value."""

import io
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from rich.console import Console

from gpssm import Dataset, Run
from gpssm.belief.tellings import Telling
from gpssm.evaluation.scoring import ARX, Evaluation
from gpssm.linear.arx import ArxOrder, fit_arx
from gpssm.metrics.residuals import ljung_box
from gpssm.report import html
from gpssm.report.one_step import (
    HELD,
    P_VALUE,
    OneStep,
    one_step_scores,
    one_step_table,
    score_table,
)
from gpssm.report.report_data import Residuals, one_step_errors
from support_report import make_given, make_residuals

WARMUP = 16


@pytest.fixture(scope="module")
def process():
    """y[t] = 0.6 y[t−1] + u[t−1] + e[t], e ~ N(0, 0.2²), with a gap."""
    rng = np.random.default_rng(1)
    u, e = rng.standard_normal((4000, 1)), 0.2 * rng.standard_normal((4000, 1))
    y = np.zeros((4000, 1))
    for t in range(1, len(y)):
        y[t] = 0.6 * y[t - 1] + u[t - 1] + e[t]
    gapped = y.copy()
    gapped[100:110] = np.nan
    return u, y, gapped, e


def test_the_last_value_is_held_over_gaps_and_the_linear_model_finds_the_noise(process):
    u, y, gapped, e = process
    linear = fit_arx(Dataset.from_arrays(y, u), ArxOrder(1, 1, 1e-9))
    errors = np.where(np.isnan(gapped), np.nan, e)[WARMUP:]
    (found,) = one_step_scores(Residuals([errors], [u[WARMUP:]], [(u, gapped)]), linear, "model")
    held = gapped[1:, 0] - gapped[:-1, 0]
    held[109] = gapped[110, 0] - gapped[99, 0]  # the last one before the gap
    held = held[WARMUP - 1 :]
    assert found.rmse[HELD] == pytest.approx(np.sqrt(np.nanmean(held**2)))
    assert found.rmse["model"] == pytest.approx(0.2, rel=0.05)
    assert found.rmse[ARX] == pytest.approx(0.2, rel=0.05)
    assert found.p_value > 0.01


def test_errors_that_the_past_explains_are_not_white(process):
    u, y, *_ = process
    (found,) = one_step_scores(Residuals([y[WARMUP:]], [u[WARMUP:]], [(u, y)]), None, "model")
    assert found.p_value < 1e-6
    assert ARX not in found.rmse


def test_the_table_and_the_json_name_all_models():
    first = OneStep({"cbf-ssm-50": 0.25, HELD: 1.5, ARX: 0.125}, 0.0004)
    second = OneStep({"cbf-ssm-50": 2.0, HELD: 3.0, ARX: np.nan}, 0.25)
    assert (first.best, second.best) == (ARX, "cbf-ssm-50")
    assert OneStep({"cbf-ssm-50": np.inf}, 1.0).best is None
    rmse = {"model": 0.25, "last_value_held": 1.5, "linear_arx": 0.125}
    assert first.to_json() == {"rmse": rmse, "p_value": 0.0004}
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(one_step_table([first, second], ["level [cm]", "flow"]))
    text = console.export_text()
    lines = [[cell.strip() for cell in line.split("│")] for line in text.split("\n")]
    assert ["", "level [cm]", "0.25", "1.5", "0.125", "< 0.001", ""] in lines
    assert ["", "flow", "2", "3", "nan", "0.25", ""] in lines
    assert text.index("cbf-ssm-50") < text.index(HELD) < text.index(ARX) < text.index("p (white)")


def _filter(_, y):
    """Wrong by 0.5 in every row, where 0.25 is expected."""
    ones, known = np.ones_like(y), ~np.isnan(y)
    rows = Telling(y + 0.5, 0.25 * ones, 0.5 * ones, 4.0 * known.sum(axis=1), ones[:, 0], known)
    return SimpleNamespace(rows=rows)


def test_errors_after_the_warm_up_are_those_of_a_filter():
    y = np.arange(60.0).reshape(30, 2)
    y[20, 1] = np.nan
    forecast = SimpleNamespace(warmup=WARMUP)
    long = SimpleNamespace(u=np.zeros((30, 1)), scored=SimpleNamespace(y=y, forecast=forecast))
    unseen = SimpleNamespace(
        u=np.zeros((30, 1)), scored=SimpleNamespace(y=np.full((30, 2), np.nan), forecast=forecast)
    )
    run = Mock(spec=Run, filter=_filter)
    found = one_step_errors(run, Mock(spec=Evaluation, stretches=(long, unseen)))
    (errors,) = found.errors
    assert errors.shape == (30 - WARMUP, 2)
    assert np.isnan(errors[20 - WARMUP, 1])
    assert np.nanmin(errors) == np.nanmax(errors) == -0.5
    assert found.nis == 4.0
    assert found.inputs[0].shape == (30 - WARMUP, 1)
    assert one_step_errors(run, Mock(spec=Evaluation, stretches=(unseen,))) is None


def test_of_a_long_record_the_first_five_thousand_rows_are_looked_at():
    u, y = np.arange(5100.0)[:, None], np.ones((5100, 1))
    scored = SimpleNamespace(y=y, forecast=SimpleNamespace(warmup=WARMUP))
    stretches = (SimpleNamespace(u=u, scored=scored),)
    found = one_step_errors(
        Mock(spec=Run, filter=_filter), Mock(spec=Evaluation, stretches=stretches)
    )
    assert found.errors[0].shape == (5000 - WARMUP, 1)
    np.testing.assert_array_equal(found.inputs[0], u[WARMUP:5000])
    np.testing.assert_array_equal(found.records[0][0], u[:5000])
    np.testing.assert_array_equal(found.records[0][1], y[:5000])


def test_the_table_has_a_row_for_each_output_and_the_lowest_error_in_bold():
    """All models on the rows where all are known; without a last value there is none to hold."""
    residuals = make_residuals()
    first = residuals.errors[0]
    first[5, 0] = residuals.records[0][1][8, 0] = np.nan
    first[:, 1] = 0.1 * np.sin(np.arange(40.0))  # small, and not white
    values = {"pr-ssm": [[], []], HELD: [[], []]}
    for errors, (_, y) in zip(residuals.errors, residuals.records, strict=True):
        for t, d in np.ndindex(errors.shape):
            before = [v for v in y[: 3 + t, d] if not np.isnan(v)][-1]
            if not np.isnan(errors[t, d]):
                values["pr-ssm"][d].append(errors[t, d])
                values[HELD][d].append(y[3 + t, d] - before)
    rows, bold = [], set()
    for d, label in enumerate(("level [cm]", "flow")):
        rmse = [np.sqrt(np.mean(np.square(values[name][d]))) for name in values]
        p = ljung_box([each[:, d] for each in residuals.errors], 25)
        assert (p < 0.001) == (d == 1)
        rows.append((label, *(f"{v:.4g}" for v in rmse), "< 0.001" if d else f"{p:.2g}"))
        bold.add((d, 1 + int(rmse[1] < rmse[0])))
    header = ("RMSE one step ahead", "pr-ssm", HELD, P_VALUE)
    assert score_table(make_given(), residuals) == html.table(header, rows, bold)


def test_nothing_is_bold_where_nothing_is_known():
    residuals = make_residuals()
    for each in residuals.errors:
        each[3:, 1] = np.nan
    for _, y in residuals.records:
        y[:6, 1] = np.nan
    table = score_table(make_given(), residuals)
    assert "<td>flow</td><td>nan</td><td>nan</td>" in table
    assert table.count("class=best") == 1
