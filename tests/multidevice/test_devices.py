"""Several devices give the numbers of one; several seeds those of each alone."""

import ast
import json
import subprocess
import sys

import numpy as np

SCRIPT = """
import json, sys
import jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
import numpy as np
import gpssm

rng = np.random.default_rng(0)
u = rng.standard_normal((200, 1))
y = np.convolve(u[:, 0], 0.8 ** np.arange(20))[:200, None] + 0.1 * rng.standard_normal((200, 1))
model = gpssm.cbf_ssm(dim_x=2, inducing_points=5, particles=4, lag=4)
settings = dict(
    u=u, y=y, steps=12, batch_size=3, sequence_length=12, quiet=True, calibrate=False
)
runs = [gpssm.fit(model, **settings), *gpssm.fit(model, seeds=2, **settings)]
assert len(jax.devices()) == int(sys.argv[1])
means = [run.predict(u[:40], y[:8]).mean.ravel().tolist() for run in runs]
print(json.dumps({"elbo": [r.history.table["elbo"].tolist() for r in runs], "mean": means}))
"""


def outcome(devices: int) -> dict:
    command = [sys.executable, "-c", SCRIPT, str(devices)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_eight_devices_and_several_seeds_equal_one():
    """Six of the eight: one for each of three sequences and each half of four particles."""
    one, eight = outcome(1), outcome(8)
    for name in ("elbo", "mean"):
        np.testing.assert_allclose(eight[name], one[name], rtol=2e-3, atol=2e-3)
        alone, in_company, other_seed = one[name]
        np.testing.assert_allclose(in_company, alone, rtol=2e-3, atol=2e-3)
        assert np.max(np.abs(np.subtract(other_seed, alone))) > 0.02


def test_the_mesh_takes_as_many_devices_as_can_have_equal_shares():
    """[sequences, particles]; sequences are cut rather than particles."""
    script = (
        "import jax; jax.config.update('jax_num_cpu_devices', 8)\n"
        "from gpssm.training.devices import make_mesh\n"
        "pairs = (1, 1), (6, 1), (7, 1), (16, 50), (10, 1), (3, 4), (5, 20), (7, 50), (1, 50)\n"
        "print([make_mesh(*pair).devices.shape for pair in pairs])\n"
        "print([make_mesh(5, 20, jax.devices()[:2]).devices.shape])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    eight, two = (ast.literal_eval(line) for line in done.stdout.splitlines())
    assert eight == [(1, 1), (6, 1), (7, 1), (8, 1), (5, 1), (3, 2), (5, 1), (7, 1), (1, 5)]
    assert two == [(1, 2)]


MANY_INDUCING_POINTS = """
import jax, numpy as np, gpssm
gpssm.prepare(cores=2)
rng = np.random.default_rng(0)
model = gpssm.cbf_ssm(dim_x=2, inducing_points=60, particles=2, lag=4)
u, y = rng.standard_normal((2, 60, 1))
settings = dict(steps=60, batch_size=2, sequence_length=12, quiet=True, calibrate=False)
runs = gpssm.fit(model, u=u, y=y, seeds=4, **settings)
assert len(jax.devices()) == 2 and len(runs) == 4
"""


def test_many_inducing_points_and_seeds_do_not_wait_for_each_other_for_ever():
    """They did where LAPACK was given batches: see `gpssm.gp.cholesky`."""
    command = [sys.executable, "-c", MANY_INDUCING_POINTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
