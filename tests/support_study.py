"""A study that fits in a moment, and one that only pretends to fit."""

from datetime import UTC, datetime

import numpy as np

from gpssm import Dataset, Study
from gpssm.study.trials import as_text

MODEL = {"dim_x": 2, "inducing_points": 3, "particles": 2, "recognition": "output"}
TRAINING = {"steps": 3, "sequence_length": 8, "batch_size": 2, "validation_warmup": 2}
RATES = {"learning_rate": [0.01, 0.1], "inducing_kl": [1.0, 3.0]}


def make_study(kind="grid", **changes):
    """Four configurations of one shape, two seeds each."""
    search = {"kind": kind, "training": RATES, **changes.pop("search", {})}
    fixed = {"method": "pr-ssm", "model": MODEL, "training": TRAINING, "seeds": 2}
    return Study(**{**fixed, **changes}, search=search)


def make_data(rows=60, seed=0):
    """A first-order lag, in one part."""
    rng = np.random.default_rng(seed)
    u, y = rng.standard_normal(rows), np.zeros(rows)
    for t in range(rows - 1):
        y[t + 1] = 0.8 * y[t] + 0.3 * u[t]
    return Dataset.from_arrays(y, u, name="lag")


def pretend(study, data, batch, progress):
    """Rows without a fit: the best learning rate is 0.1, the best weight 3."""
    return [
        {
            "configuration": each.number,
            "dataset": batch.dataset,
            "seed": seed,
            **each.chosen,
            **_scores(each.chosen, batch.dataset),
            "finished": datetime.now(UTC),
            "settings": as_text(each.chosen),
        }
        for each in batch.configurations
        for seed in range(study.seeds)
    ]


def loss_of(chosen):
    """The logarithm of the pretended RMSE."""
    rate, weight = (chosen.get(f"training.{name}", 1.0) for name in RATES)
    return float(abs(np.log(rate / 0.1)) + abs(np.log(weight / 3.0)))


def _scores(chosen, dataset):
    rmse = float(np.exp(loss_of(chosen))) * (10.0 if dataset == "hard" else 1.0)
    return {"rmse": rmse, "log_likelihood": -rmse, "best_step": 1, "seconds": 0.0}
