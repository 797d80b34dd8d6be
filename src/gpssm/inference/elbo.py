"""The evidence lower bound of a batch of sequences, every term by name.

    Σt E log p(y[t] given x[t])
      − β_x Σt KL(q(x[t+1])‖p(x[t+1]))
      − β_u c_T (KL(q(u_f)‖p(u_f)) + KL(q(u_b)‖p(u_b)))
      − KL(q(x[1])‖p(x[1]))
      − β_θ KL(q(θ)‖p(θ))                               where physical parameters are learned
      + β_H · entropy of the backward pass

Sums run over the time steps of one sequence; sequences and particles are averaged.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from gpssm.gp import Factor, Keys, factorise, kl_divergence
from gpssm.gp.sparse import inducing_cholesky
from gpssm.model import gaussian_kl, gaussian_log_density

from .backward import BackwardPass, backward_pass
from .family import System
from .forward import ForwardPass, forward_pass, make_target
from .recognition import recognise
from .sequences import Sequences, repeat_particles


class Weights(NamedTuple):
    """The β of the ELBO. Those of the KLs may be traced: they change while training warms up."""

    state_kl: float | Float[Array, ""] = 1.0
    inducing_kl: float | Float[Array, ""] = 1.0
    entropy: float = 0.0
    parameter_kl: float | Float[Array, ""] = 1.0


class Elbo(NamedTuple):
    """The bound and its terms, unweighted and with the sign of their names."""

    total: Float[Array, ""]
    log_likelihood: Float[Array, ""]
    state_kl: Float[Array, ""]
    inducing_kl: Float[Array, ""]
    smoother_kl: Float[Array, ""]
    initial_kl: Float[Array, ""]
    entropy: Float[Array, ""]
    parameter_kl: Float[Array, ""]


class Factors(NamedTuple):
    """Both GPs factored for the time loop, and their KL(q(u)‖p(u))."""

    forward: Factor
    backward: Factor | None
    inducing_kl: Float[Array, ""]
    smoother_kl: Float[Array, ""]


class PosteriorPass(NamedTuple):
    """One pass through the posterior: the smoothed targets, then the states."""

    backward: BackwardPass
    forward: ForwardPass
    initial_kl: Float[Array, ""]


def elbo(keys: Keys, system: System, sequences: Sequences, weights: Weights | None = None) -> Elbo:
    """The ELBO of the sequences, in the rollout precision of their dtype."""
    weights = weights or Weights()
    dtype = sequences.y.dtype
    factors = factor_system(system, dtype)
    local = cast(system, dtype)
    passes = posterior_pass(keys, local, factors, sequences, sequences.length)
    log_likelihood = expected_log_likelihood(local, passes.forward.x, sequences)
    parameter_kl = system.model.transition.dynamics.parameter_kl()
    # c_T: how often the inducing values count along a trajectory
    count = system.config.draw.kl_count(sequences.length)
    total = (
        log_likelihood
        - weights.state_kl * passes.forward.state_kl
        - weights.inducing_kl * count * (factors.inducing_kl + factors.smoother_kl)
        - passes.initial_kl
        - weights.parameter_kl * parameter_kl
    )
    if weights.entropy:
        total = total + weights.entropy * passes.backward.entropy
    return Elbo(
        total,
        log_likelihood,
        passes.forward.state_kl,
        factors.inducing_kl,
        factors.smoother_kl,
        passes.initial_kl,
        passes.backward.entropy,
        parameter_kl,
    )


def cast(system: System, dtype: DTypeLike) -> System:
    """The same parameters in the dtype of the rollout."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype), system)


def factor_system(system: System, dtype: DTypeLike) -> Factors:
    """Factors each GP once, in the precision of the parameters."""
    gp, smoother = system.model.transition.gp, system.posterior.smoother
    Lz = inducing_cholesky(gp, dtype)
    forward, inducing_kl = factorise(gp, Lz, dtype), kl_divergence(gp, Lz)
    if smoother is None:
        return Factors(forward, None, inducing_kl, jnp.zeros_like(inducing_kl))
    Lz = inducing_cholesky(smoother, dtype)
    backward, smoother_kl = factorise(smoother, Lz, dtype), kl_divergence(smoother, Lz)
    return Factors(forward, backward, inducing_kl, smoother_kl)


def posterior_pass(
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
    config = system.config
    keys_backward, keys_initial, keys_forward = keys.split(3)
    backward = _smooth(keys_backward, system, factors, sequences)
    x1, initial_kl = _first_state(keys_initial, system, sequences, backward)
    target = None
    if config.target != "none":
        target = make_target(sequences, backward.hidden, conditioned, config)
    if u is None:
        u = sequences.u
    elif target is not None:
        missing = u.shape[0] - sequences.length
        pad = lambda leaf: jnp.pad(leaf, [(0, missing)] + [(0, 0)] * (leaf.ndim - 1))  # noqa: E731
        target = jax.tree.map(pad, target)
    return PosteriorPass(
        backward, forward_pass(keys_forward, system, factors.forward, x1, u, target), initial_kl
    )


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
    particles, recognition = system.config.particles, system.posterior.recognition
    settle, no_kl = system.model.transition.dynamics.settle, jnp.zeros((), sequences.y.dtype)
    if recognition is None:  # x̃[1] of the backward pass
        y1 = repeat_particles(sequences.y[0], particles)
        return settle(jnp.concatenate([y1, backward.hidden[0]])), no_kl
    mean, variance = recognise(recognition, system.model, sequences)
    initial = system.model.initial
    kl = no_kl
    if initial.informative:
        prior = initial.mean[:, None], initial.variance[:, None]
        kl = jnp.mean(jnp.sum(gaussian_kl(mean, variance, *prior), axis=0))
    mean, variance = repeat_particles(mean, particles), repeat_particles(variance, particles)
    noise = keys.normal(mean.shape[:1], particles, mean.dtype)
    return settle(mean + jnp.sqrt(variance) * noise), kl


def expected_log_likelihood(
    system: System, x: Float[Array, "time states n"], sequences: Sequences
) -> Float[Array, ""]:
    """Σt E log p(y[t] given x[t]) over the outputs that were observed."""
    particles = system.config.particles
    seen = system.model.emission.observe(x)
    noise = system.model.emission.noise[None, :, None]
    density = gaussian_log_density(repeat_particles(sequences.y, particles), seen, noise)
    scored = jnp.where(repeat_particles(sequences.mask, particles), density, 0.0)
    return jnp.sum(jnp.mean(scored, axis=-1))
