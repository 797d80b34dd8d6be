"""The terms of the evidence lower bound of a batch of sequences, each by its name.

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

from gpssm.gp import Factor, factorise, kl_divergence
from gpssm.gp.sparse import inducing_cholesky
from gpssm.model import gaussian_log_density

from .family import System
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


def expected_log_likelihood(
    system: System, x: Float[Array, "time states n"], sequences: Sequences
) -> Float[Array, ""]:
    """Σt E log p(y[t] given x[t]) over the outputs that were observed.

    States are bounded in training (`forward.LEFT`), and with them the errors.
    """
    particles = system.config.particles
    seen = system.model.emission.observe(x)
    noise = system.model.emission.noise[None, :, None]
    density = gaussian_log_density(repeat_particles(sequences.y, particles), seen, noise)
    scored = jnp.where(repeat_particles(sequences.mask, particles), density, 0.0)
    return jnp.sum(jnp.mean(scored, axis=-1))
