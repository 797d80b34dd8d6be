"""How to train: batches, optimiser, weights of the ELBO, stages, validation, precision."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from pydantic import AfterValidator, Field, field_validator, model_validator

from gpssm.base.settings import Settings
from gpssm.inference import Model, Weights
from gpssm.metrics import selecting_metric

from .groups import RateFactors, check_factors

_STATE_KL_AT_K_1 = 10.0  # default weight of the state KL where k = 1
MOST_STEPS = 1_000_000_000
LARGEST_WEIGHT = 1e9
Factor = Annotated[float, Field(ge=0, le=1e6)]


class Stage(Settings):
    """First steps of training with other settings; None: as in `Training`."""

    steps: int = Field(ge=1, le=MOST_STEPS, description="gradient steps of this stage")
    sequence_length: int | None = Field(
        None, ge=2, le=10_000_000, description="time steps per sequence"
    )
    batch_size: int | None = Field(None, ge=1, le=1_000_000, description="sequences per step")
    state_kl: float | None = Field(
        None, ge=0, le=LARGEST_WEIGHT, description="weight of the state KL"
    )
    entropy: float | None = Field(
        None, ge=0, le=LARGEST_WEIGHT, description="weight of the entropy"
    )


class TrainingOptions(TypedDict, total=False):
    """The settings of `Training` by name, for signatures of functions."""

    steps: int
    batch_size: int
    sequence_length: int
    grow: bool
    horizon: int | None
    stride: int
    starts: int
    half_life: float | None
    stages: Sequence[Stage]
    learning_rate: float
    rate_factors: Mapping[str, float]
    schedule: Literal["cosine", "constant"]
    warmup_steps: int
    clip_norm: float
    average: float
    state_kl: float | None
    inducing_kl: float
    entropy: float
    kl_warmup_steps: int
    precision: Literal["mixed", "float64"]
    validate_steps: int
    validation_metric: str
    validation_warmup: int
    patience: int | None
    calibrate: bool
    tune_filter: bool
    checkpoint_steps: int
    checkpoint_seconds: float


class Training(Settings):
    """Settings of the training loop. The defaults suit logs of hundreds to thousands of rows."""

    steps: int = Field(1000, ge=1, le=MOST_STEPS, description="gradient steps")
    batch_size: int = Field(10, ge=1, le=1_000_000, description="sequences per step")
    sequence_length: int = Field(50, ge=2, le=10_000_000, description="time steps per sequence")
    grow: bool = Field(
        False, description="sequences grow to the length that the plant needs; see below"
    )
    horizon: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="steps of the forecasts that will be asked for; None: any. It limits `grow`",
    )
    stride: int = Field(
        1, ge=1, le=10_000_000, description="rows between the starts of two sequences"
    )
    starts: int = Field(
        1,
        ge=1,
        le=1000,
        description="random restarts per seed; keeps the first that has not failed",
    )
    half_life: float | None = Field(
        None,
        gt=0,
        le=1e12,
        description="age in rows at which data have half the weight; None: equal weights",
    )
    stages: tuple[Stage, ...] = Field((), description="first steps with other settings; see below")
    # Optimiser
    learning_rate: float = Field(0.1, gt=0, le=1000, description="highest learning rate of Adam")
    rate_factors: Annotated[dict[str, Factor], AfterValidator(check_factors)] = Field(
        RateFactors(), description="factors on the learning rate, by group of parameters; see below"
    )
    schedule: Literal["cosine", "constant"] = Field(
        "cosine", description="schedule of the learning rate after its warm-up"
    )
    warmup_steps: int = Field(20, ge=0, le=MOST_STEPS, description="steps of rising learning rate")
    clip_norm: float = Field(
        100.0, gt=0, le=math.inf, description="largest gradient norm per time step"
    )
    average: float = Field(
        0.99, ge=0, lt=1, description="decay of the parameter average that predictions use"
    )
    # Weights of the ELBO
    state_kl: float | None = Field(
        None,
        ge=0,
        le=LARGEST_WEIGHT,
        description="weight of the state KL; None: the larger of 10 / k and 1",
    )
    inducing_kl: float = Field(
        1.0,
        ge=0,
        le=LARGEST_WEIGHT,
        description="weight of the KL of the inducing values; 1: once for all the data",
    )
    entropy: float = Field(
        0.0, ge=0, le=LARGEST_WEIGHT, description="weight of the entropy of the backward pass"
    )
    kl_warmup_steps: int = Field(
        0, ge=0, le=MOST_STEPS, description="steps over which the weights of both KLs rise from 0"
    )
    precision: Literal["mixed", "float64"] = Field(
        "mixed", description="mixed: factorisation in float64, rollout in float32"
    )
    # Validation, if fit has validation data
    validate_steps: int = Field(
        100, ge=1, le=MOST_STEPS, description="steps between two validations"
    )
    validation_metric: str = Field(
        "rmse", description="name of the metric that selects the best parameters"
    )
    validation_warmup: int = Field(
        16, ge=1, le=1_000_000, description="warm-up of a scored forecast, in rows"
    )
    patience: int | None = Field(
        None,
        ge=1,
        le=MOST_STEPS,
        description="validations without improvement before a stop; None: no limit",
    )
    calibrate: bool = Field(
        True, description="after training, set the noise that makes long forecasts most likely"
    )
    tune_filter: bool = Field(
        True, description="after training, set the noise of filters: of beliefs, one step ahead"
    )
    # Checkpoints, if fit has a run_dir
    checkpoint_steps: int = Field(
        1000, ge=1, le=MOST_STEPS, description="most steps between checkpoints"
    )
    checkpoint_seconds: float = Field(
        60.0, ge=0, le=math.inf, description="most seconds between checkpoints"
    )

    @field_validator("validation_metric")
    @classmethod
    def _tells_better_from_worse(cls, name: str) -> str:
        return selecting_metric(name, "validation_metric").name

    @model_validator(mode="after")
    def _stages_leave_some_steps(self) -> "Training":
        total = sum(stage.steps for stage in self.stages)
        if self.stages and total >= self.steps:
            raise ValueError(
                f"stages: got {total} steps in all of them, expected fewer than the "
                f"{self.steps} `steps`. The steps after the stages use the other settings."
            )
        return self

    @model_validator(mode="after")
    def _grows_without_stages(self) -> "Training":
        if self.grow and self.stages:
            raise ValueError("grow: got True with stages, expected one of them. Leave one out.")
        return self

    @property
    def dtype(self) -> str:
        """Floating-point type of the rollout."""
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
            state_kl=default_state_kl(model.k) if self.state_kl is None else self.state_kl,
            inducing_kl=self.inducing_kl * share / count,
            entropy=self.entropy,
            parameter_kl=share,  # once for all the data
        )


def default_state_kl(k: float) -> float:
    """The default weight of the state KL: 10 for k = 1, and 1 from k = 10 on.

    With k = 1 and a weight of 1, as in a bound on the evidence, a model may rely on corrections
    that a forecast does not have: docs/method.md.
    """
    return max(1.0, _STATE_KL_AT_K_1 / k)
