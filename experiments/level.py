"""How much a training part can tell of a level that walks: the error that a forecast must expect.

    python -m experiments.level

The best that a linear model can do for dryer, and how far off it must expect to be:

    y[t] = Σ b[i] u[t−i] + c + ℓ[t] + e[t]          ℓ a random walk, e an AR(1) process

Coefficients and noise are integrated out under flat priors, how fast ℓ walks and how long e
remembers by a sum over a grid. What is left is the joint distribution of the outputs to come,
and so that of the root mean square error of its own mean. Parts of the training part are forecast
in the same way, to see whether that distribution can be believed. Takes seconds.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

import gpssm
from gpssm.data import Dataset, Experiment
from gpssm.prediction import blocked_folds
from gpssm.report import markdown_table

from .config import CONFIGS
from .files import ROOT, provenance, read_json, write_json
from .pages import DOCS, publish

_NAME, _METHOD = "dryer", "cbf-ssm-50"
_FUTURES, _JUDGED = 5, 3  # by which the settings of dryer were chosen
PAST = 16  # inputs; the longest memory that the linear ARX of Table 1 may have
_OTHERS = (20, 24, 32)
_DRAWS = 4000
_MEMORIES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)  # of e, from one row to the next
_WALKS = (0.0, *10.0 ** np.arange(-2.5, -0.4, 0.25))  # of ℓ in a row, relative to the spread of e


class Expected(NamedTuple):
    """What the outputs to come should be, and by how much their forecast should miss them."""

    mean: Float[np.ndarray, " time"]
    offset_std: float  # of the mean of what is missed
    rmse: Float[np.ndarray, " draws"]


class _Fit(NamedTuple):
    """One point of the grid: its evidence, and the outputs to come given all that is known."""

    log_evidence: float
    mean: Float[np.ndarray, " time"]
    covariance: Float[np.ndarray, "time time"]
    freedom: int  # of the t-distribution


def expected_error(
    train: Experiment, u: Float[np.ndarray, "time 1"], past: int = PAST, seed: int = 0
) -> Expected:
    """Of the rows with the inputs `u` that follow a record of one input and one output."""
    inputs = np.concatenate([train.u, u])
    rows = np.arange(past, len(inputs))
    lags = [inputs[rows - lag] for lag in range(past + 1)]
    x = np.concatenate([*lags, np.ones((len(rows), 1))], axis=1)
    y, known = train.y[past:, 0], len(train) - past
    fits = [_fit(x, y, known, memory, walk) for memory, walk in product(_MEMORIES, _WALKS)]
    evidence = np.array([fit.log_evidence for fit in fits])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    mean = np.sum(weights[:, None] * [fit.mean for fit in fits], axis=0)
    misses = _misses(np.random.default_rng(seed), fits, weights) - mean
    return Expected(
        mean,
        float(np.std(misses.mean(axis=1))),
        np.sqrt(np.mean(np.square(misses), axis=1)),
    )


def _fit(
    x: Float[np.ndarray, "rows regressors"],
    y: Float[np.ndarray, " known"],
    known: int,
    memory: float,
    walk: float,
) -> _Fit:
    """Generalised least squares, and the prediction of the rows after the known ones."""
    time = np.arange(1, len(x) + 1)
    apart, shared = np.abs(time[:, None] - time), np.minimum(time[:, None], time)
    K = memory**apart + walk**2 * shared  # in units of the variance of e
    seen, later = slice(known), slice(known, None)
    L = np.linalg.cholesky(K[seen, seen])
    A, b = np.linalg.solve(L, x[seen]), np.linalg.solve(L, y)
    gram = A.T @ A
    coefficients = np.linalg.solve(gram, A.T @ b)
    rest, freedom = b - A @ coefficients, known - x.shape[1]
    square = float(rest @ rest)
    bridge = np.linalg.solve(L, K[seen, later])
    unseen = x[later] - bridge.T @ A  # what of the regressors the known rows do not tell
    spread = K[later, later] - bridge.T @ bridge + unseen @ np.linalg.solve(gram, unseen.T)
    return _Fit(
        -np.sum(np.log(np.diag(L)))
        - 0.5 * np.linalg.slogdet(gram)[1]
        - 0.5 * freedom * np.log(square),
        x[later] @ coefficients + bridge.T @ rest,
        spread * square / freedom,
        freedom,
    )


def _misses(
    rng: np.random.Generator, fits: list[_Fit], weights: Float[np.ndarray, " fits"]
) -> Float[np.ndarray, "draws time"]:
    """Draws of the outputs to come, from each fit as many as its weight is worth."""
    draws = []
    for fit, count in zip(fits, rng.multinomial(_DRAWS, weights), strict=True):
        if count:
            root = np.linalg.cholesky(fit.covariance + 1e-12 * np.eye(len(fit.mean)))
            scale = np.sqrt(fit.freedom / rng.chisquare(fit.freedom, (count, 1)))
            draws.append(fit.mean + scale * (rng.standard_normal((count, len(root))) @ root.T))
    return np.concatenate(draws)


# ---------------------------------------------------------------------- what it says


def forecasts(data: Dataset) -> Iterator[tuple[str, Experiment, Experiment]]:
    """What is forecast, in words; the rows before it, and its own."""
    for i, part in enumerate(blocked_folds(data.train, _FUTURES, ahead=True)[-_JUDGED:]):
        stretch = _FUTURES - _JUDGED + i + 1
        yield f"training, stretch {stretch} of {_FUTURES}", part.train[0], part.test[0]
    halves = blocked_folds(data.train, 2, ahead=True)[0]
    yield "training, second half", halves.train[0], halves.test[0]
    yield "test", data.train[0], data.test[0]


def compare(
    before: Experiment, after: Experiment, limit: float, past: int = PAST
) -> dict[str, float]:
    """The error to expect, the one that came, and the chance that it is within a limit."""
    found = expected_error(before, after.u, past)
    missed = after.y[:, 0] - found.mean
    low, middle, high = np.quantile(found.rmse, (0.1, 0.5, 0.9))
    return {
        "offset_std": found.offset_std,
        "offset": float(missed.mean()),
        "low": float(low),
        "middle": float(middle),
        "high": float(high),
        "rmse": float(np.sqrt(np.mean(np.square(missed)))),
        "chance": float(np.mean(found.rmse <= limit)),
    }


def table(record: dict[str, Any]) -> str:
    header = ["forecast", "offset known to", "offset that came", "RMSE to expect", "90 % below"]
    header += ["RMSE that came", f"chance of {record['limit']:.3f}"]
    keys = "offset_std", "offset", "middle", "high", "rmse"
    rows = [
        [words, *(f"{row[key]:.3f}" for key in keys), f"{row['chance']:.0%}"]
        for words, row in record["forecasts"].items()
    ]
    return markdown_table(header, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.level", description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    options = parser.parse_args(arguments)
    paper = read_json(CONFIGS / "paper_table1.json")
    assert paper is not None
    limit = sum(paper["table1"][_NAME][_METHOD])  # mean and one standard deviation
    data = gpssm.load_dataset(_NAME)
    parts = forecasts(data)
    ends = data.train[0], data.test[0]
    record = {
        "limit": limit,
        "forecasts": {words: compare(*each, limit) for words, *each in parts},
        "chance with other memories": {
            str(past): compare(*ends, limit, past)["chance"] for past in _OTHERS
        },
        "versions": provenance(),
    }
    write_json(options.results / "level.json", record)
    publish(options.results, DOCS, table(record), "level")
    print(table(record))
    others = record["chance with other memories"]
    print(f"chance with other numbers of past inputs: {others}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
