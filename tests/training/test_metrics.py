"""Every metric that tells better from worse can decide what validation keeps."""

import equinox as eqx
import numpy as np
import pytest
from test_validation import UNSEEN, fit

from gpssm import ConfigError, Training
from gpssm.metrics import metrics
from gpssm.training import cut_stretches
from gpssm.training.validation import score

SELECTING = [each.name for each in metrics().values() if each.selects]


def told_by_the_forecast(run) -> dict[str, float]:
    """The metrics of `Run.predict` in normalised units, after the warm-up."""
    warmup, (test,) = run.training.validation_warmup, UNSEEN
    forecast = run.predict(test.u, test.y[:warmup]).after(warmup)
    return forecast.score(test.y[warmup:], run.normalisation.y_std).pooled


@pytest.fixture(scope="module", params=["interval_score", "fit_percent"])
def run(request):
    """One metric of which less is better, and one of which more is."""
    return fit(validation_metric=request.param)


def test_validation_keeps_the_best_by_the_metric(run):
    metric = metrics()[run.training.validation_metric]
    told = run.history.table[f"validation_{metric.name}"].dropna()
    best = told.iloc[int(np.argmin(metric.loss(told.to_numpy())))]
    assert best == pytest.approx(told_by_the_forecast(run)[metric.name], rel=1e-6)


def test_every_metric_of_a_validation_is_that_of_the_forecast(run):
    stretches = cut_stretches(UNSEEN, run.normalisation, run.training)
    found = eqx.filter_jit(score)(run.system, stretches, tuple(SELECTING))
    told = told_by_the_forecast(run)
    wanted = {name: told[name] for name in SELECTING}
    assert {name: float(value) for name, value in found.items()} == pytest.approx(wanted, rel=1e-6)


def test_coverage_decides_nothing():
    assert {"coverage"} == {each.name for each in metrics().values()} - set(SELECTING)
    with pytest.raises(ConfigError, match=r"validation_metric: got 'coverage', expected one of"):
        Training(validation_metric="coverage")
