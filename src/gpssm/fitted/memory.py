"""Lower bounds on the memory of training and forecasts, from the settings alone.

They count the largest arrays only. What they refuse cannot work; what they allow may still be too
much.
"""

import jax

from gpssm.base.memory import check_memory
from gpssm.inference import Model
from gpssm.training import Training

_DRAWN, _KEPT = 4, 8  # bytes of a number in a rollout, and of one in a forecast that is kept


def check_training(model: Model, training: Training, runs: int) -> None:
    """Raise if one gradient step of that many runs is larger than the memory."""
    for _, phase in training.phases():
        check_memory(
            training_bytes(model, phase, runs),
            f"{runs} runs × particles {model.particles} × batch_size {phase.batch_size} × "
            f"sequence_length {phase.sequence_length} × dim_x {model.dim_x}, with "
            f"inducing_points {model.inducing_points}",
            "Reduce the largest of them.",
        )


def training_bytes(model: Model, training: Training, runs: int) -> float:
    """The states of all steps, the kernel of one step, and the factors of the inducing inputs."""
    paths = model.particles * training.batch_size / jax.process_count()
    states = paths * training.sequence_length * model.dim_x
    kernel = paths * model.inducing_points
    factors = model.inducing_points**2
    return float(runs * (_DRAWN * (states + kernel) + _KEPT * factors))


def check_forecast(model: Model, steps: int, particles: int, outputs: int, kept: int = 0) -> None:
    """Raise if a forecast of that many steps, beside `kept` steps of others, is too large."""
    needed = particles * (_DRAWN * steps * model.dim_x + _KEPT * (steps + kept) * outputs)
    what = f"particles {particles} × {steps + kept} steps × {outputs} outputs"
    check_memory(needed, what, "Reduce particles, or forecast fewer steps.")
