"""Equations of motion that a GP completes, as the time loop sees them.

All states here are normalised; `gpssm.model.physics` has the user's equations in their own units.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.data import Normalisation
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
from .physics import INNOVATION, Physics
from .units import Units, along, make_units

_PARAMETER_STD = 0.1  # of q(θ) at the start, where the prior has 1
_TYPICAL = 256  # states from which typical sizes are found
_NOTHING = 1e-18


class Hybrid(AbstractDynamics):
    """x[t+1] = integrate(rates, x[t], u[t], θ, f): the user's equations, of which f is a part.

    Physical parameters have q(θ) = N(m, s²), a draw for each particle and trajectory, and the
    prior N(0, 1) in the coordinates of their `Prior`.
    """

    parameter_mean: Float[Array, " learned"]
    raw_parameter_std: Float[Array, " learned"]
    physics: Physics = eqx.field(static=True)
    units: Units = eqx.field(static=True)
    sizes: "Sizes" = eqx.field(static=True)

    @property
    def parameter_std(self) -> Float[Array, " learned"]:
        """s of q(θ)."""
        return positive(self.raw_parameter_std)

    def start(self, keys: Keys, particles: int) -> Learned:
        """θ = m + s ε."""
        m = self.parameter_mean
        # The fourth child of these keys: a draw of f uses up to three.
        return self.parameters(keys.split(4)[3].normal(m.shape, particles, m.dtype))

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """ε, which has the shape of θ."""
        return self.parameter_mean.shape

    def parameters(self, noise: Noise) -> Learned:
        """m + s ε."""
        return self.parameter_mean[:, None] + self.parameter_std[:, None] * noise

    def parameter_kl(self) -> Float[Array, ""]:
        """Against N(0, 1), summed over the parameters."""
        m, variance = self.parameter_mean, jnp.square(self.parameter_std)
        return jnp.sum(gaussian_kl(m, variance, jnp.zeros_like(m), jnp.ones_like(m)))

    def seen(self, x: States, u: Controls) -> Inputs:
        """The chosen channels, normalised; or what the user's function makes of physical ones."""
        sees = self.physics.sees
        if callable(sees):
            features = jax.vmap(sees, in_axes=-1, out_axes=-1)
            return features(self.units.state(x), self.units.input(u)).astype(x.dtype)
        return self._channels(sees, x, u)

    def moments(
        self, parameters: Learned, x: States, u: Controls, f_mean: Outputs, f_variance: Outputs
    ) -> Moments:
        """Mean: one step of the solver with f at its mean. Variance: Σ_j (h ∂ẋ/∂f_j)² Var f_j.

        f is constant over the step, so to first order in h it moves the state by h ∂ẋ/∂f. That
        needs one linearisation of the right-hand side, not one of each stage of the solver, and
        leaves out terms of order h²: a force reaches a velocity in this step and the position in
        the next. Draws of f pushed through the solver would hide its variance from the gain.
        """
        one = jax.vmap(self._moments, in_axes=-1, out_axes=-1)
        return one(parameters, x, u, f_mean, f_variance)

    def _moments(
        self, theta: Array, x: Array, u: Array, f_mean: Array, f_variance: Array
    ) -> tuple[Array, Array]:
        state, control = self.units.state(x), self.units.input(u)
        values, f = self.physics.values(theta), self.force(f_mean)
        after = self.physics.advance(state, control, values, f)
        slopes = jax.jacfwd(lambda f: self.physics.change(state, control, values, self.force(f)))
        moved = self.physics.step * self.units.normal_rates(slopes(f_mean))
        return self.units.normal(after), jnp.square(moved) @ f_variance

    def force(self, f: Float[Array, "outputs *n"]) -> Float[Array, "outputs *n"]:
        """Output of the GP in physical units."""
        return along(tuple(float(v) for v in self.physics.yields.values()), f) * f

    def settle(self, x: States) -> States:
        """Unit vectors back to length one, since noise has moved them off.

        The ELBO stays a lower bound: the map can only lower the KL of q (data processing).
        """
        if not self.physics.unit_vectors:
            return x
        return self.units.normal(self.physics.project(self.units.state(x)))

    def look_back(self, h: Hidden, signal: Signals) -> tuple[Hidden, Inputs]:
        """One step of Euler's method back in time from (y[t+1], h[t+1]) with f = 0.

        f_b corrects that by what it sees: chosen channels, and the innovation. The measured y[t]
        minus the computed one, e, is seen as the change of h that would explain it: Jᵀ e / |J|²
        with J = ∂ŷ[t]/∂h. So f_b = gain · innovation is a backward observer.
        """
        physics, dim_y = self.physics, self.units.outputs
        y_next, y, u = jnp.split(signal, [dim_y, 2 * dim_y])
        later = jnp.concatenate([y_next, h])
        before, innovation = jax.vmap(self._observe, in_axes=-1, out_axes=-1)(later, u, y)

        def chosen(among: Sequence[str], x: Array) -> Array:
            return self._channels([n for n in physics.smoother_sees if n in among], x, u)

        channels = [
            chosen(physics.hidden, later),
            chosen(physics.observed, later),
            chosen(physics.observed, y),
            chosen(physics.inputs, later),
        ]
        if INNOVATION in physics.smoother_sees:
            channels.append(innovation / along(self.sizes.pulls, innovation))
        return before, jnp.concatenate(channels)

    def moments_back(
        self, before: Hidden, f_mean: Hidden, f_variance: Hidden
    ) -> tuple[Hidden, Hidden]:
        """The equations run backwards + E f_b, and Var f_b."""
        return before + f_mean, f_variance

    def _observe(self, x: Array, u: Array, y: Array) -> tuple[Array, Array]:
        """ĥ[t], and Jᵀ e."""
        dim_y = self.units.outputs

        def back(h: Array) -> tuple[Array, Array]:
            before = self.before(jnp.concatenate([x[:dim_y], h]), u)
            return before[:dim_y], before

        computed, pull, before = jax.vjp(back, x[dim_y:], has_aux=True)
        return before[dim_y:], pull(y - computed)[0]

    def before(
        self, x: Float[Array, " states"], u: Float[Array, " controls"]
    ) -> Float[Array, " states"]:
        """One step of Euler's method back in time, with f = 0 and the parameters at their mean."""
        nothing = jnp.zeros(len(self.physics.yields), x.dtype)
        values = self.physics.values(self.parameter_mean)
        rates = self.physics.change(self.units.state(x), self.units.input(u), values, nothing)
        return x - self.physics.step * self.units.normal_rates(rates)

    def _channels(self, names: Sequence[str], x: Array, u: Array) -> Array:
        """Rows of normalised states and inputs by name, in the order of the names."""
        latent, inputs = (*self.physics.observed, *self.physics.hidden), self.physics.inputs
        rows = [x[latent.index(n)] if n in latent else u[inputs.index(n)] for n in names]
        return jnp.stack(rows) if rows else jnp.zeros((0, x.shape[-1]), x.dtype)

    def readable(self, y: Float[Array, "time outputs batch"]) -> Float[Array, "time outputs batch"]:
        """The first outputs, then their changes in units of one step, which are velocities."""
        changes = (y[1:] - y[:-1]) / along(self.sizes.changes, y[0])[None]
        return jnp.concatenate([y[:1], changes])


