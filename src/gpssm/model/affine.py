"""A linear model that a GP completes, as the time loop sees it.

    x[t+1] = x[t] + A (x, u, 1)[t] + s ∘ f(x[t], u[t])
    h[t]   = G (h[t+1], y[t+1], y[t], u[t], 1) + s_b ∘ f_b(…)

Row i of A is W_i + s_i (m_i + τ_i ε) Lᵀ with ε ~ N(0, I). W is the linear model that was fitted to
the data, and L Lᵀ the inverse of Σt φφᵀ over the training data with φ = (x, u, 1). With m = 0 and
τ = 1 this is the posterior of Bayesian linear regression, which is the prior here: what the data
determine well hardly moves, and far from the data the uncertainty grows with the distance.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.gp import Keys
from gpssm.gp.positive import positive, raw_positive

from .dynamics import (
    AbstractDynamics,
    Controls,
    Hidden,
    Inputs,
    Learned,
    Moments,
    Noise,
    Outputs,
    Signals,
    States,
)
from .gaussian import gaussian_kl

Numbers = Any  # an array of JAX, or of NumPy before training


class LinearPart(NamedTuple):
    """What a linear fit gives: W, L, s, G and s_b of the equations above. Training keeps it."""

    weights: Float[Numbers, "states inputs_and_one"]
    root: Float[Numbers, "inputs_and_one inputs_and_one"]
    scale: Float[Numbers, " states"]
    backward: Float[Numbers, "hidden signals_and_one"]
    backward_scale: Float[Numbers, " hidden"]

    @classmethod
    def blank(cls, states: int, outputs: int, inputs: int) -> "LinearPart":
        """One of the right shape that changes nothing."""
        seen, hidden = states + inputs + 1, states - outputs
        signals = hidden + 2 * outputs + inputs + 1
        forward = np.zeros((states, seen)), np.eye(seen), np.ones(states)
        return cls(*forward, np.eye(hidden, signals), np.ones(hidden))


class Affine(AbstractDynamics):
    """The mean function is linear, with q(A) as above; f learns what it leaves, in units of s."""

    part: LinearPart
    mean: Float[Array, "states inputs_and_one"]
    raw_std: Float[Array, "states inputs_and_one"]

    @classmethod
    def of(cls, part: LinearPart) -> "Affine":
        """With the posterior of the linear fit."""
        fixed = LinearPart(*(jnp.asarray(each) for each in part))
        shape = np.shape(part.weights)
        return cls(fixed, jnp.zeros(shape), raw_positive(np.ones(shape)))

    @property
    def fixed(self) -> LinearPart:
        """The fitted numbers: no gradient reaches them, and so training keeps them."""
        return jax.tree.map(jax.lax.stop_gradient, self.part)

    @property
    def std(self) -> Float[Array, "states inputs_and_one"]:
        """τ of q(A)."""
        return positive(self.raw_std)

    def start(self, keys: Keys, particles: int) -> Learned:
        """A for each particle, entry by entry."""
        # The fourth child of these keys: a draw of f uses up to three.
        noise = keys.split(4)[3].normal(self.noise_shape, particles, self.mean.dtype)
        return self.parameters(noise)

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """ε, which has the shape of A."""
        return self.mean.shape

    def parameters(self, noise: Noise) -> Learned:
        """W + s (m + τ ε) Lᵀ."""
        W, L, s, *_ = self.fixed
        drawn = self.mean[..., None] + self.std[..., None] * noise
        A = W[..., None] + s[:, None, None] * jnp.einsum("ij,sjn->sin", L, drawn)
        return A.reshape(-1, A.shape[-1])

    def mean_weights(self) -> Float[Array, "states inputs_and_one"]:
        """E A."""
        W, L, s, *_ = self.fixed
        return W + s[:, None] * (self.mean @ L.T)

    def parameter_kl(self) -> Float[Array, ""]:
        """KL of q(A) to the posterior of the linear fit."""
        m = self.mean
        return jnp.sum(gaussian_kl(m, jnp.square(self.std), jnp.zeros_like(m), jnp.ones_like(m)))

    def seen(self, x: States, u: Controls) -> Inputs:
        """The state and the input of the same time step."""
        return jnp.concatenate([x, u])

    def moments(
        self, parameters: Learned, x: States, u: Controls, f_mean: Outputs, f_variance: Outputs
    ) -> Moments:
        """x + A (x, u, 1) + s E f and s² Var f."""
        s = self.fixed.scale[:, None]
        phi = jnp.concatenate([x, u, jnp.ones_like(x[:1])])
        A = parameters.reshape(len(x), len(phi), -1)
        return x + jnp.sum(A * phi[None], axis=1) + s * f_mean, jnp.square(s) * f_variance

    def settle(self, x: States) -> States:
        """States can be anywhere."""
        return x

    def look_back(self, h: Hidden, signal: Signals) -> tuple[Hidden, Inputs]:
        """G (h, signal, 1); f_b sees the same without the one."""
        seen = jnp.concatenate([h, signal])
        G = self.fixed.backward
        return G[:, :-1] @ seen + G[:, -1:], seen

    def moments_back(
        self, before: Hidden, f_mean: Hidden, f_variance: Hidden
    ) -> tuple[Hidden, Hidden]:
        """The mean function + s_b E f_b, and s_b² Var f_b."""
        s = self.fixed.backward_scale[:, None]
        return before + s * f_mean, jnp.square(s) * f_variance

    def readable(self, y: Float[Array, "time outputs batch"]) -> Float[Array, "time outputs batch"]:
        """As they are."""
        return y
