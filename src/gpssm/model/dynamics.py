"""From x[t], u[t] and the moments of f to the moments of x[t+1].

The black box is one case, x[t+1] = x[t] + f; equations of motion that f enters are the other, in
`gpssm.model.hybrid`. The time loop asks both the same questions, in normalised units.
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.gp import Keys
from gpssm.gp.positive import positive

States = Float[Array, "states n"]
Controls = Float[Array, "controls n"]
Inputs = Float[Array, "inputs n"]  # of a GP
Moments = tuple[States, States]
Outputs = Float[Array, "outputs n"]  # of a GP
Learned = Float[Array, "learned n"]
Hidden = Float[Array, "hidden n"]
Signals = Float[Array, "signals n"]
Noise = Float[Array, "*noise n"]  # of the draw of the parameters


class AbstractDynamics(eqx.Module):
    """How the state moves. `parameters` is what `start` has drawn for every particle."""

    @abstractmethod
    def start(self, keys: Keys, particles: int) -> Learned:
        """One draw of the physical parameters for each particle, for a whole trajectory."""

    @property
    @abstractmethod
    def noise_shape(self) -> tuple[int, ...]:
        """Of the standard normal numbers that a draw of the parameters is made of."""

    @abstractmethod
    def parameters(self, noise: Noise) -> Learned:
        """The parameters that these numbers stand for; their mean at zero."""

    @abstractmethod
    def parameter_kl(self) -> Float[Array, ""]:
        """KL(q(θ)‖p(θ)) of the physical parameters."""

    @abstractmethod
    def seen(self, x: States, u: Controls) -> Inputs:
        """What f sees."""

    @abstractmethod
    def moments(
        self, parameters: Learned, x: States, u: Controls, f_mean: Outputs, f_variance: Outputs
    ) -> Moments:
        """Mean of x[t+1], and what Var f adds to its variance."""

    @abstractmethod
    def settle(self, x: States) -> States:
        """A drawn state, brought back to where states can be."""

    @abstractmethod
    def look_back(self, h: Hidden, signal: Signals) -> tuple[Hidden, Inputs]:
        """The mean function of the backward pass at h[t+1], and what f_b sees."""

    @abstractmethod
    def moments_back(
        self, before: Hidden, f_mean: Hidden, f_variance: Hidden
    ) -> tuple[Hidden, Hidden]:
        """Mean and variance of h[t], from the mean function and the moments of f_b."""

    @abstractmethod
    def readable(self, y: Float[Array, "time outputs batch"]) -> Float[Array, "time outputs batch"]:
        """The outputs as a recognition network gets them."""


class Increment(AbstractDynamics):
    """x[t+1] = x[t] + f(x[t], u[t]): nothing is known but that the state changes little.

    With a `raw_step`, the size of a step of each output, f_b sees (y[t+1] − y[t]) / step in the
    place of y[t+1]: outputs that hardly change from one step to the next tell rates only so.
    """

    raw_step: Float[Array, " outputs"] | None = None

    def start(self, keys: Keys, particles: int) -> Learned:
        """Nothing to draw."""
        return jnp.zeros((0, keys.batch * particles))

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """None."""
        return (0,)

    def parameters(self, noise: Noise) -> Learned:
        """There are none."""
        return noise

    def parameter_kl(self) -> Float[Array, ""]:
        """Zero: there are no parameters."""
        return jnp.zeros(())

    def seen(self, x: States, u: Controls) -> Inputs:
        """The state and the input of the same time step."""
        return jnp.concatenate([x, u])

    def moments(
        self, parameters: Learned, x: States, u: Controls, f_mean: Outputs, f_variance: Outputs
    ) -> Moments:
        """x + E f and Var f."""
        del parameters, u
        return x + f_mean, f_variance

    def settle(self, x: States) -> States:
        """States can be anywhere."""
        return x

    def look_back(self, h: Hidden, signal: Signals) -> tuple[Hidden, Inputs]:
        """h[t+1] itself; f_b sees it and all outputs and inputs."""
        if self.raw_step is None:
            return h, jnp.concatenate([h, signal])
        later, rest = jnp.split(signal, [len(self.raw_step)])
        step = (later - rest[: len(self.raw_step)]) / positive(self.raw_step)[:, None]
        return h, jnp.concatenate([h, step, rest])

    def moments_back(
        self, before: Hidden, f_mean: Hidden, f_variance: Hidden
    ) -> tuple[Hidden, Hidden]:
        """The mean function + E f_b, and Var f_b."""
        return before + f_mean, f_variance

    def readable(self, y: Float[Array, "time outputs batch"]) -> Float[Array, "time outputs batch"]:
        """As they are."""
        return y
