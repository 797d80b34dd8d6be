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
from gpssm.metrics import Forecast, Scored
from gpssm.metrics import score as pooled_scores
from gpssm.metrics.reliability import coverage_curve, pit_values

from ..common.scores import LEVELS, number

Predictor = Callable[[np.ndarray, np.ndarray, int], Forecast]  # u, outputs seen, conditioned

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
    """Metrics over all scored steps of all experiments, outputs pooled in original units."""
    pairs = zip(forecasts, truth, strict=True)
    parts = [Scored(forecast, run.y).after(protocol.scored_from) for forecast, run in pairs]
    pooled = pooled_scores([each.forecast.sample(each.y) for each in parts]).pooled
    with np.errstate(over="ignore", invalid="ignore"):  # a model that diverged has no score
        pits = [pit_values(parts, output) for output in range(truth.dim_y)]
        covered = coverage_curve(np.concatenate(pits), np.array(LEVELS))
        return {
            "rmse": number(pooled["rmse"]),
            "log_likelihood": number(pooled["log_likelihood"]),
            "coverage": {
                f"{level:.0%}": number(float(share))
                for level, share in zip(LEVELS, covered, strict=True)
            },
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
