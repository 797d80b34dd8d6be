"""Peak memory and time of long forecasts and of many scenarios, each in a process of its own.

    python benchmarks/long_forecasts.py

The model is one of the small benchmark's size; what it has learned does not matter here.
"""

import json
import resource
import subprocess
import sys
import time

CASES = (  # steps, scenarios, particles
    (1_000, 1, 100),
    (100_000, 1, 100),
    (300, 2_000, 100),
)
BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def measure(steps: int, scenarios: int, particles: int) -> dict[str, float]:
    import numpy as np

    import gpssm

    gpssm.prepare(1)
    rng = np.random.default_rng(0)
    u = rng.standard_normal((300, 1))
    y = np.convolve(u[:, 0], 0.8 ** np.arange(20))[:300, None]
    model = gpssm.cbf_ssm(dim_x=4, inducing_points=20)
    run = gpssm.fit(model, u=u, y=y, steps=20, quiet=True, calibrate=False)
    inputs = rng.standard_normal((scenarios, steps, 1))
    before, begin = _peak(), time.perf_counter()
    found = run.outlook(inputs, y[:16], particles=particles)
    assert np.isfinite(found.std).all()
    return {
        "steps": steps,
        "scenarios": scenarios,
        "particles": particles,
        "seconds": time.perf_counter() - begin,
        "MB before": before,
        "MB peak": _peak(),
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_UNIT / 1e6


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(*map(int, sys.argv[1:]))))
        return
    columns = "steps", "scenarios", "particles", "seconds", "MB before", "MB peak"
    print("| " + " | ".join(columns) + " |\n" + "|---:" * len(columns) + "|")
    for case in CASES:
        command = [sys.executable, __file__, *map(str, case)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        print("| " + " | ".join(f"{found[name]:.0f}" for name in columns) + " |", flush=True)


if __name__ == "__main__":
    main()