class Sizes(NamedTuple):
    """Sizes for typical states, from physics and normalisation: networks and GPs see about 1."""

    changes: tuple[float, ...]  # of each normalised output in one step
    pulls: tuple[float, ...]  # |J|² of each hidden state


def make_hybrid(physics: Physics, normalisation: Normalisation) -> Hybrid:
    """The dynamics of a user's physics for data of this normalisation; parameters at the prior."""
    units, count = make_units(physics, normalisation), len(physics.learned)
    raw_std = raw_positive(np.full(count, _PARAMETER_STD))
    plain = Sizes((1.0,) * units.outputs, (1.0,) * len(physics.hidden))
    dynamics = Hybrid(jnp.zeros(count), raw_std, physics, units, plain)
    return Hybrid(jnp.zeros(count), raw_std, physics, units, typical_sizes(dynamics))


def typical_sizes(dynamics: Hybrid) -> Sizes:
    """From fixed pseudo-random states, as large as the data and the scales, at the mean input."""
    physics, outputs = dynamics.physics, dynamics.units.outputs

    @jax.jit
    def one(x: Array) -> tuple[Array, Array]:
        u = jnp.zeros(len(physics.inputs), x.dtype)
        back = lambda h: dynamics.before(jnp.concatenate([x[:outputs], h]), u)[:outputs]  # noqa: E731
        J = jax.jacfwd(back)(x[outputs:])
        return jnp.square(back(x[outputs:]) - x[:outputs]), jnp.sum(jnp.square(J), axis=0)

    draws = np.random.default_rng(0).standard_normal((len(physics.states), _TYPICAL))
    with jax.enable_x64(True):  # whatever the caller has: the same numbers again
        changes, squares = jax.vmap(one)(dynamics.settle(jnp.asarray(draws)).T)
    return Sizes(_or_one(np.sqrt(changes.mean(0))), _or_one(np.asarray(squares.mean(0))))


def _or_one(sizes: np.ndarray) -> tuple[float, ...]:
    """Replace entries that are zero or not finite by one."""
    return tuple(float(s) if np.isfinite(s) and s > _NOTHING else 1.0 for s in sizes)
