"""One variational family. PR-SSM, VCDT and the CBF-SSM variants are settings of it.

q(x[1] given y[1:t']) q(u_f) Π q(x[t+1] given x[t], f_t, target[t+1])
and, where the target is the smoothed pseudo-state, q(u_b) and the backward pass.
"""

import math
from typing import Annotated, Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from pydantic import Field, InstanceOf, field_serializer, model_validator

from gpssm.base.settings import OneOf, Settings
from gpssm.gp import FUNCTION_DRAWS, FunctionDraw, SparseGP, make_kernel
from gpssm.gp.positive import positive
from gpssm.model import Physics, StateSpaceModel

from .methods.registry import TARGETS
from .recognition import RECOGNITIONS, AbstractRecognition, find_recognition


class Model(Settings):
    """What to fit: state-space model, variational family, and initial values.

    Initial values are in normalised units, in which every channel has unit variance.
    """

    name: str = Field("custom", description="name of the model in reports")
    dim_x: int = Field(
        4, ge=1, le=1000, description="number of states, outputs included; physics sets its own"
    )
    physics: InstanceOf[Physics] | None = Field(
        None, description="known equations of motion, completed by the GP; None: a black box"
    )
    linear_part: bool = Field(
        False, description="a linear model inside: the GP learns what that leaves"
    )
    input_delays: tuple[int, ...] | None = Field(
        None,
        description="steps after which each input acts, 0 for direct feedthrough; None: 1 each",
    )
    # The family
    target: Annotated[str, OneOf(TARGETS)] = Field(
        "smoother",
        description="what x[t+1] is conditioned on: nothing, y[t+1], or the smoothed pseudo-state",
    )
    function_draw: Literal["independent", "trajectory", "mean", "delta", "pathwise"] = Field(
        "independent", description="how f is drawn along a trajectory"
    )
    k: float = Field(
        50.0, ge=1, le=math.inf, description="soft conditioning: 1 is a Kalman update, inf is none"
    )
    recognition: Annotated[str, OneOf(RECOGNITIONS)] = Field(
        "smoother",
        description="how to estimate x[1]: from y[1], by a network, or by the backward pass",
    )
    warmup: int = Field(
        16, ge=1, le=100_000, description="outputs that a recognition network sees, t'"
    )
    lag: int | None = Field(
        16,
        ge=1,
        le=1_000_000,
        description="look-ahead of a window of the backward pass; None: no windows",
    )
    lookahead: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="later outputs needed before a smoothed hidden state is used",
    )
    smoother_sees_next_output: bool = Field(
        True, description="the backward GP takes y[t+1] as an input (not in the authors' code)"
    )
    smoother_sees_steps: bool = Field(
        False, description="the backward GP takes y[t+1] − y[t], scaled, in place of y[t+1]"
    )
    inflate_noise: bool = Field(
        False, description="conditioning as in the authors' code, r + (k − 1) v⁻ in place of r"
    )
    noise_draw: Literal["independent", "shared"] = Field(
        "independent", description="`shared`: one draw for all state dimensions of a particle"
    )
    particles: int = Field(
        50, ge=1, le=1_000_000, description="samples of the states of each sequence"
    )
    # The Gaussian processes
    kernel: str = Field("rbf", description="name; sums `a+b` and products `a*b` are allowed")
    smoother_kernel: str | None = Field(
        None, description="kernel of the backward GP; None: the same as `kernel`"
    )
    kernel_per_output: bool = Field(
        False, description="one set of kernel hyper-parameters per GP output, not one for all"
    )
    inducing_points: int = Field(20, ge=1, le=100_000, description="M, the number for each GP")
    inducing_inputs: Literal["kmeans", "uniform"] = Field(
        "uniform", description="initially k-means centres of lagged data, or uniform in a box"
    )
    covariance: Literal["diagonal", "full", "delta"] = Field(
        "diagonal", description="covariance of q(u): diagonal, full (Cholesky), or zero"
    )
    whitened: bool = Field(False, description="q is over the whitened v = Lz⁻¹ u, not over u")
    # Where training starts
    start: Literal["noise", "linear"] = Field(
        "noise", description="initial GPs: near zero, or a linear model fitted to the data"
    )
    kernel_variance: float = Field(0.25, gt=0, le=1e12, description="initial σ² of the kernel")
    lengthscale: float = Field(2.0, gt=0, le=1e12, description="initial ℓ of the kernel")
    inducing_range: float = Field(
        2.0, gt=0, le=1e6, description="half width of the box of uniform inducing inputs"
    )
    inducing_mean: float = Field(
        0.0025, ge=0, le=1e6, description="initial size of the mean of q(u)"
    )
    inducing_std: float = Field(
        0.01, gt=0, le=1e6, description="initial standard deviation of q(u)"
    )
    process_variance: float = Field(4e-6, gt=0, le=1e12, description="initial Σx")
    output_variance: float = Field(1.0, gt=0, le=1e12, description="initial Σy")
    hidden_variance: float | None = Field(
        None, gt=0, le=1e12, description="initial hidden entries of r; None: as `output_variance`"
    )
    informative_initial_state: bool = Field(False, description="KL(q(x[1])‖p(x[1])) in the ELBO")

    @model_validator(mode="before")
    @classmethod
    def _states_of_physics(cls, values: dict[str, Any]) -> dict[str, Any]:
        physics = values.get("physics")
        if not isinstance(physics, Physics):
            return values
        states = len(physics.states)
        if values.get("dim_x", states) != states:
            raise ValueError(
                f"dim_x: got {values['dim_x']}, expected the {states} states of "
                f"{physics.name!r}. Leave it out."
            )
        if values.get("smoother_sees_steps", False):
            raise ValueError(
                "smoother_sees_steps: got True with physics, expected False: physics has an "
                "innovation instead. Set `smoother_sees` of the physics."
            )
        if values.get("start", "noise") != "noise":
            raise ValueError(
                f"start: got {values['start']!r} with physics, expected 'noise': it starts from "
                "its equations of motion."
            )
        if not values.get("smoother_sees_next_output", True):
            raise ValueError(
                "smoother_sees_next_output: got False with physics, which runs backwards from "
                "y[t+1]. Set `smoother_sees` of the physics."
            )
        return {**values, "dim_x": states}

    @field_serializer("physics")
    def _without_functions(self, physics: Physics | None) -> dict[str, Any] | None:
        return None if physics is None else physics.describe()

    @model_validator(mode="after")
    def _fits_the_linear_part(self) -> "Model":
        if self.linear_part and self.physics is not None:
            raise ValueError(
                "linear_part: got True with physics, expected False: the equations of motion are "
                "the mean function then."
            )
        if self.linear_part and (self.start != "noise" or self.smoother_sees_steps):
            raise ValueError(
                "linear_part: got True with start='linear' or smoother_sees_steps, expected "
                "neither: training starts at the linear part."
            )
        if self.linear_part and not self.smoother_sees_next_output:
            raise ValueError(
                "smoother_sees_next_output: got False with linear_part, expected True: the linear "
                "backward pass sees y[t+1]."
            )
        if any(not 0 <= delay <= 1000 for delay in self.input_delays or ()):
            raise ValueError(
                f"input_delays: got {self.input_delays}, expected steps from 0 to 1000."
            )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> "Model":
        make_kernel(self.kernel, inputs=1)
        make_kernel(self.smoother_kernel or self.kernel, inputs=1)
        recognition = find_recognition(self.recognition)
        if recognition.needs_backward_pass and not TARGETS[self.target].has_backward_pass:
            smoothing = " or ".join(repr(t) for t, e in TARGETS.items() if e.has_backward_pass)
            raise ValueError(
                f"recognition: got {self.recognition!r} with target {self.target!r}, which has no "
                f"backward pass. Use recognition='mlp', or target={smoothing}."
            )
        if self.informative_initial_state and not recognition.is_gaussian:
            names = ", ".join(repr(n) for n in RECOGNITIONS if find_recognition(n).is_gaussian)
            raise ValueError(
                f"informative_initial_state: got True with recognition={self.recognition!r}, whose "
                f"x[1] is not Gaussian. Use one of {names}."
            )
        if self.smoother_sees_steps and not self.smoother_sees_next_output:
            raise ValueError(
                "smoother_sees_steps: got True without smoother_sees_next_output, expected both: "
                "the step y[t+1] − y[t] needs the next output."
            )
        if self.function_draw == "delta" and self.covariance != "delta":
            raise ValueError(
                f"covariance: got {self.covariance!r} with function_draw='delta', whose q(u) "
                "is a point. Use covariance='delta', or function_draw='mean'."
            )
        return self

    @property
    def draw(self) -> FunctionDraw:
        """How f is drawn along a trajectory."""
        return FUNCTION_DRAWS[self.function_draw]

    @property
    def shortest_warmup(self) -> int:
        """Number of outputs that the recognition needs."""
        return find_recognition(self.recognition).shortest_warmup(self.warmup)

    def hidden(self, dim_y: int) -> int:
        """Number of states that the backward pass estimates."""
        return self.dim_x - dim_y if TARGETS[self.target].has_backward_pass else 0


class Posterior(eqx.Module):
    """The parameters of q beyond those of the model and of q(u_f)."""

    recognition: AbstractRecognition
    smoother: SparseGP | None
    raw_hidden_noise: Float[Array, " hidden"]
    added: eqx.Module | None = None  # by the method

    @property
    def hidden_noise(self) -> Float[Array, " hidden"]:
        """r of the hidden components: the noise of the smoothed pseudo-state."""
        return positive(self.raw_hidden_noise)


class System(eqx.Module):
    """A model and its posterior: all learned parameters, with their settings."""

    model: StateSpaceModel
    posterior: Posterior
    config: Model = eqx.field(static=True)

    @property
    def target_noise(self) -> Float[Array, " states"]:
        """r of the conditioning step: Σy for the outputs, free for the hidden components."""
        return jnp.concatenate([self.model.emission.noise, self.posterior.hidden_noise])

    def with_particles(self, particles: int) -> "System":
        """The same parameters, rolled out with another number of particles."""
        return System(self.model, self.posterior, self.config.replace(particles=particles))
