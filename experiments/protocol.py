"""How a forecast of the test part is made and scored: the same for every method.

| protocol | outputs of the test part that may be used | conditioned on | scored     |
|----------|-------------------------------------------|----------------|------------|
| `paper`  | 1–32                                      | 1–16           | everything |
| `strict` | 1–16                                      | 1–16           | from 17 on |

`paper` is what the authors' code sees: the backward windows of the 16 conditioned steps reach 16
steps further. Nothing later reaches a forecast: no other part of the outputs is handed over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpssm.data import Dataset
from gpssm.prediction import Forecast

Predictor = Callable[[np.ndarray, np.ndarray, int], Forecast]  # u, outputs seen, conditioned

LEVELS = (0.5, 0.9, 0.95)
_HORIZONS = (0, 10, 25, 50, 100, 250, 500, 1000, 2500)


@dataclass(frozen=True)
class Protocol:
    name: str
    outputs: int
    conditioned: int
    scored_from: int


PROTOCOLS = {
    "paper": Protocol("paper", outputs=32, conditioned=16, scored_from=0),
    "strict": Protocol("strict", outputs=16, conditioned=16, scored_from=16),
}


def forecast_all(predict: Predictor, test: Dataset, protocol: Protocol) -> list[Forecast]:
    """One forecast per experiment, each over all of its time steps."""
    return [predict(run.u, run.y[: protocol.outputs], protocol.conditioned) for run in test]


def score(forecasts: Sequence[Forecast], truth: Dataset, protocol: Protocol) -> dict[str, Any]:
    """All metrics in original units, over all scored steps of all experiments."""
    first = protocol.scored_from
    parts = [forecast.after(first) for forecast in forecasts]
    whole = Forecast(np.concatenate([p.particles for p in parts], axis=1), parts[0].noise_std)
    y = np.concatenate([run.y[first:] for run in truth])
    with np.errstate(over="ignore", invalid="ignore"):  # a model that diverged has no score
        return {
            "rmse": number(whole.rmse(y)),
            "log_likelihood": number(whole.log_likelihood(y)),
            "coverage": {f"{level:.0%}": number(whole.coverage(y, level)) for level in LEVELS},
            "horizon": _horizon(forecasts, truth, protocol.conditioned),
        }


def simulate_training(predict: Predictor, train: Dataset) -> float | None:
    """RMSE over the newest half of every training experiment, forecast like a test part.

    A fit that cannot do that has failed, whatever its ELBO says. Old rows need not be simulated
    well: with a half-life they hardly counted.
    """
    halves, protocol = train.split(0.5).test, PROTOCOLS["paper"]
    return score(forecast_all(predict, halves, protocol), halves, protocol)["rmse"]


def _horizon(
    forecasts: Sequence[Forecast], truth: Dataset, conditioned: int
) -> list[dict[str, Any]]:
    """RMSE in stretches of ever later steps, counted from the last conditioned one."""
    errors = [f.mean - run.y for f, run in zip(forecasts, truth, strict=True)]
    longest = max(len(error) for error in errors) - conditioned
    edges = [edge for edge in _HORIZONS if edge < longest] + [longest]
    rows = []
    for begin, end in pairwise(edges):
        part = np.concatenate([e[conditioned + begin : conditioned + end].ravel() for e in errors])
        rmse = float(np.sqrt(np.nanmean(np.square(part))))
        rows.append({"from": begin + 1, "to": end, "rmse": number(rmse)})
    return rows


def number(value: float) -> float | None:
    """JSON knows no infinity: a score that is not finite is none."""
    return value if np.isfinite(value) else None
