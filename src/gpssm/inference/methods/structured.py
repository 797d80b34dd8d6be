"""PR-SSM, VCDT and CBF-SSM: one pass through time, whose differences are data.

A backward pass where something hidden is to be estimated, x[1] from the recognition, then a
forward pass that is conditioned at every step on its target: on nothing, on y[t+1], or on x̃[t+1].
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.gp import Keys
from gpssm.inference.backward import BackwardPass, backward_pass
from gpssm.inference.family import Model, System
from gpssm.inference.forward import ForwardPass, forward_pass, make_target
from gpssm.inference.recognition import Particles
from gpssm.inference.sequences import Sequences, repeat_particles
from gpssm.inference.terms import (
    Elbo,
    Factors,
    Weights,
    cast,
    expected_log_likelihood,
    factor_system,
)
from gpssm.model import gaussian_kl

from .abstract import AbstractMethod


class PosteriorPass(NamedTuple):
    """One pass through the posterior: the smoothed targets, then the states."""

    backward: BackwardPass
    forward: ForwardPass
    initial_kl: Float[Array, ""]


class Structured(AbstractMethod):
    """q(x[1]) q(u_f) q(u_b) Π q(x[t+1] given x[t], f_t, target[t+1])."""

    conditions: bool
    passes: int

    def parameters(self, key: PRNGKeyArray, config: Model, dim_u: int, dim_y: int) -> None:
        """None of its own."""

    def elbo(self, keys: Keys, system: System, sequences: Sequences, weights: Weights) -> Elbo:
        """The evidence lower bound, every term by name: see `terms`."""
        dtype = sequences.y.dtype
        factors, local = factor_system(system, dtype), cast(system, dtype)
        passes = self.posterior_pass(keys, local, factors, sequences, sequences.length)
        log_likelihood = expected_log_likelihood(local, passes.forward.x, sequences)
        parameter_kl = system.model.transition.dynamics.parameter_kl()
        state_kl, entropy = passes.forward.state_kl, passes.backward.entropy
        inducing_kl, smoother_kl = factors.inducing_kl, factors.smoother_kl
        # c_T: how often the inducing values count along a trajectory
        count = system.config.draw.kl_count(sequences.length)
        total = (
            log_likelihood
            - weights.state_kl * state_kl
            - weights.inducing_kl * count * (inducing_kl + smoother_kl)
            - passes.initial_kl
            - weights.parameter_kl * parameter_kl
        )
        if weights.entropy:
            total = total + weights.entropy * entropy
        kls = state_kl, inducing_kl, smoother_kl, passes.initial_kl
        return Elbo(total, log_likelihood, *kls, entropy, parameter_kl)

    def predict(
        self,
        keys: Keys,
        system: System,
        u: Float[Array, "time controls batch"],
        warmup: Sequences,
        conditioned: int,
    ) -> Float[Array, "time states n"]:
        """The backward pass smooths the whole warm-up; what follows it is open loop."""
        local, factors = cast(system, u.dtype), factor_system(system, u.dtype)
        return self.posterior_pass(keys, local, factors, warmup, conditioned, u).forward.x

    def forward_keys(self, keys: Keys) -> Keys:
        """The last of three: the backward pass and x[1] have the others."""
        return keys.split(3)[2]

    def posterior_pass(
        self,
        keys: Keys,
        system: System,
        factors: Factors,
        sequences: Sequences,
        conditioned: int,
        u: Float[Array, "time controls batch"] | None = None,
    ) -> PosteriorPass:
        """Backward pass over the sequences, x[1], then the forward pass.

        The first `conditioned` steps are conditioned on. `u` may reach beyond the sequences:
        what follows them is predicted in open loop.
        """
        keys_backward, keys_initial, keys_forward = keys.split(3)
        backward = _smooth(keys_backward, system, factors, sequences)
        x1, initial_kl = _first_state(keys_initial, system, sequences, backward)
        target = None
        if self.conditions:
            target = make_target(sequences, backward.hidden, conditioned, system.config)
        bounded = u is None
        if u is None:
            u = sequences.u
        elif target is not None:
            missing = u.shape[0] - sequences.length
            pad = lambda leaf: jnp.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1))  # noqa: E731
            target = jax.tree.map(pad, target)
        start = system, factors.forward, x1, u, target
        forward = forward_pass(keys_forward, *start, bounded=bounded)
        return PosteriorPass(backward, forward, initial_kl)


def _smooth(keys: Keys, system: System, factors: Factors, sequences: Sequences) -> BackwardPass:
    """The backward pass, where there is something hidden that it may estimate."""
    if factors.backward is not None:
        return backward_pass(keys, system, factors.backward, sequences)
    n = sequences.batch * system.config.particles
    empty = jnp.zeros((sequences.length, 0, n), sequences.y.dtype)
    return BackwardPass(empty, jnp.zeros((), sequences.y.dtype))


def _first_state(
    keys: Keys, system: System, sequences: Sequences, backward: BackwardPass
) -> tuple[Float[Array, "states n"], Float[Array, ""]]:
    """x[1] for every particle, and KL(q(x[1])‖p(x[1])) where the prior is informative."""
    particles, initial = system.config.particles, system.model.initial
    settle, kl = system.model.transition.dynamics.settle, jnp.zeros((), sequences.y.dtype)
    found = system.posterior.recognition.first_state(system.model, sequences, backward.hidden)
    if isinstance(found, Particles):
        return settle(found.x), kl
    mean, variance = found
    if initial.informative:
        prior = initial.mean[:, None], initial.variance[:, None]
        kl = jnp.mean(jnp.sum(gaussian_kl(mean, variance, *prior), axis=0))
    mean, variance = repeat_particles(mean, particles), repeat_particles(variance, particles)
    noise = keys.normal(mean.shape[:1], particles, mean.dtype)
    return settle(mean + jnp.sqrt(variance) * noise), kl


PR_SSM = Structured(conditions=False, passes=1)
VCDT = Structured(conditions=True, passes=1)
CBF_SSM = Structured(conditions=True, passes=2)
