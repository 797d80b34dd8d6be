"""One variational family. PR-SSM, VCDT and the CBF-SSM variants are settings of it.

q(x[1] given y[1:t']) q(u_f) Π q(x[t+1] given x[t], f_t, target[t+1])
and, where the target is the smoothed pseudo-state, q(u_b) and the backward pass.
"""

from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from pydantic import Field, InstanceOf, field_serializer, model_validator

from gpssm.gp import FUNCTION_DRAWS, FunctionDraw, SparseGP, make_kernel
from gpssm.gp.positive import positive
from gpssm.model import Physics, StateSpaceModel
from gpssm.settings import Settings

from .recognition import Recognition


class Model(Settings):
    """What to fit: the state-space model, the variational family, and where training starts.

    Initial values are in normalised units, in which every channel has unit variance.
    """

    name: str = Field("custom", description="how reports call the model")
    dim_x: int = Field(
        4, ge=1, description="number of states, outputs included; with physics, those it names"
    )
    physics: InstanceOf[Physics] | None = Field(
        None, description="equations of motion that the GP completes; None: a black box"
    )
    # The family
    target: Literal["none", "observation", "smoother"] = Field(
        "smoother",
        description="what x[t+1] is conditioned on: nothing, y[t+1], or the smoothed pseudo-state",
    )
    function_draw: Literal["independent", "trajectory", "mean", "delta", "pathwise"] = Field(
        "independent", description="how f is drawn along a trajectory"
    )
    k: float = Field(50.0, ge=1, description="soft conditioning: 1 is Kalman's update, inf is none")
    recognition: Literal["output", "mlp", "conv", "gru", "smoother"] = Field(
        "smoother",
        description="how x[1] is found: from y[1], by a network, or by the backward pass",
    )
    warmup: int = Field(16, ge=1, description="outputs that a recognition network sees, t'")
    lag: int | None = Field(
        16, ge=1, description="look-ahead of a window of the backward pass; None: no windows"
    )
    lookahead: int = Field(
        0, ge=0, description="later outputs that a smoothed hidden state must have seen to count"
    )
    smoother_sees_next_output: bool = Field(
        True, description="y[t+1] among the inputs of the backward GP (not in the authors' code)"
    )
    smoother_sees_steps: bool = Field(
        False, description="y[t+1] − y[t], scaled to unit size, in the place of y[t+1]"
    )
    inflate_noise: bool = Field(
        False, description="conditioning as in the authors' code, r + (k − 1) v⁻ in place of r"
    )
    noise_draw: Literal["independent", "shared"] = Field(
        "independent", description="`shared`: one draw for all state dimensions of a particle"
    )
    particles: int = Field(50, ge=1, description="samples of each sequence's states")
    # The Gaussian processes
    kernel: str = Field("rbf", description="by name; sums `a+b` and products `a*b` are allowed")
    smoother_kernel: str | None = Field(
        None, description="of the backward GP; None: the same as `kernel`"
    )
    kernel_per_output: bool = Field(
        False, description="one set of kernel hyper-parameters per GP output, not one for all"
    )
    inducing_points: int = Field(20, ge=1, description="M, of each GP")
    inducing_inputs: Literal["kmeans", "uniform"] = Field(
        "uniform", description="where they start: centres of lagged data, or anywhere in a box"
    )
    covariance: Literal["diagonal", "full", "delta"] = Field(
        "diagonal", description="of q(u): diagonal, full (Cholesky), or none at all"
    )
    whitened: bool = Field(False, description="q(u) stated for v = Lz⁻¹ u, not for u itself")
    # Where training starts
    start: Literal["noise", "linear"] = Field(
        "noise", description="both GPs near zero, or at a linear model that fits the data"
    )
    kernel_variance: float = Field(0.25, gt=0, description="σ² of the kernel, at the start")
    lengthscale: float = Field(2.0, gt=0, description="ℓ of the kernel, at the start")
    inducing_range: float = Field(
        2.0, gt=0, description="half width of the box of uniform inducing inputs"
    )
    inducing_mean: float = Field(0.0025, ge=0, description="size of the mean of q(u), at the start")
    inducing_std: float = Field(0.01, gt=0, description="standard deviation of q(u), at the start")
    process_variance: float = Field(4e-6, gt=0, description="Σx, at the start")
    output_variance: float = Field(1.0, gt=0, description="Σy, at the start")
    hidden_variance: float | None = Field(
        None, gt=0, description="the hidden entries of r, at the start; None: as `output_variance`"
    )
    informative_initial_state: bool = Field(False, description="let KL(q(x[1])‖p(x[1])) count")

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
                "smoother_sees_steps: got True with physics, whose innovation tells what a step "
                "does. Choose what the backward GP sees by the physics' `smoother_sees`."
            )
        if values.get("start", "noise") != "noise":
            raise ValueError(
                f"start: got {values['start']!r} with physics, expected 'noise': the equations of "
                "motion are where it starts."
            )
        if not values.get("smoother_sees_next_output", True):
            raise ValueError(
                "smoother_sees_next_output: got False with physics, which runs backwards from "
                "y[t+1]. Choose what the backward GP sees by the physics' `smoother_sees`."
            )
        return {**values, "dim_x": states}

    @field_serializer("physics")
    def _without_functions(self, physics: Physics | None) -> dict[str, Any] | None:
        return None if physics is None else physics.describe()

    @model_validator(mode="after")
    def _consistent(self) -> "Model":
        make_kernel(self.kernel, inputs=1)
        make_kernel(self.smoother_kernel or self.kernel, inputs=1)
        if self.recognition == "smoother" and self.target != "smoother":
            raise ValueError(
                f"recognition: got 'smoother' with target {self.target!r}, which has no backward "
                "pass. Use recognition='mlp', or target='smoother'."
            )
        if self.recognition == "smoother" and self.informative_initial_state:
            raise ValueError(
                "informative_initial_state: got True with recognition='smoother', whose x[1] is "
                "not Gaussian. Use one of 'output', 'mlp', 'conv', 'gru'."
            )
        if self.smoother_sees_steps and not self.smoother_sees_next_output:
            raise ValueError(
                "smoother_sees_steps: got True without smoother_sees_next_output, expected both: "
                "a step leads to the next output."
            )
        if self.function_draw == "delta" and self.covariance != "delta":
            raise ValueError(
                f"covariance: got {self.covariance!r} with function_draw='delta', whose q(u) "
                "is a point. Use covariance='delta', or function_draw='mean'."
            )
        return self

    @property
    def draw(self) -> FunctionDraw:
        """The way in which f is drawn along a trajectory."""
        return FUNCTION_DRAWS[self.function_draw]

    @property
    def shortest_warmup(self) -> int:
        """How many outputs the recognition must see: only the networks have a fixed number."""
        return self.warmup if self.recognition in ("mlp", "conv", "gru") else 1

    def hidden(self, dim_y: int) -> int:
        """Number of states that the backward pass estimates."""
        return self.dim_x - dim_y if self.target == "smoother" else 0


class Posterior(eqx.Module):
    """The parameters of q beyond those of the model and of q(u_f)."""

    recognition: Recognition | None
    smoother: SparseGP | None
    raw_hidden_noise: Float[Array, " hidden"]

    @property
    def hidden_noise(self) -> Float[Array, " hidden"]:
        """r for the hidden components: how far the smoothed pseudo-state is trusted."""
        return positive(self.raw_hidden_noise)


class System(eqx.Module):
    """A model and its posterior: all that is learned, with the settings that shaped it."""

    model: StateSpaceModel
    posterior: Posterior
    config: Model = eqx.field(static=True)

    @property
    def target_noise(self) -> Float[Array, " states"]:
        """r of the conditioning step: Σy for the outputs, free for the hidden components."""
        return jnp.concatenate([self.model.emission.noise, self.posterior.hidden_noise])
