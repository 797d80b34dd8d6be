"""From x[t], u[t] and the moments of f to the moments of x[t+1].

The black box is one case, x[t+1] = x[t] + f; equations of motion that f enters are the other.
The time loop asks both the same questions, in normalised units.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.data import Normalisation
from gpssm.gp import Keys
from gpssm.gp.positive import positive, raw_positive

from .gaussian import gaussian_kl
from .physics import INNOVATION, Physics

_PARAMETER_STD = 0.1  # of q(θ) at the start, where the prior has 1
_TYPICAL = 256  # states from which typical sizes are found
_NOTHING = 1e-18
Moments = tuple[Float[Array, "states n"], Float[Array, "states n"]]


class AbstractDynamics(eqx.Module):
    """How the state moves. `parameters` is what `start` has drawn for every particle."""

    @abstractmethod
    def start(self, keys: Keys, particles: int) -> Float[Array, "learned n"]:
        """One draw of the physical parameters for each particle, for a whole trajectory."""

    @abstractmethod
    def parameter_kl(self) -> Float[Array, ""]:
        """KL(q(θ)‖p(θ)) of the physical parameters."""

    @abstractmethod
    def seen(
        self, x: Float[Array, "states n"], u: Float[Array, "controls n"]
    ) -> Float[Array, "inputs n"]:
        """What f sees."""

    @abstractmethod
    def moments(
        self,
        parameters: Float[Array, "learned n"],
        x: Float[Array, "states n"],
        u: Float[Array, "controls n"],
        f_mean: Float[Array, "outputs n"],
        f_variance: Float[Array, "outputs n"],
    ) -> Moments:
        """Mean of x[t+1], and what Var f adds to its variance."""

    @abstractmethod
    def settle(self, x: Float[Array, "states n"]) -> Float[Array, "states n"]:
        """A drawn state, brought back to where states can be."""

    @abstractmethod
    def look_back(
        self, h: Float[Array, "hidden n"], signal: Float[Array, "signals n"]
    ) -> tuple[Float[Array, "hidden n"], Float[Array, "inputs n"]]:
        """The mean function of the backward pass at h[t+1], and what f_b sees."""

    @abstractmethod
    def readable(self, y: Float[Array, "time outputs batch"]) -> Float[Array, "time outputs batch"]:
        """The outputs as a recognition network gets them."""


class Increment(AbstractDynamics):
    """x[t+1] = x[t] + f(x[t], u[t]): nothing is known but that the state changes little.

    With a `raw_step`, the size of a step of each output, f_b sees (y[t+1] − y[t]) / step in the
    place of y[t+1]: outputs that hardly change from one step to the next tell rates only so.
    """

    raw_step: Float[Array, " outputs"] | None = None

    def start(self, keys: Keys, particles: int) -> Float[Array, "learned n"]:
        """Nothing to draw."""
        return jnp.zeros((0, keys.batch * particles))

    def parameter_kl(self) -> Float[Array, ""]:
        """Nothing to pay."""
        return jnp.zeros(())

    def seen(
        self, x: Float[Array, "states n"], u: Float[Array, "controls n"]
    ) -> Float[Array, "inputs n"]:
        """The state and the input of the same time step."""
        return jnp.concatenate([x, u])

    def moments(
        self,
        parameters: Float[Array, "learned n"],
        x: Float[Array, "states n"],
        u: Float[Array, "controls n"],
        f_mean: Float[Array, "states n"],
        f_variance: Float[Array, "states n"],
    ) -> Moments:
        """x + E f and Var f."""
        del parameters, u
        return x + f_mean, f_variance

    def settle(self, x: Float[Array, "states n"]) -> Float[Array, "states n"]:
        """States can be anywhere."""
        return x

    def look_back(
        self, h: Float[Array, "hidden n"], signal: Float[Array, "signals n"]
    ) -> tuple[Float[Array, "hidden n"], Float[Array, "inputs n"]]:
        """h[t+1] itself; f_b sees it and all outputs and inputs."""
        if self.raw_step is None:
            return h, jnp.concatenate([h, signal])
        later, rest = jnp.split(signal, [len(self.raw_step)])
        step = (later - rest[: len(self.raw_step)]) / positive(self.raw_step)[:, None]
        return h, jnp.concatenate([h, step, rest])

    def readable(self, y: Float[Array, "time outputs batch"]) -> Float[Array, "time outputs batch"]:
        """As they are."""
        return y


class Units(NamedTuple):
    """Between normalised states (observed ones first) and physical ones (in the user's order).

    Numbers that a compiled program is made for, not parameters: nothing here is learned.
    """

    x_mean: tuple[float, ...]
    x_std: tuple[float, ...]
    u_mean: tuple[float, ...]
    u_std: tuple[float, ...]
    order: tuple[int, ...]  # the user's states among the normalised ones
    outputs: int

    def state(self, x: Float[Array, "states *n"]) -> Float[Array, "states *n"]:
        """A normalised state in physical units."""
        x = _along(self.x_mean, x) + _along(self.x_std, x) * x
        return _reordered(x, self.order)

    def normal(self, x: Float[Array, "states *n"]) -> Float[Array, "states *n"]:
        """A physical state in normalised units."""
        x = _reordered(x, tuple(int(i) for i in np.argsort(self.order)))
        return (x - _along(self.x_mean, x)) / _along(self.x_std, x)

    def normal_rates(self, rates: Float[Array, "states *n"]) -> Float[Array, "states *n"]:
        """Rates of a physical state, or derivatives of them, in normalised units."""
        rates = _reordered(rates, tuple(int(i) for i in np.argsort(self.order)))
        return rates / _along(self.x_std, rates)

    def input(self, u: Float[Array, "controls *n"]) -> Float[Array, "controls *n"]:
        """A normalised input in physical units."""
        return _along(self.u_mean, u) + _along(self.u_std, u) * u


def _along(values: tuple[float, ...], like: Float[Array, "channels *n"]) -> Array:
    return jnp.asarray(values, like.dtype).reshape(-1, *[1] * (like.ndim - 1))


def _reordered(x: Array, order: tuple[int, ...]) -> Array:
    return x if order == tuple(range(len(order))) else x[np.asarray(order)]


def make_units(physics: Physics, normalisation: Normalisation) -> Units:
    """Outputs have the mean and the spread of the data, hidden states zero and their scale."""
    latent = (*physics.observed, *physics.hidden)
    scales = tuple(float(physics.scales[name]) for name in physics.hidden)
    return Units(
        (*normalisation.y_mean.tolist(), *[0.0] * len(scales)),
        (*normalisation.y_std.tolist(), *scales),
        tuple(normalisation.u_mean.tolist()),
        tuple(normalisation.u_std.tolist()),
        tuple(latent.index(name) for name in physics.states),
        len(physics.observed),
    )


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

    def start(self, keys: Keys, particles: int) -> Float[Array, "learned n"]:
        """θ = m + s ε."""
        # The fourth child of these keys: a draw of f uses up to three.
        noise = keys.split(4)[3].normal(
            self.parameter_mean.shape, particles, self.parameter_mean.dtype
        )
        return self.parameter_mean[:, None] + self.parameter_std[:, None] * noise

    def parameter_kl(self) -> Float[Array, ""]:
        """Against N(0, 1), summed over the parameters."""
        m = self.parameter_mean
        return jnp.sum(
            gaussian_kl(m, jnp.square(self.parameter_std), jnp.zeros_like(m), jnp.ones_like(m))
        )

    def seen(
        self, x: Float[Array, "states n"], u: Float[Array, "controls n"]
    ) -> Float[Array, "inputs n"]:
        """The chosen channels, normalised; or what the user's function makes of physical ones."""
        sees = self.physics.sees
        if callable(sees):
            features = jax.vmap(sees, in_axes=-1, out_axes=-1)
            return features(self.units.state(x), self.units.input(u)).astype(x.dtype)
        return self._channels(sees, x, u)

    def moments(
        self,
        parameters: Float[Array, "learned n"],
        x: Float[Array, "states n"],
        u: Float[Array, "controls n"],
        f_mean: Float[Array, "outputs n"],
        f_variance: Float[Array, "outputs n"],
    ) -> Moments:
        """Mean: one step of the solver with f at its mean. Variance: Σ_j (h ∂ẋ/∂f_j)² Var f_j.

        f is constant over the step, so to first order in h it moves the state by h ∂ẋ/∂f. That
        needs one linearisation of the right-hand side, where the derivative of the whole step
        would need one of each stage. What it leaves out is of order h²: a force reaches a
        velocity in this step and the position in the next one, as in Euler's method. To draw f
        and push it through the solver would need no derivative; but then the gain of the
        conditioning could not know how uncertain f is, and where f enters linearly the moments
        are the same.
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
        """What the GP says, in the units of what it yields."""
        return _along(tuple(float(v) for v in self.physics.yields.values()), f) * f

    def settle(self, x: Float[Array, "states n"]) -> Float[Array, "states n"]:
        """Unit vectors back to length one, since noise has moved them off.

        The same map after a draw from q and from the prior can only lower the KL between the two
        (data processing), so the ELBO with the KL before the map is still a lower bound.
        """
        if not self.physics.unit_vectors:
            return x
        return self.units.normal(self.physics.project(self.units.state(x)))

    def look_back(
        self, h: Float[Array, "hidden n"], signal: Float[Array, "signals n"]
    ) -> tuple[Float[Array, "hidden n"], Float[Array, "inputs n"]]:
        """One step of Euler's method back in time from (y[t+1], h[t+1]) with f = 0.

        f_b corrects that by what it sees: chosen channels, and the innovation. The measured y[t]
        minus the computed one, e, is seen as the change of h that would explain it: Jᵀ e / |J|²
        with J = ∂ŷ[t]/∂h. So f_b = gain · innovation is a backward observer, which also corrects
        what Euler's method and f = 0 leave out: nothing finer is needed here.
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
            channels.append(innovation / _along(self.sizes.pulls, innovation))
        return before, jnp.concatenate(channels)

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
        """The first outputs, then their changes in units of what one step does.

        The same content as the outputs: but velocities are in small differences of outputs, which
        a network would have to find in numbers that are all nearly the same.
        """
        changes = (y[1:] - y[:-1]) / _along(self.sizes.changes, y[0])[None]
        return jnp.concatenate([y[:1], changes])


class Sizes(NamedTuple):
    """How large some things are for typical states: so that what networks and GPs see is near 1.

    They follow from physics and normalisation alone: a model that is loaded has the same ones.
    """

    changes: tuple[float, ...]  # of each normalised output in one step
    pulls: tuple[float, ...]  # |J|² of each hidden state


def make_hybrid(physics: Physics, normalisation: Normalisation) -> Hybrid:
    """The dynamics of a user's physics for data of this normalisation; parameters at the prior."""
    units, count = make_units(physics, normalisation), len(physics.learned)
    raw_std = raw_positive(np.full(count, _PARAMETER_STD))
    plain = Sizes((1.0,) * units.outputs, (1.0,) * len(physics.hidden))
    dynamics = Hybrid(jnp.zeros(count), raw_std, physics, units, plain)
    return Hybrid(jnp.zeros(count), raw_std, physics, units, typical_sizes(dynamics))


def with_common_scales(normalisation: Normalisation, physics: Physics | None) -> Normalisation:
    """One scale for all measured components of a unit vector: it has one noise, and it can turn.

    A component that happened to be still while the data were taken would otherwise be blown up.
    """
    if physics is None:
        return normalisation
    std = normalisation.y_std.copy()
    for group in physics.unit_vectors:
        rows = [physics.observed.index(name) for name in group if name in physics.observed]
        if rows:
            std[rows] = np.sqrt(np.mean(np.square(std[rows])))
    return replace(normalisation, y_std=std)


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
    return Sizes(_sound(np.sqrt(changes.mean(axis=0))), _sound(np.asarray(squares.mean(axis=0))))


def _sound(sizes: np.ndarray) -> tuple[float, ...]:
    """One in place of what is zero or not finite."""
    return tuple(float(s) if np.isfinite(s) and s > _NOTHING else 1.0 for s in sizes)
