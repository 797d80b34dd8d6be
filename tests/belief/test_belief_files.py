"""A belief in a file: it continues to the same numbers, and belongs to its model."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from gpssm import ModelFileError
from gpssm.base.errors import GpssmError
from gpssm.base.sealing import sealed
from gpssm.belief import FILTERS, FilterNoise
from support_belief import black_box, make_rows


@pytest.fixture(scope="module")
def run():
    return black_box(dim_y=2, input_delays=(3,))


def advance(belief, u, y):
    """Some more rows, and all that is known then."""
    belief.update(u, y)
    known = belief.mean, belief.cov, belief.log_likelihood, belief.last.mean, belief.disturbance
    return [*known, np.array(belief.time)]


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("plants", [None, 3])
def test_a_loaded_belief_goes_on_to_the_same_numbers(run, kind, plants, tmp_path):
    noise = FilterNoise.of(run.system)._replace(disturbance=np.array([0.02, 0.0]))
    u, y = make_rows(run, 9, missing=0.2, plants=plants)
    belief = run.belief(kind, particles=12, seed=3, plants=plants, noise=noise)
    belief.update(u[..., :6, :], y[..., :6, :])
    other = run.load_belief(belief.save(tmp_path / "now.belief"))
    assert (other.kind, other.plants, other.time) == (kind, plants, 6)
    np.testing.assert_array_equal(other.mean, belief.mean)
    np.testing.assert_array_equal(other.last.innovation, belief.last.innovation)
    forecasts = [each.predict(u[..., :2, :]) for each in (belief, other)]
    first = forecasts if plants is None else [each[2] for each in forecasts]
    np.testing.assert_array_equal(first[0].particles, first[1].particles)
    rest = u[..., 6:, :], y[..., 6:, :]
    for ours, theirs in zip(advance(belief, *rest), advance(other, *rest), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_open_input_and_an_empty_belief_are_kept(run, tmp_path):
    u, y = make_rows(run, 3)
    empty = run.load_belief(run.belief(particles=12).save(tmp_path / "empty"))
    waiting = run.belief(particles=12).update(None, y[0])
    loaded = run.load_belief(waiting.save(tmp_path / "open")).apply(u[0])
    for ours, theirs in zip(
        advance(empty.update(u[0], y[0]), u[1:], y[1:]), advance(loaded, u[1:], y[1:]), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_a_copy_goes_its_own_way(run):
    u, y = make_rows(run, 5)
    belief = run.belief(particles=12).update(u[:3], y[:3])
    mean, other = belief.mean, belief.copy()
    other.update(u[3:], y[3:])
    np.testing.assert_array_equal(belief.mean, mean)
    assert (belief.time, other.time) == (3, 5)
    belief.update(u[3:], y[3:])
    np.testing.assert_array_equal(belief.mean, other.mean)


def test_a_belief_of_another_model_is_refused(run, tmp_path):
    u, y = make_rows(run, 2)
    path = run.belief(particles=12).update(u, y).save(tmp_path / "now")
    other = black_box(dim_y=2, input_delays=(3,), spread=0.21)
    with pytest.raises(ModelFileError, match="a belief of another model, expected one of this"):
        other.load_belief(path)
    assert other._fitted.fingerprint != run._fitted.fingerprint


def test_no_byte_of_a_file_can_change_unnoticed(run, tmp_path):
    u, y = make_rows(run, 2)
    path = run.belief(particles=2).update(u, y).save(tmp_path / "now")
    data = path.read_bytes()
    for i in [*range(0, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
        with pytest.raises(GpssmError):
            run.load_belief(path)
    for cut in (0, 7, 100, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(ModelFileError, match="belief file"):
            run.load_belief(path)


def test_an_array_that_is_a_view_is_written_as_it_is(tmp_path):
    values = np.arange(12.0).reshape(3, 4)
    path = tmp_path / "view"
    path.write_bytes(sealed({"column": values[:, 1], "one": np.array(2.0)}, {}))
    found = load_file(path)
    np.testing.assert_array_equal(found["column"], [1.0, 5.0, 9.0])
    assert found["one"].shape == ()


def test_what_is_no_belief_is_refused(run, tmp_path):
    with pytest.raises(ModelFileError, match="which is no file"):
        run.load_belief(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="of another kind"):
        run.load_belief(run.save(tmp_path / "run.gpssm"))
