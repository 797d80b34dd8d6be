"""Methods and recognition models by name: known without JAX, and added by one file and one line."""

import subprocess
import sys

import numpy as np
import pytest

import gpssm
from gpssm import ConfigError, Dataset
from gpssm.inference.methods.abstract import find_method
from gpssm.inference.methods.registry import METHODS, TARGETS, Entry, register
from gpssm.inference.recognition import RECOGNITIONS, find_recognition
from gpssm.study.trials import training_cost

TINY = {"dim_x": 2, "inducing_points": 3, "particles": 4, "warmup": 3}


def test_names_are_listed_without_jax():
    program = (
        "import sys; from gpssm.inference.methods.registry import METHODS; "
        "print(*METHODS, [m for m in ('jax', 'equinox', 'pandas') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.split() == ["pr-ssm", "vcdt", "cbf-ssm-1", "cbf-ssm-50", "cbf-ssm-1s", "[]"]


@pytest.mark.parametrize("field", ["target", "recognition"])
def test_an_unknown_name_is_refused_with_those_that_there_are(field):
    *others, last = (repr(name) for name in {"target": TARGETS, "recognition": RECOGNITIONS}[field])
    message = f"^{field}: got 'magic', expected {', '.join(others)} or {last}.$"
    with pytest.raises(ConfigError, match=message):
        gpssm.Model(**{field: "magic"})


@pytest.mark.parametrize("name", METHODS)
def test_every_entry_leads_to_its_method(name):
    """A backward pass is a second pass over the time steps."""
    config = gpssm.method(name)
    assert config.target == METHODS[name].target
    assert find_method(config).passes == 1 + METHODS[name].has_backward_pass
    assert find_method(config).conditions == (name != "pr-ssm")
    assert training_cost(config, gpssm.Training()) > 0.0


def test_recognitions_say_what_they_need():
    needed = {name: find_recognition(name).shortest_warmup(7) for name in RECOGNITIONS}
    assert needed == {"output": 1, "mlp": 7, "conv": 7, "gru": 7, "smoother": 1}


@pytest.fixture
def toys():
    """Both toys, by one line each; the registries are as before after the test."""
    targets, methods, recognitions = dict(TARGETS), dict(METHODS), dict(RECOGNITIONS)
    register(Entry("toy", "toy:TOY", {"toy-ssm": {"recognition": "zero"}}))
    RECOGNITIONS["zero"] = "toy:Zero"
    yield
    for table, before in ((TARGETS, targets), (METHODS, methods), (RECOGNITIONS, recognitions)):
        table.clear()
        table.update(before)


def test_a_method_from_one_file_fits_forecasts_and_is_saved(toys, tmp_path):
    rng = np.random.default_rng(0)
    u = rng.standard_normal((60, 1))
    data = Dataset.from_arrays(0.3 * np.cumsum(u, axis=0), u)
    model = gpssm.method("toy-ssm", **TINY)
    assert (model.name, model.target, model.shortest_warmup) == ("toy-ssm", "toy", 2)
    run = gpssm.fit(model, data, steps=3, batch_size=2, sequence_length=6)
    assert np.all(np.isfinite(run.history.table["elbo"]))
    loaded = gpssm.load(run.save(tmp_path / "toy.gpssm"))
    for each in (run, loaded):
        forecast = each.predict(u[:9], data.experiments[0].y[:2])
        assert np.all(np.isfinite(forecast.mean))
    np.testing.assert_array_equal(
        forecast.particles, run.predict(u[:9], data.experiments[0].y[:2]).particles
    )
    rate = {"rate_factors": {"method": 0.0}}
    still = gpssm.fit(model, data, steps=3, batch_size=2, sequence_length=6, **rate)
    moved = run.system.posterior.added.value - still.system.posterior.added.value
    assert np.all(moved != 0.0)
