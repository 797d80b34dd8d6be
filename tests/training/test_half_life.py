"""Data that count less the older they are: how often, for how much, and to what effect."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

import gpssm
from gpssm.data import Dataset, Normalisation, Recency, make_windows, open_windows
from gpssm.training import Training, make_phases
from gpssm.training.batches import CHUNK, Chunk, first_rows


def numbered(*lengths):
    return Dataset.from_arrays([np.arange(float(n)) for n in lengths])


def windows_of(data, length=4, stride=1):
    return make_windows(data, Normalisation.identity(0, 1), length, stride, np.float32)


def drawn(windows, half_life, size, chunks, seeds=1):
    recency = None if half_life is None else Recency.of(windows.starts, half_life)
    mesh = Mesh(np.array(jax.devices()[:1]), ("batch",))
    chunk = Chunk(windows, size, 4, mesh, recency)
    keys = jax.random.split(jax.random.key(0), seeds)
    return np.concatenate([first_rows(keys, i * CHUNK, chunk) for i in range(chunks)], axis=1)


@pytest.mark.parametrize("lengths", [(40,), (15, 6, 22)])
def test_a_window_is_drawn_half_as_often_for_every_half_life_of_age(lengths):
    windows, half_life, size = windows_of(numbered(*lengths)), 7.0, 5
    found = drawn(windows, half_life, size, chunks=160)[0]
    weights = 0.5 ** ((windows.starts[-1] - windows.starts) / half_life)
    wanted = size * weights / weights.sum()
    counts = np.array([(found == start).sum(axis=1) for start in windows.starts])
    error = counts.std(axis=1) / np.sqrt(counts.shape[1])
    assert (np.abs(counts.mean(axis=1) - wanted) < 5 * error + 1e-3).all()
    assert counts.max() <= np.ceil(wanted.max()) + 1  # strata: a batch spreads over the data


def test_a_long_half_life_is_none():
    windows = windows_of(numbered(50))
    recency = Recency.of(windows.starts, 1e12)
    assert recency.share == pytest.approx(1.0)
    places = (np.arange(47) + 0.5) / 47
    np.testing.assert_array_equal(recency.choose(places), np.arange(47))
    assert recency.choose(np.array([0.0, np.nextafter(1.0, 0.0), 1.0])).tolist() == [0, 46, 46]


def test_batches_differ_by_seed_and_step_and_can_be_repeated():
    windows = windows_of(numbered(60))
    once, again = (drawn(windows, 20.0, 4, chunks=2, seeds=2) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once[0], once[1])
    assert not np.array_equal(once[:, :CHUNK], once[:, CHUNK:])


def test_windows_on_disk_count_as_those_in_memory(tmp_path):
    np.save(tmp_path / "y.npy", np.arange(50.0)[:, None])
    mapped = Dataset.from_arrays(np.load(tmp_path / "y.npy", mmap_mode="r"))
    on_disk = open_windows(mapped, Normalisation.identity(0, 1), 4, 3, np.float32)
    there = windows_of(numbered(50), stride=3)
    np.testing.assert_array_equal(drawn(on_disk, 9.0, 3, 1), drawn(there, 9.0, 3, 1))


def test_the_inducing_kl_weighs_as_much_as_fewer_rows_say():
    """Σ of 2^(−age/h) over the windows, as a share of all of them."""
    data, half_life = numbered(100), 10.0
    settings = {"sequence_length": 4, "half_life": half_life}
    (phase,) = make_phases(data, Normalisation.of(data), Training(**settings))
    ages = np.arange(97)
    assert phase.rows == pytest.approx(100 * np.mean(0.5 ** (ages / half_life)))
    model = gpssm.cbf_ssm(dim_x=2)
    few, all_of_them = (phase.training.weights(model, n).inducing_kl for n in (phase.rows, 100))
    assert few / all_of_them == pytest.approx(100 / phase.rows)


def test_the_newest_behaviour_of_a_plant_that_has_changed_is_forecast():
    """The offset of a first-order lag jumps at two thirds of the record."""
    rng = np.random.default_rng(0)
    u, y = rng.choice([-1.0, 1.0], (300, 1)), np.zeros((300, 1))
    for t in range(299):
        offset = 0.0 if t < 200 else 1.0
        y[t + 1] = 0.5 * y[t] + 0.5 * (u[t] + offset) + 0.02 * rng.standard_normal()
    data = Dataset.from_arrays(y, u)
    model = gpssm.pr_ssm(dim_x=1, inducing_points=10, particles=8)
    steady = {"steps": 150, "batch_size": 8, "sequence_length": 20, "quiet": True}
    ahead = rng.choice([-1.0, 1.0], (100, 1))

    def mean_of_forecast(half_life):
        run = gpssm.fit(model, data, half_life=half_life, calibrate=False, **steady)
        return run.predict(ahead, y[-16:]).mean[50:].mean()

    expected = ahead[50:].mean() + 1.0  # of y = u + offset, at rest
    assert abs(mean_of_forecast(20.0) - expected) < 0.5 * abs(mean_of_forecast(None) - expected)
