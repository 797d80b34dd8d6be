"""Every metric that tells better from worse can decide what validation keeps."""

import numpy as np
import pytest
from test_validation import UNSEEN, fit

from gpssm import ConfigError, Training
from gpssm.metrics import metrics

SELECTING = [each for each in metrics().values() if each.selects]


@pytest.mark.parametrize("metric", SELECTING, ids=lambda each: each.name)
def test_validation_keeps_the_best_by_the_metric(metric):
    """Its values are those of `Run.predict` in normalised units, after the warm-up."""
    run = fit(validation_metric=metric.name)
    told = run.history.table[f"validation_{metric.name}"].dropna()
    warmup, (test,) = run.training.validation_warmup, UNSEEN
    forecast = run.predict(test.u, test.y[:warmup]).after(warmup)
    found = forecast.score(test.y[warmup:], run.normalisation.y_std).pooled[metric.name]
    best = told.iloc[int(np.argmin(metric.loss(told.to_numpy())))]
    assert best == pytest.approx(found, rel=1e-6)


def test_coverage_decides_nothing():
    with pytest.raises(ConfigError, match=r"validation_metric: got 'coverage', expected one of"):
        Training(validation_metric="coverage")
