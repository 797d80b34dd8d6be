"""A fit to data on disk is the fit to the same data in memory; and it resumes exactly."""

import jax
import numpy as np
import pytest

import gpssm
from gpssm.data import disk
from gpssm.training.batches import Chunk, Reader
from gpssm.training.devices import make_mesh

MODEL = gpssm.cbf_ssm(dim_x=2, inducing_points=4, particles=3, lag=4)
SETTINGS = {
    "sequence_length": 10,
    "batch_size": 3,
    "validation": 0.3,
    "validate_steps": 20,
    "validation_warmup": 8,
    "quiet": True,
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same numbers in memory and on disk, in several blocks; some are missing."""
    folder, rng = tmp_path_factory.mktemp("arrays"), np.random.default_rng(0)
    u = rng.standard_normal((400, 1))
    y = np.convolve(u[:, 0], 0.8 ** np.arange(20))[:400] + 0.1 * rng.standard_normal(400)
    y[50:60] = np.nan
    for name, values in (("u", u), ("y", y)):
        np.save(folder / f"{name}.npy", values)
    maps = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "yu")
    return gpssm.Dataset.from_arrays(y, u), gpssm.Dataset.from_arrays(*maps)


def leaves(run: gpssm.Run) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(run.system)]


def test_a_fit_from_disk_is_that_from_memory_and_resumes_bit_by_bit(both, tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "BLOCK", 64)
    here, there = both
    memory = gpssm.fit(MODEL, here, steps=45, **SETTINGS)
    whole = gpssm.fit(MODEL, there, steps=45, **SETTINGS)
    np.testing.assert_allclose(
        whole.history.table["elbo"], memory.history.table["elbo"], rtol=1e-4, atol=1e-4
    )
    for a, b in zip(leaves(whole), leaves(memory), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)

    def stop_early(*_):
        raise KeyboardInterrupt

    kept = {"steps": 45, "run_dir": tmp_path, "checkpoint_steps": 20, **SETTINGS}
    with monkeypatch.context() as patch:
        patch.setattr("gpssm.training.loop_state.Track.validate", stop_early)
        with pytest.raises(KeyboardInterrupt):
            gpssm.fit(MODEL, there, **kept)
    resumed = gpssm.fit(MODEL, there, **kept)
    assert resumed.history.table.equals(whole.history.table)
    for a, b in zip(leaves(resumed), leaves(whole), strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_data_on_disk_are_refused(both, tmp_path):
    """One value in another place: no row that is sampled, but the moments of all."""
    _, there = both
    settings = {"steps": 1, "run_dir": tmp_path / "run", "calibrate": False, **SETTINGS}
    settings |= {"validation": None}
    gpssm.fit(MODEL, there, **settings)
    y = np.array(there[0].y)
    y[201] += 0.5
    np.save(tmp_path / "y.npy", y)
    other = gpssm.Dataset.from_arrays(np.load(tmp_path / "y.npy", mmap_mode="r"), there[0].u)
    with pytest.raises(gpssm.ConfigError, match="holds another run; different here: data: was"):
        gpssm.fit(MODEL, other, **settings)


class Failing:
    """Windows whose disk is gone."""

    starts = np.arange(10)

    def read(self, first, length):
        raise OSError(5, "Input/output error")


def test_what_goes_wrong_while_reading_ahead_is_not_lost():
    mesh = make_mesh(2, 1, jax.devices()[:1])
    with Reader(jax.random.key(0)[None], lambda step: Chunk(Failing(), 2, 3, mesh)) as reader:
        reader.expect(25)
        with pytest.raises(OSError, match="Input/output error"):
            reader.take(25)
