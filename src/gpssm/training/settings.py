"""How to train: batches, optimiser, weights of the ELBO, precision."""

from typing import Literal

from pydantic import Field

from gpssm.inference import Model, Weights
from gpssm.settings import Settings


class Training(Settings):
    """Settings of the training loop. The defaults suit a log of some hundred to thousand rows."""

    steps: int = Field(2000, ge=1, description="gradient steps")
    batch_size: int = Field(10, ge=1, description="sequences per step")
    sequence_length: int = Field(50, ge=2, description="time steps per sequence")
    stride: int = Field(1, ge=1, description="rows between the starts of two sequences")
    # Optimiser
    learning_rate: float = Field(0.05, gt=0, description="highest learning rate of Adam")
    schedule: Literal["cosine", "constant"] = Field(
        "cosine", description="of the learning rate after its warm-up"
    )
    warmup_steps: int = Field(20, ge=0, description="over which the learning rate rises from 0")
    clip_norm: float = Field(100.0, gt=0, description="largest norm of a gradient per time step")
    average: float = Field(
        0.99, ge=0, lt=1, description="memory of the average of the parameters; predictions use it"
    )
    # Weights of the ELBO
    state_kl: float = Field(1.0, ge=0, description="weight of the KL of the conditioned states")
    inducing_kl: float = Field(
        1.0, ge=0, description="1: the KL of the inducing values counts once for all the data"
    )
    entropy: float = Field(0.0, ge=0, description="weight of the entropy of the backward pass")
    precision: Literal["mixed", "float64"] = Field(
        "mixed", description="mixed: factorisation in float64, rollout in float32"
    )

    # Checkpoints, where fit has a run_dir
    checkpoint_steps: int = Field(1000, ge=1, description="steps between two checkpoints, at most")
    checkpoint_seconds: float = Field(
        60.0, ge=0, description="seconds between two checkpoints, at most"
    )

    @property
    def dtype(self) -> str:
        """Of the rollout."""
        return "float64" if self.precision == "float64" else "float32"

    def weights(self, model: Model, rows: int) -> Weights:
        """β of the ELBO of one sequence, out of `rows` time steps of training data."""
        share = self.sequence_length / rows
        count = model.draw.kl_count(self.sequence_length)
        return Weights(
            state_kl=self.state_kl,
            inducing_kl=self.inducing_kl * share / count,
            entropy=self.entropy,
        )
