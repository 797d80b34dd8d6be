"""The study of beliefs: what it says of records that are known."""

import numpy as np
import pytest
from experiments.belief import study

from gpssm.data import Experiment


def third(one_step, near, far=None, coverage=0.95):
    """A record: squares of the errors given."""
    names = ("belief", "held", "arx")
    squares = {m: e**2 for m, e in zip(names, one_step, strict=True)}
    starts = [dict(zip(study.FROM, np.square(each), strict=True)) for each in (near, far or near)]
    return {"one_step": squares, "near": starts[0], "far": starts[1], "coverage": coverage}


def test_errors_of_the_thirds_are_pooled_as_squares():
    records = {
        "0": third((3.0, 5.0, 1.0), (2.0, 1.0, 3.0), coverage=0.9),
        "1": third((4.0, 5.0, 1.0), (2.0, 1.0, 3.0), coverage=1.0),
    }
    name, belief, held, linear, covers, *ratios = study.row("tank", records)
    assert name == "tank"
    assert float(belief) == pytest.approx(12.5**0.5, abs=1e-4)
    assert (float(held), float(linear), float(covers)) == (5.0, 1.0, 0.95)
    assert [float(each) for each in ratios] == [0.5, 1.5, 0.5, 1.5]


def test_the_page_waits_for_all_thirds_of_a_set():
    each = third((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    text = study.page({"tank": {str(i): each for i in range(study.FOLDS)}, "drive": {"0": each}})
    assert "| tank" in text
    assert "drive" not in text


class _Held:
    """A model that holds the last output; its belief is one above it."""

    class Forecast:
        def __init__(self, mean):
            self.mean = mean

        def after(self, rows):
            return type(self)(self.mean[rows:])

    def predict(self, u, y):
        return self.Forecast(np.repeat(y[-1:], len(u), axis=0))

    def belief(self, noise=None):
        outer = self

        class State:
            def update(self, u, y):
                self.last = y[-1:] + (1.0 if noise is None else 2.0)
                return self

            def predict(self, u):
                return outer.Forecast(np.repeat(self.last, len(u), axis=0))

        return State()


def test_every_start_forecasts_the_same_rows(monkeypatch):
    monkeypatch.setattr(study.FilterNoise, "of", lambda _: "of the model")
    model, rows = _Held(), study.SEEN + 40
    model.system = None
    still = Experiment(np.zeros((rows, 1)), np.full((rows, 1), 3.0))
    (errors,) = study.compare_forecasts(model, still, np.full(1, 2.0))
    assert [e.shape for e in errors.values()] == [(40, 1)] * 3
    assert [float(e.mean()) for e in errors.values()] == [0.0, 0.25, 1.0]


def test_a_record_too_short_for_a_forecast_has_none():
    rows = study.SEEN + study.NEAR - 1
    short = Experiment(np.zeros((rows, 1)), np.zeros((rows, 1)))
    assert list(study.compare_forecasts(None, short, np.ones(1))) == []
