"""Responses of linear models, against those of scipy.signal."""

import numpy as np
import pytest
from scipy import signal

from gpssm.data import Dataset, Normalisation
from gpssm.linear import LinearModel
from gpssm.linear.response import frequency_response, is_stable, step_response


@pytest.fixture(scope="module")
def model():
    """Three states, two inputs and two outputs, in units that are not one."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((3, 3))
    A *= 0.8 / np.max(np.abs(np.linalg.eigvals(A)))
    B, C, D = (rng.standard_normal(shape) for shape in ((3, 3), (2, 3), (2, 3)))
    u, y = 3.0 * rng.standard_normal((50, 2)) + 7.0, rng.standard_normal((50, 2)) * [0.2, 40.0]
    units = Normalisation.of(Dataset.from_arrays(y, u, name="units"))
    return LinearModel(A, B, C, D, np.zeros((3, 2)), np.eye(2), np.eye(3), units)


def scipy_system(model):
    return signal.dlti(model.A, model.B[:, :2], model.C, model.D[:, :2], dt=1.0)


def test_the_step_response_is_that_of_scipy(model):
    found = step_response(model, 30)
    _, wanted = signal.dstep(scipy_system(model), n=31)
    np.testing.assert_allclose(found / model.normalisation.y_std, wanted, rtol=1e-10, atol=1e-12)


def test_the_frequency_response_is_that_of_scipy(model):
    frequencies = np.array([0.001, 0.02, 0.11, 0.3, 0.5])
    found, units = frequency_response(model, frequencies), model.normalisation
    for j in range(2):
        for d in range(2):
            matrices = model.A, model.B[:, [j]], model.C[[d]], model.D[[d]][:, [j]]
            _, wanted = signal.dlti(*matrices, dt=1.0).freqresp(2 * np.pi * frequencies)
            scaled = wanted * units.y_std[d] / units.u_std[j]
            np.testing.assert_allclose(found[j, :, d], scaled, rtol=1e-9)


def test_the_step_response_ends_at_the_gain_of_slow_inputs(model):
    gain = frequency_response(model, np.array([0.0]))[:, 0].real
    end = step_response(model, 400)[:, -1] / model.normalisation.u_std[:, None]
    np.testing.assert_allclose(end, gain, rtol=1e-9)


@pytest.mark.parametrize(("pole", "stable"), [(0.99, True), (1.0, False), (-1.01, False)])
def test_a_pole_decides_whether_it_is_stable(model, pole, stable):
    one = np.array([[pole]])
    rest = np.ones((1, 3)), np.ones((2, 1)), model.D, np.ones((1, 2)), model.R, one
    assert is_stable(LinearModel(one, *rest, model.normalisation)) is stable
