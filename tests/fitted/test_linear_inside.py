"""Models with a linear part begin as the linear model, keep it in files, and see its inputs."""

from dataclasses import replace

import numpy as np
import pytest

import gpssm
from gpssm import Dataset
from gpssm.data.alignment import align_inputs
from gpssm.linear import forecasting_linear

SMALL = {"inducing_points": 5, "particles": 8, "lag": 8}
TRAINING = {"steps": 2, "batch_size": 2, "sequence_length": 20, "quiet": True}
ROWS = 160


@pytest.fixture(scope="module")
def data():
    """A first order plant with direct feedthrough, and little noise."""
    rng = np.random.default_rng(3)
    u, x, y = rng.normal(size=ROWS), 0.0, np.empty(ROWS)
    for t in range(ROWS):
        y[t] = x + 0.8 * u[t] + 0.02 * rng.normal()
        x = 0.9 * x + 0.3 * u[t]
    return Dataset.from_arrays(y, u)


@pytest.fixture(scope="module")
def linear(data):
    return forecasting_linear(data, orders=(2,))


@pytest.fixture(scope="module", autouse=True)
def found_once(linear):
    """The search for the linear model takes seconds: all fits of this file share one."""
    with pytest.MonkeyPatch.context() as patch:
        found = lambda data, orders, input_delays: replace(  # noqa: E731
            linear, alignment=input_delays or linear.alignment
        )
        patch.setattr("gpssm.fitted.linear_inside.forecasting_linear", found)
        yield


@pytest.fixture(scope="module")
def run(data, found_once):
    model = gpssm.cbf_ssm(dim_x=2, linear_part=True, **SMALL)
    return gpssm.fit(model, data, learning_rate=1e-6, calibrate=False, **TRAINING)


def test_before_training_it_forecasts_as_the_linear_model(data, linear, run):
    u, y = data[0].u, data[0].y
    ours = run.predict(u, y[:25], particles=400).mean[25:]
    theirs = linear.predict_mean(u, y[:25])[25:]
    assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.05 * y.std()
    assert np.sqrt(np.mean((ours - y[25:]) ** 2)) < 0.15 * y.std()


def test_it_sees_the_inputs_where_the_linear_model_does(linear, run):
    assert linear.alignment == (0,)
    assert run.model.input_delays == (0,)


def test_a_file_keeps_the_linear_part(data, run, tmp_path):
    kept = gpssm.load(run.save(tmp_path / "model.gpssm"))
    u, y = data[0].u, data[0].y
    assert kept.model == run.model
    assert np.array_equal(kept.predict(u, y[:20]).mean, run.predict(u, y[:20]).mean)


def test_delays_alone_are_data_with_other_rows(data):
    """A model with `input_delays` on data is the plain model on data that were aligned by hand."""
    model = gpssm.cbf_ssm(dim_x=2, input_delays=(0,), **SMALL)
    plain = model.replace(input_delays=None)
    moved = align_inputs(data, (0,))
    one, two = gpssm.fit(model, data, **TRAINING), gpssm.fit(plain, moved, **TRAINING)
    y = data[0].y
    found, wanted = one.predict(data[0].u, y[:20]), two.predict(moved[0].u, y[:20])
    # The mean and the spread of the inputs differ by the one row that is lost at the start.
    assert found.mean == pytest.approx(wanted.mean, abs=0.02)


def test_given_delays_are_kept(data):
    model = gpssm.cbf_ssm(dim_x=2, linear_part=True, input_delays=(1,), **SMALL)
    assert gpssm.fit(model, data, **TRAINING).model.input_delays == (1,)


@pytest.mark.parametrize("method", ["pr-ssm", "vcdt", "cbf-ssm-1s"])
def test_every_method_takes_a_linear_part(data, method):
    model = gpssm.method(method, dim_x=2, linear_part=True, input_delays=(0,), **SMALL)
    run = gpssm.fit(model, data, **TRAINING)
    u, y = data[0].u, data[0].y
    assert np.isfinite(run.predict(u, y[:20]).mean).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"start": "linear"}, "linear_part: got True with start='linear'"),
        ({"smoother_sees_next_output": False}, "smoother_sees_next_output: got False"),
        ({"input_delays": (-1,)}, "input_delays: got"),
    ],
)
def test_settings_that_contradict_it_are_refused(settings, words):
    with pytest.raises(gpssm.ConfigError, match=words):
        gpssm.cbf_ssm(linear_part=True, **settings)
