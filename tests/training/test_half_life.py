"""Data that count less the older they are: how often, for how much, and to what effect."""

import shutil

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

import gpssm
from gpssm.data import Dataset, Normalisation, Recency, make_windows, open_windows
from gpssm.training import Training, make_phases
from gpssm.training.batches import CHUNK, Chunk, first_rows
from gpssm.training.calibration import HELD_OUT_FACTORS, LEVELS


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


AGES = {  # rows from the start of a window of 4 to that of the newest one, oldest first
    (12,): [8, 7, 6, 5, 4, 3, 2, 1, 0],
    (6, 5, 7): [14, 13, 12, 8, 7, 3, 2, 1, 0],
}


@pytest.mark.parametrize("lengths", AGES)
def test_a_window_is_drawn_half_as_often_for_every_half_life_of_age(lengths):
    windows, half_life, size = windows_of(numbered(*lengths)), 4.0, 5
    found = drawn(windows, half_life, size, chunks=160)[0]
    weights = 0.5 ** (np.array(AGES[lengths]) / half_life)
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
    assert make_phases(numbered(50), Normalisation.identity(0, 1), Training())[0].recency is None


@pytest.mark.parametrize("half_life", [0.0, -3.0, float("inf"), float("nan")])
def test_a_half_life_is_a_number_of_rows(half_life):
    with pytest.raises(gpssm.ConfigError, match="half_life"):
        Training(half_life=half_life)


def test_what_is_forgotten_is_not_listed():
    """A tenth of a row: all but the newest windows weigh less than a rounding error."""
    recency = Recency.of(windows_of(numbered(5000)).starts, 0.1)
    assert len(recency.cumulative) < 10
    assert recency.spread(3).tolist() == [4996] * 3
    assert recency.share == pytest.approx(1 / 4997, rel=1e-2)


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
    (newest,) = make_phases(
        data, Normalisation.of(data), Training(sequence_length=4, half_life=0.1)
    )
    assert newest.rows == 4  # one sequence: no more KL than if the data were that short
    model = gpssm.cbf_ssm(dim_x=2)
    few, all_of_them = (phase.training.weights(model, n).inducing_kl for n in (phase.rows, 100))
    assert few / all_of_them == pytest.approx(100 / phase.rows)


def test_every_stage_draws_from_windows_of_its_own():
    stages = (gpssm.Stage(steps=2, sequence_length=10),)
    training = Training(steps=4, sequence_length=40, half_life=5.0, stages=stages)
    phases = make_phases(numbered(60), Normalisation.identity(0, 1), training)
    assert [phase.recency.windows for phase in phases] == [51, 21]
    for phase in phases:
        starts = phase.windows.starts[phase.recency.spread(50)]
        assert starts.max() == phase.windows.starts[-1]


# ---------------------------------------------------------------------- what a user sees


def changed_plant():
    """A first-order lag whose offset jumps from 0 to 1 at two thirds of the record."""
    rng = np.random.default_rng(0)
    u, y = rng.choice([-1.0, 1.0], (300, 1)), np.zeros((300, 1))
    for t in range(299):
        offset = 0.0 if t < 200 else 1.0
        y[t + 1] = 0.5 * y[t] + 0.5 * (u[t] + offset) + 0.02 * rng.standard_normal()
    return Dataset.from_arrays(y, u)


MODEL = gpssm.pr_ssm(dim_x=1, inducing_points=10, particles=8)
FEW = {"steps": 150, "batch_size": 8, "sequence_length": 20, "quiet": True}


@pytest.fixture(scope="module")
def runs():
    """By half-life; the noise is calibrated, as it is by default."""
    return {h: gpssm.fit(MODEL, changed_plant(), half_life=h, **FEW) for h in (None, 20.0)}


def test_the_newest_behaviour_of_a_plant_that_has_changed_is_forecast(runs):
    u = np.random.default_rng(1).choice([-1.0, 1.0], (100, 1))
    expected = u[50:].mean() + 1.0  # of y = u + offset, at rest
    warmup = changed_plant()[0].y[-16:]
    found = {h: run.predict(u, warmup) for h, run in runs.items()}
    off = {h: abs(each.mean[50:].mean() - expected) for h, each in found.items()}
    assert off[20.0] < 0.5 * off[None]
    # what the plant did long ago is no reason for wide bands
    assert found[20.0].std[50:].mean() < 0.6 * found[None].std[50:].mean()


def test_a_run_that_was_stopped_draws_the_same_batches_again(tmp_path):
    given = {**FEW, "steps": 60, "half_life": 30.0, "calibrate": False, "checkpoint_steps": 25}
    whole = gpssm.fit(MODEL, changed_plant(), **given)
    gpssm.fit(MODEL, changed_plant(), run_dir=tmp_path / "run", **given)
    checkpoints = sorted((tmp_path / "run" / "checkpoints").iterdir(), key=lambda p: int(p.name))
    assert len(checkpoints) > 1
    shutil.rmtree(checkpoints[-1])  # as if the end had never been reached
    again = gpssm.fit(MODEL, changed_plant(), run_dir=tmp_path / "run", **given)
    for a, b in zip(*(jax.tree.leaves(run.system) for run in (whole, again)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_noise_is_judged_by_futures(runs, monkeypatch):
    """`recalibrate` lets a fold be forecast by its past alone."""
    seen = []

    def note(run, part, shown):
        del shown
        seen.append((part.train[-1].start + len(part.train[-1]), part.test[0].start))
        return np.zeros((len(LEVELS), len(HELD_OUT_FACTORS)))

    monkeypatch.setattr("gpssm.evaluation.recalibration._fold_likelihoods", note)
    gpssm.recalibrate(runs[20.0], changed_plant(), folds=5, quiet=True)
    assert seen == [(180, 180), (240, 240)]
    seen.clear()
    gpssm.recalibrate(runs[None], changed_plant(), folds=3, quiet=True)
    assert seen == [(300, 0), (300, 100), (200, 200)]
