"""Validation: the score is that of an open-loop forecast, and the best parameters are kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpssm
from gpssm import ConfigError, DataError, Dataset
from gpssm.fitted.fitting import _hold_out
from gpssm.inference import System, build
from gpssm.training.validation import LONGEST, _length, _starts, better_of, nothing_yet
from support import SMALL, make_sequences

MODEL = gpssm.cbf_ssm(dim_x=2, inducing_points=4, particles=6, lag=3)
SETTINGS = {
    "steps": 12, "sequence_length": 8, "batch_size": 3, "precision": "float64", "quiet": True,
    "calibrate": False,
    "validate_steps": 5, "validation_warmup": 7, "learning_rate": 0.1, "warmup_steps": 2,
}  # fmt: skip


def record(rows: int, seed: int = 0, gaps: bool = True) -> Dataset:
    """A leaky integrator with two outputs in different units; some values are missing."""
    rng = np.random.default_rng(seed)
    u, y = rng.standard_normal((rows, 1)), np.zeros((rows, 2))
    for t in range(rows - 1):
        y[t + 1] = 0.8 * y[t] + [0.5, 0.2] * u[t]
    y = [5.0, -3.0] + [4.0, 0.5] * y + 0.05 * rng.standard_normal(y.shape)
    if gaps:
        y[rng.uniform(size=y.shape) < 0.15] = np.nan
        y[0, 0] = y[rows // 2] = np.nan
    return Dataset.from_arrays(y, u)


TRAIN, UNSEEN = record(60), record(40, seed=1)


def fit(validation=UNSEEN, data=TRAIN, **more):
    return gpssm.fit(MODEL, data, validation=validation, **{**SETTINGS, **more})


@pytest.fixture(scope="module")
def run():
    return fit()


def scores(run, experiment) -> tuple[float, float]:
    """RMSE and log-likelihood of `Run.predict`, in normalised units and after the warm-up."""
    warmup, scale = run.training.validation_warmup, run.normalisation.y_std
    forecast = run.predict(experiment.u, experiment.y[:warmup]).after(warmup)
    y = experiment.y[warmup:]
    known = ~np.isnan(y)
    rmse = np.sqrt(np.mean(np.square((forecast.mean - y) / scale)[known]))
    # a density in other units: times the scale of every channel that was measured
    volume = np.sum(known * np.log(scale)) / known.any(axis=1).sum()
    return float(rmse), forecast.score(y).pooled["log_likelihood"] + float(volume)


def test_the_score_is_that_of_a_forecast_that_sees_the_warm_up_alone(run):
    """The run holds the parameters of the best score."""
    table = run.history.table
    best = table["validation_rmse"].idxmin()
    rmse, log_likelihood = scores(run, UNSEEN[0])
    assert table["validation_rmse"][best] == pytest.approx(rmse, rel=1e-7)
    assert table["validation_log_likelihood"][best] == pytest.approx(log_likelihood, rel=1e-7)


def test_validations_are_as_far_apart_as_asked_and_one_is_at_the_end(run):
    table = run.history.table
    for name in ("validation_rmse", "validation_log_likelihood"):
        assert np.flatnonzero(table[name].notna()).tolist() == [4, 9, 11]


def test_validation_changes_no_step(run):
    plain = fit(validation=None).history.table
    assert not any(name.startswith("validation") for name in plain)
    assert run.history.table[plain.columns].equals(plain)


def test_outputs_after_the_warm_up_are_not_seen():
    """Other values there change the score, and not the forecast that it is made of."""
    y = UNSEEN[0].y.copy()
    y[20:] = np.nan
    cut = fit(Dataset.from_arrays(y, UNSEEN[0].u))
    best = cut.history.table["validation_rmse"].idxmin()
    rmse, _ = scores(cut, Dataset.from_arrays(y, UNSEEN[0].u)[0])
    assert cut.history.table["validation_rmse"][best] == pytest.approx(rmse, rel=1e-7)


@pytest.mark.parametrize("metric", ["rmse", "log_likelihood"])
def test_early_stopping_keeps_the_best_of_each_seed(metric):
    """An absurd learning rate: it gets worse and worse, until patience ends."""
    runs = fit(
        seeds=2, steps=300, learning_rate=4.0, schedule="constant", warmup_steps=30, patience=3,
        validation_metric=metric, average=0.5,
    )  # fmt: skip
    sign, best_steps = {"rmse": 1.0, "log_likelihood": -1.0}[metric], []
    for each in runs:
        table = each.history.table
        loss = sign * table[f"validation_{metric}"].dropna()
        best_steps.append(loss.idxmin())
        found = dict(zip(("rmse", "log_likelihood"), scores(each, UNSEEN[0]), strict=True))
        assert sign * loss.min() == pytest.approx(found[metric], rel=1e-6)
        assert len(table) < 300
    assert {len(each.history.table) for each in runs} == {max(best_steps) + 1 + 3 * 5}


SYSTEM = build(jax.random.key(0), gpssm.vcdt(dim_x=1, **SMALL), make_sequences())


def numbered(number: int) -> System:
    """Two seeds, with the same number in every place."""
    return jax.tree.map(lambda leaf: jnp.full((2, *leaf.shape), float(number)), SYSTEM)


losses = st.lists(  # XLA takes subnormal numbers for zero
    st.lists(st.floats(allow_subnormal=False), min_size=2, max_size=2), max_size=8
)


@given(losses)
def test_the_best_is_the_smallest_loss_of_each_seed(sequence):
    """By a plain loop; the system of validation i is the number i."""
    best = nothing_yet(numbered(-1), 2)
    oracle, stale = [(np.inf, -1.0)] * 2, 0
    for i, loss in enumerate(sequence):
        step = jnp.full((2,), i, jnp.int32)
        best = better_of(best, numbered(i), jnp.asarray(loss), step)
        better = [new < old for new, (old, _) in zip(loss, oracle, strict=True)]
        pairs = zip(loss, oracle, better, strict=True)
        oracle = [(new, float(i)) if wins else old for new, old, wins in pairs]
        stale = 0 if any(better) else stale + 1
    for leaf in [leaf for leaf in jax.tree.leaves(best.system) if leaf.size]:
        found = leaf.reshape(2, -1)[:, 0].tolist()
        assert list(zip(best.loss.tolist(), found, strict=True)) == oracle
    assert best.step.tolist() == [int(at) for _, at in oracle]
    assert int(best.stale) == stale


@given(st.lists(st.integers(2, 3000), min_size=1, max_size=4), st.integers(1, 600))
def test_stretches_of_one_length_cover_every_row_of_every_experiment(rows, warmup):
    rows = [max(each, warmup + 1) for each in rows]
    length = _length(min(rows), warmup)
    assert warmup < length <= max(LONGEST, warmup + 1)
    starts, covered = _starts(rows, length), np.zeros(sum(rows), bool)
    borders = np.cumsum([0, *rows])
    for start in starts:
        covered[start : start + length] = True
        experiment = np.searchsorted(borders, start, side="right")
        assert start + length <= borders[experiment]
    assert covered.all()
    assert len(starts) == sum(-(-each // length) for each in rows)


# ---------------------------------------------------------------------- holding out a part


def test_a_fraction_holds_out_the_end_of_every_experiment():
    """As if one had cut the data oneself: the same normalisation, the same numbers."""
    whole = record(60, gaps=False)
    cut = whole.split(0.75, 0.25)
    ours, other = fit(0.25, whole), fit(cut.validation, cut.train)
    assert ours.history.table.equals(other.history.table)
    assert ours.normalisation.to_json() == other.normalisation.to_json()
    for a, b in zip(jax.tree.leaves(ours.system), jax.tree.leaves(other.system), strict=True):
        np.testing.assert_array_equal(a, b)


def one_output() -> Dataset:
    return Dataset.from_arrays(np.arange(30.0), np.arange(30.0))


EMPTY = Dataset.from_arrays(
    np.where(np.arange(30)[:, None] < 7, np.arange(60.0).reshape(30, 2), np.nan), np.arange(30.0)
)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: fit(0.0), DataError, r"validation: got 0.0, expected a fraction between 0 and 1"),
        (lambda: fit(1), DataError, r"validation: got 1, expected a fraction between 0 and 1"),
        (
            lambda: _hold_out(TRAIN, "a"),
            DataError,
            r"validation: got a str, expected a gpssm.D",
        ),
        (
            lambda: fit(one_output()),
            DataError,
            r"validation: got 1 outputs, expected 2, as in data",
        ),
        (lambda: fit(record(7)), DataError, r"validation: got .* of 7 rows, expected more than th"),
        (lambda: fit(EMPTY), DataError, r"validation: got no measurement after the warm-up"),
        (lambda: fit(patience=0), ConfigError, r"patience: got 0, expected at least 1"),
    ],
)
def test_validation_data_that_cannot_be_used_are_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_a_warm_up_shorter_than_that_of_the_recognition_is_refused():
    model = gpssm.vcdt(dim_x=2, warmup=8)
    with pytest.raises(ConfigError, match=r"validation_warmup: got 7, expected at least the warm"):
        gpssm.fit(model, TRAIN, validation=UNSEEN, **SETTINGS)
