"""A method and a recognition model in one file: all that it takes to add them."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from gpssm.inference.forward import forward_pass
from gpssm.inference.methods.abstract import AbstractMethod
from gpssm.inference.recognition import AbstractRecognition, Gaussian
from gpssm.inference.sequences import repeat_particles
from gpssm.inference.terms import Elbo, cast, expected_log_likelihood, factor_system


class Zero(AbstractRecognition):
    """x[1] ~ N(0, 1), whatever the outputs; it asks for two of them."""

    is_gaussian: ClassVar[bool] = True
    needs_backward_pass: ClassVar[bool] = False

    @classmethod
    def shortest_warmup(cls, warmup):
        return min(2, warmup)

    @classmethod
    def build(cls, key, warmup, channels, dim_x):
        return cls()

    def first_state(self, model, sequences, hidden):
        mean = jnp.zeros((model.dim_x, sequences.batch), sequences.y.dtype)
        return Gaussian(mean, jnp.ones_like(mean))


class Offset(eqx.Module):
    """The parameter that the method adds."""

    value: jax.Array


class Toy(AbstractMethod):
    """Rolls out the prior from the mean of x[1] and an offset, which it learns."""

    conditions: bool = False
    passes: int = 3

    def parameters(self, key, config, dim_u, dim_y):
        return Offset(jax.random.normal(key, (config.dim_x,)))

    def elbo(self, keys, system, sequences, weights):
        local, factors = (part(system, sequences.y.dtype) for part in (cast, factor_system))
        x = self._roll(keys, local, factors, sequences.u, sequences)
        fit, zero = expected_log_likelihood(local, x, sequences), jnp.zeros((), x.dtype)
        total = fit - weights.inducing_kl * factors.inducing_kl
        return Elbo(total, fit, zero, factors.inducing_kl, zero, zero, zero, zero)

    def predict(self, keys, system, u, warmup, conditioned):
        return self._roll(keys, cast(system, u.dtype), factor_system(system, u.dtype), u, warmup)

    def forward_keys(self, keys):
        return keys

    def _roll(self, keys, system, factors, u, sequences):
        recognition, added = system.posterior.recognition, system.posterior.added
        mean, _ = recognition.first_state(system.model, sequences, jnp.zeros(()))
        x1 = repeat_particles(mean + added.value[:, None], system.config.particles)
        return forward_pass(keys, system, factors.forward, x1, u, None).x


TOY = Toy()
