"""A level that drifts is found beside what the inputs do, continued, and given back."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gpssm.base.errors import DataError
from gpssm.data import Dataset
from gpssm.data.folds import blocked_folds
from gpssm.data.transforms import drift


def record(seed=0, rows=300, slope=0.0, walk=0.0, noise=0.1, missing=0.0):
    """Two past inputs of a random switch, an AR(1) noise, a slope and a walk over the record."""
    rng = np.random.default_rng(seed)
    u = np.repeat(rng.choice([-1.0, 1.0], rows // 5 + 1), 5)[:rows]
    e = np.zeros(rows)
    for t in range(1, rows):
        e[t] = 0.7 * e[t - 1] + np.sqrt(1 - 0.7**2) * noise * rng.standard_normal()
    level = slope * np.arange(rows) / rows + walk * np.cumsum(rng.standard_normal(rows)) / rows**0.5
    y = 2.0 + 0.7 * np.roll(u, 1) + 0.4 * np.roll(u, 2) + level + e
    y[rng.random(rows) < missing] = np.nan
    return y, u, level


def dataset(**options):
    y, u, _ = record(**options)
    return Dataset.from_arrays(y, u)


def removed(data, rows=None):
    run = data.experiments[-1]
    return run.removed(run.rows if rows is None else np.asarray(rows))[:, 0]


def looked_at(data, size):
    """The rows of one record, and all pairs of them."""
    memory = max(len(data[0]) // 10, 8)
    seen = drift._look_at(data.experiments, ["data"], memory)
    time = seen.row / (len(data[0]) - 1)
    level = size**2 * drift._wander(time[:, None], time)
    pairs = drift._pairs(seen, drift._past(data.experiments, seen, memory), level, 1)
    return seen, jax.tree.map(jnp.asarray, pairs)


# ---------------------------------------------------------------------- the mathematics


def test_a_record_that_begins_later_has_the_same_drift():
    """Time counts from the first row of a record, wherever that row was cut."""
    run = dataset(rows=80, slope=1.0)[0]
    early, late = (
        drift.find_drifts([replace(run, start=start)], 1.0, ["y"])["data"] for start in (0, 500)
    )
    assert (late.origin, late.span) == (500, 79.0)
    np.testing.assert_allclose(late(np.arange(500, 580)), early(np.arange(80)), rtol=1e-9)


def test_half_of_the_level_is_a_slope_and_half_a_walk():
    draws, rows = 200_000, np.array([0.0, 0.25, 0.6, 1.0, 1.7])
    rng = np.random.default_rng(0)
    steps = np.sqrt(np.diff(rows, prepend=0.0)) * rng.standard_normal((draws, len(rows)))
    paths = (rng.standard_normal((draws, 1)) * rows + np.cumsum(steps, axis=1)) / np.sqrt(2.0)
    expected = drift._wander(rows[:, None], rows)
    assert expected[3, 3] == pytest.approx(1.0)
    products = paths[:, :, None] * paths[:, None, :]
    errors = np.abs(products.mean(axis=0) - expected)
    assert np.all(errors <= 4.0 * products.std(axis=0) / draws**0.5)


def test_the_covariance_is_that_of_the_sum_of_its_parts():
    """Built once more from the parameters' own covariance: y = A g + c + ℓ + e."""
    data = Dataset.from_arrays(*(np.stack([record(s)[i][:60] for s in (1, 2)], 1) for i in (0, 1)))
    seen, pairs = looked_at(data, 0.3)
    time, raw = seen.row / 59.0, np.array([-0.7, 0.4, -2.0, 1.0, -3.0])
    γ, α, σ2 = np.exp(raw[[0, 2, 4]])
    λ, ρ = 1.0 / (1.0 + np.exp(-raw[[1, 3]]))
    u = (data[0].u - data[0].u.mean(axis=0)) / data[0].u.std(axis=0)
    memory = pairs.past.shape[1]
    wanted = np.zeros((len(time), len(time)))
    for s, row in enumerate(seen.row):
        for t, other in enumerate(seen.row):
            response = sum(
                γ * λ ** max(i, j) * u[row - i, k] * u[other - j, k]
                for i in range(memory)
                for j in range(memory)
                for k in range(2)
            )
            level = 0.09 * 0.5 * (time[s] * time[t] + min(time[s], time[t]))
            noise = α * ρ ** abs(int(row) - int(other)) + σ2 * (s == t)
            wanted[s, t] = response + 100.0 + level + noise
    found = drift._covariance(jnp.asarray(raw), pairs)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-10)


def test_the_gradient_is_that_of_finite_differences():
    data = dataset(rows=80)
    seen, pairs = looked_at(data, 0.3)
    y, raw, step = jnp.asarray(seen.y[:, 0] - 2.0), np.array([-1.0, 0.5, -3.0, 1.0, -4.0]), 1e-5
    _, gradient = drift._surprise(jnp.asarray(raw), pairs, y)
    for i in range(5):
        up, down = (raw + sign * step * np.eye(5)[i] for sign in (1, -1))
        above, below = (float(drift._surprise(jnp.asarray(r), pairs, y)[0]) for r in (up, down))
        assert gradient[i] == pytest.approx((above - below) / (2 * step), rel=1e-5)


