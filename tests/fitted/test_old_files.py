"""Model files that were written before load today, and forecast what they did then.

All but one are of format 1: five training steps on 120 rows, three inducing points.
"""

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import gpssm
from gpssm.fitted import modelfile

FILES = Path(__file__).with_name("files")
U, Y = np.linspace(-1.0, 1.0, 8)[:, None], np.array([[0.1], [0.2], [0.3]])
FORECASTS = {  # the mean from row 2 on, as the version that wrote the file gave it
    "cbf-ssm": "0.1567024 0.0778877 0.1800422 0.2662545 0.3183360 0.4179269",
    "cbf-ssm-conv": "-0.7490915 -0.6873734 -0.5463763 -0.3679383 -0.2285946 -0.0779636",
    "cbf-ssm-format-2": "0.0272997 -0.0745980 -0.0236132 0.0436153 0.1238441 0.2534953",
    "pr-ssm-mlp": "-0.5230528 -0.4845662 -0.3444759 -0.1642843 -0.0371548 0.0983306",
    "pr-ssm-output": "-0.2432430 -0.2638852 -0.1375779 -0.0081483 0.0901825 0.2167980",
    "vcdt-gru": "-0.3400578 -0.3399877 -0.2128091 -0.0763933 0.0147745 0.1366753",
}


@pytest.mark.parametrize("name", FORECASTS)
def test_an_old_file_forecasts_what_it_did(name):
    """In float32, whose last digit differs from processor to processor."""
    forecast = gpssm.load(FILES / f"{name}.gpssm").predict(U, Y)
    then = np.array(FORECASTS[name].split(), float)
    np.testing.assert_allclose(forecast.mean[2:, 0], then, rtol=1e-5, atol=1e-6)


def test_an_old_file_is_saved_in_the_present_format(tmp_path):
    old = gpssm.load(FILES / "vcdt-gru.gpssm")
    path = old.save(tmp_path / "new.gpssm")
    with safe_open(path, framework="numpy") as file:
        assert file.metadata()["format"] == str(modelfile.FORMAT)
        assert "recognition.encoder.weight_hh" in file.keys()  # noqa: SIM118
    ours, theirs = (run.predict(U, Y).particles for run in (gpssm.load(path), old))
    np.testing.assert_array_equal(ours, theirs)


def test_every_stored_file_is_tested():
    assert {path.stem for path in FILES.glob("*.gpssm")} == set(FORECASTS)
