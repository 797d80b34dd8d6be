"""What the search for a drift looks at, piece by piece."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from gpssm.base.errors import DataError
from gpssm.data import Dataset, Experiment
from gpssm.data.transforms import drift

RAW = np.array([-0.7, 0.4, -2.0, 1.0, -3.0])


def noise(rows, seed=0):
    return np.random.default_rng(seed).standard_normal(rows)


def piece(name, rows, start=0, stride=1, first=0.0):
    values = first + np.arange(float(rows))
    run = Experiment.of(values, values**2, name)
    return replace(run, start=start, stride=stride)


@pytest.fixture
def asked(monkeypatch):
    """What the optimiser is asked, instead of a search."""
    found = {}

    def minimize(function, start, bounds, **options):
        found.update(function=function, start=start, bounds=np.array(bounds), **options)
        return type("Found", (), {"x": np.array(found.get("answer", RAW))})

    monkeypatch.setattr(drift.scipy.optimize, "minimize", minimize)
    return found


# ---------------------------------------------------------------------- records and rows


def test_records_begin_with_their_first_piece_and_end_with_their_last():
    runs = [piece("b", 5, 40), piece("a", 4, 20, 3), piece("b", 6, 10), piece("a", 5, 32, 3)]
    assert drift._extents(runs) == ({"a": 20, "b": 10}, [44, 44])


def test_pieces_of_a_record_may_touch_and_not_overlap():
    assert drift._extents([piece("a", 5), piece("a", 5, 5)]) == ({"a": 0}, [9])
    with pytest.raises(DataError, match="two experiments 'a' with the same rows"):
        drift._extents([piece("a", 5), piece("a", 5, 4)])


def test_rows_are_looked_at_once_their_past_inputs_are_known():
    seen = drift._look_at([piece("b", 5, 40), piece("a", 4, 10, 2)], ["a", "b"], 2)
    assert seen.piece.tolist() == [0, 0, 0, 1, 1]
    assert seen.place.tolist() == [2, 3, 4, 2, 3]
    assert seen.record.tolist() == [1, 1, 1, 0, 0]
    assert seen.row.tolist() == [42, 43, 44, 14, 16]
    assert seen.y[:, 0].tolist() == [2, 3, 4, 2, 3]


def test_past_inputs_are_scaled_and_the_newest_comes_first():
    runs = [piece("a", 5), piece("b", 4, first=10.0)]
    runs = [replace(run, u=np.concatenate([run.u, np.ones((len(run), 1))], axis=1)) for run in runs]
    seen = drift._look_at(runs, ["a", "b"], 2)
    past = drift._past(runs, seen, 2)
    u = np.concatenate([run.u[:, 0] for run in runs])
    scaled = (u - u.mean()) / u.std()
    assert past.shape == (5, 3, 2)
    np.testing.assert_allclose(past[0, :, 0], scaled[[2, 1, 0]])
    np.testing.assert_allclose(past[3, :, 0], scaled[[7, 6, 5]])  # the first of the second run
    np.testing.assert_array_equal(past[..., 1], 0.0)  # an input that never moves


def test_pairs_know_their_record_and_how_far_they_are_apart():
    seen = drift._look_at([piece("a", 4, 10, 2), piece("b", 3, 11, 2)], ["a", "b"], 1)
    pairs = drift._pairs(seen, np.zeros((5, 2, 1)), np.full((5, 5), 0.5), 2)
    same = np.array([[1, 1, 1, 0, 0]] * 3 + [[0, 0, 0, 1, 1]] * 2, dtype=bool)
    np.testing.assert_array_equal(pairs.same, same)
    assert pairs.apart[0, :3].tolist() == [0, 1, 2]  # samples, not rows
    assert pairs.apart[3, 4] == 1
    assert pairs.apart[~same].min() > 1e6
    np.testing.assert_array_equal(pairs.level, np.where(same, 0.5, 0.0))


def test_each_record_is_centred_by_itself():
    """Of the records 0 to 3, the second has no row and the third a single one."""
    y, record = np.array([1.0, 4.0, 7.0, 10.0, 2.0]), np.array([0, 3, 2, 3, 0])
    assert drift._centred(y, record).tolist() == [-0.5, -3.0, 0.0, 3.0, 0.5]


def test_measured_rows_are_thinned_evenly(monkeypatch):
    y = np.where(np.arange(21) % 2, np.nan, 1.0)
    assert drift._usable(y, "y").tolist() == list(range(0, 21, 2))
    monkeypatch.setattr(drift, "MOST_ROWS", 3)
    assert drift._usable(y, "y").tolist() == [0, 10, 20]


@pytest.mark.parametrize(("rows", "memory"), [(16, 8), (95, 9), (320, 32), (1040, 100)])
def test_the_memory_is_a_tenth_of_the_record_from_8_to_100_rows(asked, monkeypatch, rows, memory):
    monkeypatch.setattr(drift, "MOST_ROWS", 12)
    (trend,) = Dataset.from_arrays(noise(rows), noise(rows, 1)).remove_drift()[0].trends
    assert trend.rows[0] == memory
    assert len(trend.rows) == min(12, rows - memory)
    assert (trend.origin, trend.span, trend.size) == (0, rows - 1, 0.1)


def test_eight_rows_are_enough_and_seven_are_not(asked):
    y = noise(17)
    y[-1] = np.nan
    Dataset.from_arrays(y).remove_drift()
    y[-2] = np.nan
    with pytest.raises(DataError, match=r"got 7 measured rows of output 'y' .* at least 8"):
        Dataset.from_arrays(y).remove_drift()


# ---------------------------------------------------------------------- the search


def test_the_search_stays_within_bounds(asked):
    """Noise is forgotten within a tenth of the longest piece: 1 / (1 − ρ) is at most 50 rows."""
    lengths = (500, 60)
    Dataset.from_arrays([noise(n, n) for n in lengths]).split_at(50).train.remove_drift()
    assert asked["bounds"][3, 1] == pytest.approx(np.log(4.0))
    Dataset.from_arrays([noise(n, n) for n in lengths]).remove_drift()
    low, high = asked["bounds"].T
    assert low.tolist() == [-12.0, -3.0, -16.0, -3.0, -16.0]
    assert high.tolist() == [6.0, 6.0, 3.0, pytest.approx(np.log(49.0)), 3.0]
    assert asked["start"].tolist() == [-2.0, 1.5, -5.0, 2.0, -5.0]
    Dataset.from_arrays(noise(18)).remove_drift()
    assert asked["bounds"][3, 1] == 0.0  # of two rows
    assert asked["start"][3] == 0.0


def test_the_search_is_given_double_precision(asked):
    data = Dataset.from_arrays(noise(40), noise(40, 1))
    with jax.enable_x64(False):
        data.remove_drift()
    with jax.enable_x64(True):
        value, gradient = asked["function"](RAW)
    assert asked["jac"]
    assert value.dtype == gradient.dtype == np.float64


def test_the_likelihood_is_that_of_the_covariance():
    data = Dataset.from_arrays(noise(40), noise(40, 1))
    seen = drift._look_at(data.experiments, ["data"], 8)
    level = drift._wander((seen.row / 39.0)[:, None], seen.row / 39.0)
    pairs = drift._pairs(seen, drift._past(data.experiments, seen, 8), level, 1)
    pairs, y = jax.tree.map(jnp.asarray, pairs), seen.y[:, 0]
    value, _ = drift._surprise(jnp.asarray(RAW), pairs, jnp.asarray(y))
    K = np.asarray(drift._covariance(jnp.asarray(RAW), pairs))
    wanted = -multivariate_normal(np.zeros(32), K).logpdf(y) - 16 * np.log(2 * np.pi)
    assert float(value) == pytest.approx(wanted, rel=1e-9)


def test_a_likelihood_that_is_no_number_is_refused(asked):
    asked["answer"] = [np.nan] * 5
    with pytest.raises(DataError, match="no finite likelihood, expected one"):
        Dataset.from_arrays(noise(40)).remove_drift()


def test_a_constant_output_has_no_drift(asked):
    rest = Dataset.from_arrays(np.stack([np.full(40, 3.0), noise(40)], axis=1)).remove_drift()
    np.testing.assert_array_equal(rest[0].y[:, 0], 3.0)


def test_a_polynomial_has_an_order_from_zero():
    with pytest.raises(DataError, match="got order -1, expected a whole number from 0"):
        Dataset.from_arrays(noise(40)).detrend(-1)