def test_the_level_is_the_mean_of_the_joint_gaussian(monkeypatch):
    """Of ℓ at any row and all outputs, with one covariance that both are given."""
    data, size = dataset(rows=100, slope=0.5), 0.2
    raw = np.array([0.0, 0.5, -3.0, 1.0, -4.0])
    fixed = lambda *_, **__: type("Found", (), {"x": raw})  # noqa: E731
    monkeypatch.setattr(drift.scipy.optimize, "minimize", fixed)
    rows = np.array([5, 40, 99, 150, 260])
    found = removed(data.remove_drift(size), rows)
    seen, pairs = looked_at(data, size)
    K = np.asarray(drift._covariance(jnp.asarray(raw), pairs))
    cross = (
        size**2
        * 0.5
        * (np.outer(rows, seen.row) / 99.0**2 + np.minimum.outer(rows, seen.row) / 99.0)
    )
    y = seen.y[:, 0]
    weights = np.linalg.solve(K, (y - y.mean()) / y.std())
    np.testing.assert_allclose(found, y.std() * cross @ weights, rtol=1e-9)
    np.testing.assert_allclose(
        np.diff(found[2:]) / [51, 110], np.full(2, np.diff(found[2:4])[0] / 51)
    )


# ---------------------------------------------------------------------- what it finds


def test_a_slope_is_found_and_continued():
    """Where the rows after the record lie is known far better than without it."""
    with_it, without = [], []
    for seed in range(8):
        y, u, level = record(seed, rows=400, slope=1.0)
        data = Dataset.from_arrays(y, u).split_at(250)
        ahead = level[250:] - level[:250].mean()
        without.append(ahead.mean())
        known = data.remove_drift(0.5)
        guess = removed(known) - known.train[0].removed(np.arange(250))[:, 0].mean()
        with_it.append((ahead - guess).mean())
    assert np.sqrt(np.mean(np.square(with_it))) < 0.4 * np.sqrt(np.mean(np.square(without)))


def test_where_nothing_drifts_little_is_removed():
    ranges = [np.ptp(removed(dataset(seed=seed).remove_drift())) for seed in range(6)]
    assert np.max(ranges) < 0.1  # the noise alone has a spread of 0.1, the output one of 0.8


def test_what_the_inputs_do_is_no_drift():
    """An input that rises all the time takes the output with it, and stays in the data."""
    rng = np.random.default_rng(0)
    u = np.linspace(0.0, 3.0, 300) + rng.standard_normal(300)
    y = 0.7 * np.roll(u, 1) + 0.05 * rng.standard_normal(300)
    y[0] = 0.0
    rest = Dataset.from_arrays(y, u).remove_drift(0.3)
    assert np.ptp(removed(rest)) < 0.2  # a straight line through the outputs rises by 2.1
    assert np.ptp(removed(Dataset.from_arrays(y, u).detrend(1))) > 1.8


def test_the_larger_the_size_the_more_is_removed():
    data = dataset(slope=0.5)
    ends = [removed(data.remove_drift(size))[-1] for size in (0.01, 0.1, 1.0)]
    assert 0.0 < ends[0] < 0.5 * ends[1]
    assert ends[1] < ends[2]
    assert ends[2] == pytest.approx(0.5, abs=0.2)


def test_gaps_do_not_matter_much():
    whole, holes = (dataset(slope=0.8, missing=m).remove_drift(0.3) for m in (0.0, 0.3))
    np.testing.assert_allclose(removed(holes), removed(whole), atol=0.15)
    assert np.isnan(holes[0].y).mean() == pytest.approx(0.3, abs=0.1)


def test_many_rows_are_thinned(monkeypatch):
    data = dataset(rows=600, slope=0.8)
    whole = data.remove_drift(0.3)
    monkeypatch.setattr(drift, "MOST_ROWS", 200)
    thin = data.remove_drift(0.3)
    assert len(thin[0].trends[0].rows) == 200
    np.testing.assert_allclose(removed(thin), removed(whole), atol=0.15)


def test_each_record_has_a_drift_of_its_own_and_each_output():
    y, u, _ = zip(*(record(seed, slope=s) for seed, s in enumerate((1.0, -1.0))), strict=True)
    y = [np.stack([each, 50.0 - 20.0 * each], axis=1) for each in y]
    first, second = Dataset.from_arrays(y, list(u)).remove_drift(0.5)
    ends = np.stack([each.removed(each.rows[-1:])[0] for each in (first, second)])
    assert ends[0, 0] > 0.5
    assert ends[1, 0] < -0.5
    np.testing.assert_allclose(ends[:, 1], -20.0 * ends[:, 0], rtol=1e-3)


