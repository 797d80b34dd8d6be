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
from gpssm.report.one_step import HELD, OneStep, one_step_scores, one_step_table
from gpssm.report.report_data import Residuals, one_step_errors

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
