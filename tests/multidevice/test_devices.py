"""Several devices give the numbers of one; several seeds those of each alone."""

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
    u=u, y=y, steps=12, batch_size=8, sequence_length=12, quiet=True, calibrate=False
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
    one, eight = outcome(1), outcome(8)
    for name in ("elbo", "mean"):
        np.testing.assert_allclose(eight[name], one[name], rtol=2e-3, atol=2e-3)
        alone, in_company, other_seed = one[name]
        np.testing.assert_allclose(in_company, alone, rtol=2e-3, atol=2e-3)
        assert np.max(np.abs(np.subtract(other_seed, alone))) > 0.02


def test_the_mesh_takes_as_many_devices_as_divide_the_batch():
    script = (
        "import jax; jax.config.update('jax_num_cpu_devices', 8)\n"
        "from gpssm.training.devices import make_mesh\n"
        "print([make_mesh(n).size for n in (1, 6, 7, 8, 10, 12, 16)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [1, 6, 7, 8, 5, 6, 8]
