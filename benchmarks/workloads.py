"""The sizes that are measured, and how much arithmetic one gradient step of each must do."""

from dataclasses import dataclass

import numpy as np

from gpssm import Dataset, Model, Normalisation, Training, method
from gpssm.data import make_windows
from gpssm.inference.backward import plan_windows


@dataclass(frozen=True)
class Workload:
    """One row of the table of sizes."""

    name: str
    batch: int
    steps: int
    particles: int
    dim_x: int
    dim_u: int
    dim_y: int
    inducing: int
    lag: int | None


WORKLOADS = {
    w.name: w
    for w in (
        Workload("small", 10, 50, 50, 4, 1, 1, 20, 16),
        Workload("car", 32, 300, 50, 4, 2, 2, 100, 50),
        Workload("sarcos", 5, 250, 20, 14, 7, 7, 100, 16),
        Workload("grown", 4, 300, 50, 4, 1, 1, 20, 16),  # sequences that grow: see `Training.grow`
        Workload("longest", 2, 1000, 50, 4, 1, 1, 20, 16),
        Workload("long", 10, 3000, 50, 4, 1, 1, 50, 16),
    )
}


def configure(workload: Workload, preset: str, **settings) -> tuple[Model, Training]:
    model = method(
        preset,
        **{
            "dim_x": workload.dim_x,
            "inducing_points": workload.inducing,
            "particles": workload.particles,
            "lag": workload.lag,
            **settings,
        },
    )
    return model, Training(batch_size=workload.batch, sequence_length=workload.steps, steps=10_000)


def make_data(workload: Workload) -> Dataset:
    """Smooth signals."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((2 * workload.steps + 1000, workload.dim_u))
    mixing = rng.standard_normal((workload.dim_u, workload.dim_y))
    return Dataset.from_arrays(np.sin(0.1 * np.cumsum(u @ mixing, axis=0)), u)


def make_training_windows(workload: Workload, training: Training):
    data = make_data(workload)
    normalisation = Normalisation.of(data)
    return make_windows(data, normalisation, workload.steps, 1, training.dtype)


def arithmetic(workload: Workload, config: Model) -> tuple[float, float]:
    """Floating-point operations and exponentials of one gradient step, each of them once.

    Per column and GP: k(z, x) from differences, a, b and the mean by one product, the variance.
    The reverse pass needs two products of the size of that one, for k(z, x) and for what it was
    multiplied with. What it computes again to save memory is not counted.
    """
    particles = workload.batch * workload.particles
    forward = (workload.steps - 1) * particles
    flops = forward * _per_column(workload, workload.dim_x + workload.dim_u, workload.dim_x)
    columns = forward
    hidden = config.hidden(workload.dim_y)
    if hidden:
        plan = plan_windows(workload.steps, config.lag)
        backward = (plan.depth - 1) * plan.windows * particles
        inputs = hidden + 2 * workload.dim_y + workload.dim_u
        flops += backward * _per_column(workload, inputs, hidden)
        columns += backward
    return flops, columns * workload.inducing


def _per_column(workload: Workload, inputs: int, outputs: int) -> float:
    m = workload.inducing
    products = 2.0 * m * (2.0 * m + outputs)
    variance = 2.0 * outputs * m + 4.0 * m
    kernel = 3.0 * inputs * m
    kernel_derivative = 2.0 * m * (2.0 * inputs + 1.0) + 2.0 * m * (inputs + 1.0)
    return 3.0 * products + 3.0 * variance + kernel + kernel_derivative