@pytest.mark.parametrize("apart", [0.5, 10.0])
def test_the_levels_of_two_records_are_no_drift(apart):
    """Each has a constant of its own: only what moves within it is removed."""
    y, u, _ = zip(*(record(seed, slope=0.3) for seed in range(3)), strict=True)
    y = [each + apart * i for i, each in enumerate(y)]
    for run in Dataset.from_arrays(y, list(u)).remove_drift(0.2):
        assert run.removed(run.rows[-1:])[0, 0] == pytest.approx(0.3, abs=0.15)


@pytest.mark.parametrize("slope", [0.3, 1.0, 3.0])
def test_a_large_drift_is_not_taken_for_noise(slope):
    ends = [removed(dataset(seed=s, rows=500, slope=slope).remove_drift(0.3))[-1] for s in range(3)]
    assert np.all(np.array(ends) > 0.6 * slope)


def test_a_plant_without_inputs_may_drift():
    y = np.linspace(0.0, 1.0, 200) + 0.1 * np.random.default_rng(0).standard_normal(200)
    assert removed(Dataset.from_arrays(y).remove_drift(3.0))[-1] == pytest.approx(1.0, abs=0.2)


# ---------------------------------------------------------------------- a step that can be undone


def test_restore_gives_the_outputs_back_in_their_units():
    data = dataset(slope=0.8, missing=0.1).split(0.7)
    rest = data.decimate(2).remove_drift(0.3)
    assert rest.has_drift
    assert rest.steps == ("decimate(2)", "remove_drift(0.3)")
    for part in ("train", "test"):
        values = getattr(rest, part).restore(getattr(rest, part)[0].y)[1]
        np.testing.assert_allclose(values, getattr(data.decimate(2), part)[0].y)


def test_nothing_of_the_test_part_is_seen():
    y, u, _ = record(slope=0.8)
    poisoned = y.copy()
    poisoned[200:] = 1e6
    rest = [Dataset.from_arrays(each, u).split_at(200).remove_drift() for each in (y, poisoned)]
    np.testing.assert_array_equal(*(each.train[0].y for each in rest))
    np.testing.assert_array_equal(*(removed(each) for each in rest))


def test_a_record_of_which_nothing_was_seen_stays_as_it_is():
    y, u, _ = zip(*(record(seed, slope=0.8) for seed in (0, 1)), strict=True)
    data = Dataset.from_arrays(list(y), list(u)).split_experiments(train=[0])
    rest = data.remove_drift()
    np.testing.assert_array_equal(rest.test[0].y, data.test[0].y)
    assert np.ptp(rest.train[0].trends[0](rest.train[0].rows)) > 0.0


@pytest.mark.parametrize("step", [lambda d: d.remove_drift(0.3), lambda d: d.detrend(1)])
def test_a_fold_has_a_drift_that_what_it_holds_out_did_not_tell(step):
    y, u, _ = record(slope=0.8)
    poisoned = y.copy()
    poisoned[240:] = 1e3
    folds = [blocked_folds(step(Dataset.from_arrays(v, u)), 5, ahead=True) for v in (y, poisoned)]
    last = [each[-1] for each in folds]
    np.testing.assert_allclose(*(each.train[0].y for each in last), atol=1e-3)
    np.testing.assert_allclose(*(removed(each) for each in last), atol=1e-3)
    again = step(Dataset.from_arrays(y, u).split_at(240))
    np.testing.assert_allclose(last[0].train[0].y, again.train[0].y, atol=1e-3)
    told = removed(step(Dataset.from_arrays(y, u)), last[0].test[0].rows)  # by all rows
    assert np.abs(removed(last[0]) - told).max() > 0.01
    assert last[0].steps == again.steps


def test_refitting_keeps_the_order_of_the_steps():
    data = dataset(slope=0.8).detrend(2).remove_drift(0.2).decimate(2)
    again = data.refitted()
    assert again.steps == data.steps
    assert [type(each).__name__ for each in again[0].trends] == ["Trend", "Drift"]
    values = (each.restore(each[0].y)[1] for each in (again, data))
    np.testing.assert_allclose(*values)


@pytest.mark.parametrize(
    ("data", "size", "words"),
    [
        (
            Dataset.from_arrays([np.arange(50.0)] * 2, experiment_names=["a", "a"]),
            0.1,
            ["two experiments 'a'", "name of its own"],
        ),
        (dataset(), 0.0, ["size 0.0", "positive"]),
        (dataset(), float("inf"), ["size inf", "positive"]),
        (Dataset.from_arrays(np.arange(12.0), np.arange(12.0)), 0.1, ["4 measured rows", "'y'"]),
    ],
)
def test_what_cannot_be_done_is_said(data, size, words):
    with pytest.raises(DataError) as caught:
        data.remove_drift(size)
    assert all(word in str(caught.value) for word in words)
