"""How to train: batches, optimiser, weights of the ELBO, stages, validation, precision."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from gpssm.inference import Model, Weights
from gpssm.settings import Settings

from .groups import RateFactors, check_factors

_DEAR = 10.0  # what a correction should cost where k = 1
Factor = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Stage(Settings):
    """Some steps at the beginning of training with other settings; None: as in `Training`."""

    steps: int = Field(ge=1, description="gradient steps of this stage")
    sequence_length: int | None = Field(None, ge=2, description="time steps per sequence")
    batch_size: int | None = Field(None, ge=1, description="sequences per step")
    state_kl: float | None = Field(None, ge=0, description="weight of the KL of the states")
    entropy: float | None = Field(None, ge=0, description="weight of the entropy")


class Training(Settings):
    """Settings of the training loop. The defaults suit a log of some hundred to thousand rows."""

    steps: int = Field(1000, ge=1, description="gradient steps")
    batch_size: int = Field(10, ge=1, description="sequences per step")
    sequence_length: int = Field(50, ge=2, description="time steps per sequence")
    stride: int = Field(1, ge=1, description="rows between the starts of two sequences")
    starts: int = Field(
        1, ge=1, description="trainings of each seed, of which one is kept that has not failed"
    )
    half_life: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="rows after which data count half: for plants that drift; None: all",
    )
    stages: tuple[Stage, ...] = Field(
        (), description="what comes first, with other settings; see below"
    )
    # Optimiser
    learning_rate: float = Field(0.1, gt=0, description="highest learning rate of Adam")
    rate_factors: Annotated[dict[str, Factor], AfterValidator(check_factors)] = Field(
        RateFactors(), description="learning rates of groups of parameters; see below"
    )
    schedule: Literal["cosine", "constant"] = Field(
        "cosine", description="of the learning rate after its warm-up"
    )
    warmup_steps: int = Field(20, ge=0, description="over which the learning rate rises from 0")
    clip_norm: float = Field(100.0, gt=0, description="largest norm of a gradient per time step")
    average: float = Field(
        0.99, ge=0, lt=1, description="memory of the average of the parameters; predictions use it"
    )
    # Weights of the ELBO
    state_kl: float | None = Field(
        None, ge=0, description="weight of the KL of the conditioned states; None: 10 / k, or 1"
    )
    inducing_kl: float = Field(
        1.0, ge=0, description="1: the KL of the inducing values counts once for all the data"
    )
    entropy: float = Field(0.0, ge=0, description="weight of the entropy of the backward pass")
    kl_warmup_steps: int = Field(
        0, ge=0, description="over which the weights of both KLs rise to their value"
    )
    precision: Literal["mixed", "float64"] = Field(
        "mixed", description="mixed: factorisation in float64, rollout in float32"
    )
    # Validation, where fit is given some
    validate_steps: int = Field(100, ge=1, description="steps between two validations")
    validation_metric: Literal["rmse", "log_likelihood"] = Field(
        "rmse", description="which score of the forecasts decides what is best"
    )
    validation_warmup: int = Field(16, ge=1, description="outputs that a scored forecast sees")
    patience: int | None = Field(
        None, ge=1, description="validations without a better one until training stops; None: never"
    )

    calibrate: bool = Field(
        True, description="set the noise, at the end, so that long forecasts are most likely"
    )
    # Checkpoints, where fit has a run_dir
    checkpoint_steps: int = Field(1000, ge=1, description="steps between two checkpoints, at most")
    checkpoint_seconds: float = Field(
        60.0, ge=0, description="seconds between two checkpoints, at most"
    )

    @model_validator(mode="after")
    def _stages_leave_some_steps(self) -> "Training":
        total = sum(stage.steps for stage in self.stages)
        if self.stages and total >= self.steps:
            raise ValueError(
                f"stages: got {total} steps in all of them, expected fewer than the "
                f"{self.steps} `steps`. The steps after the stages use the other settings."
            )
        return self

    @property
    def dtype(self) -> str:
        """Of the rollout."""
        return "float64" if self.precision == "float64" else "float32"

    def phases(self) -> tuple[tuple[int, "Training"], ...]:
        """The stages and what follows them: the step at which each ends, and its settings."""
        plain, end, found = self.replace(stages=()), 0, []
        for stage in self.stages:
            end += stage.steps
            changes = stage.model_dump(exclude={"steps"}, exclude_none=True)
            found.append((end, plain.replace(**changes)))
        return (*found, (self.steps, plain))

    def weights(self, model: Model, rows: float) -> Weights:
        """β of the ELBO of one sequence, out of `rows` time steps of training data."""
        share = self.sequence_length / rows
        count = model.draw.kl_count(self.sequence_length)
        return Weights(
            state_kl=price_of_corrections(model.k) if self.state_kl is None else self.state_kl,
            inducing_kl=self.inducing_kl * share / count,
            entropy=self.entropy,
            parameter_kl=share,  # once for all the data
        )


def price_of_corrections(k: float) -> float:
    """The weight of the KL of the states where none is given: 10 for k = 1, and 1 from k = 10 on.

    With k = 1 and a weight of 1, as in a bound on the evidence, a model may lean on corrections
    that a forecast does not have: docs/method.md.
    """
    return max(1.0, _DEAR / k)
