"""The sizes that are measured, and how much arithmetic one gradient step of each must do."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from gpssm.gp import make_keys
from gpssm.inference import Model, Sequences, System, build, method
from gpssm.inference.backward import plan_windows
from gpssm.inference.sequences import from_batch_first


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
    )
}


def make(workload: Workload, preset: str, **settings) -> tuple[System, Sequences, jax.Array]:
    """A system, a batch of smooth signals in float32, and keys."""
    key = jax.random.key(0)
    u = jax.random.normal(key, (workload.batch, workload.steps, workload.dim_u))
    mixing = jax.random.normal(jax.random.key(1), (workload.dim_u, workload.dim_y))
    y = jnp.sin(0.1 * jnp.cumsum(u @ mixing, axis=1))
    arrays = (a.astype(jnp.float32) for a in (u, y))
    sequences = from_batch_first(*arrays, jnp.ones(y.shape, bool))
    config = configure(workload, preset, **settings)
    return build(key, config, sequences), sequences, make_keys(key, workload.batch)


def configure(workload: Workload, preset: str, **settings) -> Model:
    sizes = {
        "dim_x": workload.dim_x,
        "inducing_points": workload.inducing,
        "particles": workload.particles,
        "lag": workload.lag,
    }
    return method(preset, **{**sizes, **settings})


def arithmetic(workload: Workload, config: Model) -> tuple[float, float]:
    """Floating-point operations and exponentials of one gradient step.

    Per column and GP: k(z, x) from differences, a = Lz⁻¹k, b = Lz⁻ᵀa, mean and variance. The
    reverse pass computes them again (the step is checkpointed) and needs twice as much.
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
    return 4.0 * flops, 2.0 * columns * workload.inducing


def _per_column(workload: Workload, inputs: int, outputs: int) -> float:
    m = workload.inducing
    return 4.0 * m * m + 3.0 * inputs * m + 4.0 * outputs * m + 2.0 * m
