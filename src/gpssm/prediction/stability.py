"""Is a fitted model mean-square stable, that is, does its predictive covariance stay bounded?

A state that is known exactly is rolled out in open loop many times. In a stable model the spread of
the copies settles; in an unstable one it goes on growing, as t^p over the last part of the horizon
(p = 1 for a random walk, and more where an error in one state drives another).
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.base.errors import ConfigError, expected
from gpssm.data import Dataset, Normalisation
from gpssm.data.alignment import aligned
from gpssm.gp import make_keys
from gpssm.inference import System
from gpssm.inference.forward import forward_pass
from gpssm.inference.rollout import predict
from gpssm.inference.sequences import from_batch_first
from gpssm.inference.terms import cast, factor_system
from gpssm.plots import plot_stability

GROWS = 0.3  # exponent above which a spread counts as growing
SHORTEST = 20  # steps of a horizon: fewer say nothing about what comes later
_EARLY, _LATE = (0.3, 0.5), (0.8, 1.0)  # parts of the horizon that are compared
_SETTLED = 1.0 - np.exp(-1.0)


@runtime_checkable
class Fitted(Protocol):
    """The attributes of a run that this module needs."""

    @property
    def system(self) -> System:
        """All that was learned."""

    @property
    def normalisation(self) -> Normalisation:
        """The units of the data."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """A name for each output, or none at all."""


@dataclass(frozen=True)
class Suggestion:
    """Settings that suit a plant of this kind: rules of thumb, to start from."""

    k: float
    state_kl: float
    lag: int
    sequence_length: int


@dataclass(frozen=True, eq=False)
class Stability:
    """How the spread of copies of one known state grows along the horizon."""

    variance: Float[np.ndarray, "time states"]  # in normalised units
    state_names: tuple[str, ...]

    @property
    def exponent(self) -> Float[np.ndarray, " states"]:
        """The p of a growth as t^p, per state: 0 where the spread has settled."""
        horizon = len(self.variance)
        early, late = (
            np.log(self.variance[int(a * horizon) : int(b * horizon)]).mean(axis=0)
            for a, b in (_EARLY, _LATE)
        )
        return (late - early) / np.log(sum(_LATE) / sum(_EARLY))

    @property
    def growing(self) -> tuple[bool, ...]:
        """Which states have a spread that goes on growing."""
        return tuple(bool(p > GROWS) for p in self.exponent)

    @property
    def stable(self) -> bool:
        """Whether the model is mean-square stable within the horizon."""
        return not any(self.growing)

    @property
    def doubling(self) -> Float[np.ndarray, " states"]:
        """Steps in which the variance at the end of the horizon doubles, if it goes on growing."""
        p = np.where(self.growing, self.exponent, 1.0)
        return np.where(self.growing, len(self.variance) * (2.0 ** (1.0 / p) - 1.0), np.inf)

    @property
    def settling(self) -> Float[np.ndarray, " states"]:
        """Steps until the variance has reached 1 − 1/e of its value at the end of the horizon."""
        return 1.0 + np.argmax(self.variance >= _SETTLED * self.variance[-1], axis=0)

    def suggest(self) -> Suggestion:
        """k, state_kl, lag and sequence length. A growing spread needs strong conditioning, at a
        price, and long training sequences; a settling one needs sequences that last until it has
        settled."""
        memory, horizon = np.max(self.settling), len(self.variance)
        if self.stable:
            return Suggestion(50.0, 1.0, _between(memory, 8, 64), _between(4 * memory, 50, 300))
        return Suggestion(1.0, 10.0, _between(memory / 4, 16, 50), _between(horizon, 100, 300))

    def plot(self, *, path: str | Path | None = None, title: str = "") -> Any:
        """The standard deviation of every state over the horizon."""
        return plot_stability(self, path=path, title=title)

    def __str__(self) -> str:
        verdict = "mean-square stable" if self.stable else "not mean-square stable"
        lines = [f"{verdict} over {len(self.variance)} steps"]
        rows = zip(self.state_names, self.exponent, self.doubling, self.settling, strict=True)
        for name, p, doubling, settling in rows:
            if np.isfinite(doubling):
                growth = f"variance grows as t^{p:.1f}, doubles within {doubling:.0f} steps"
            else:
                growth = f"variance settles, most of it within {settling:.0f} steps"
            lines.append(f"  {name}: {growth}")
        settings = asdict(self.suggest()).items()
        lines.append("  try " + ", ".join(f"{name}={value:g}" for name, value in settings))
        return "\n".join(lines)


def stability(
    run: Fitted,
    data: Dataset | None = None,
    *,
    horizon: int = 300,
    starts: int = 16,
    particles: int = 100,
    seed: int = 0,
) -> Stability:
    """Whether the predictive covariance of a fitted model stays bounded, and how fast it grows.

    With `data` the copies start from states along it and follow its inputs, repeated where they
    end before the horizon; without, from the inducing inputs, with white noise as input.
    """
    for name, value, least in (
        ("horizon", horizon, SHORTEST), ("starts", starts, 1), ("particles", particles, 2),
    ):  # fmt: skip
        if value < least:
            raise ConfigError(expected(name, value, f"at least {least}"))
    key_start, key_roll = jax.random.split(jax.random.key(seed))
    system = run.system.with_particles(particles)
    with jax.enable_x64(True):
        if data is None:
            x, u = _from_inducing_inputs(key_start, system, horizon, starts)
        else:
            x, u = _from_data(key_start, system, data, run.normalisation, horizon, starts)
        variance = np.asarray(_spread(key_roll, system, x, u))
    return Stability(variance, _names(run))


@eqx.filter_jit
def _spread(
    key: PRNGKeyArray,
    system: System,
    x: Float[Array, "states starts"],
    u: Float[Array, "time controls starts"],
) -> Float[Array, "horizon states"]:
    """Variance over the copies of each start; geometric mean over the starts."""
    particles = system.config.particles
    local, factors = cast(system, x.dtype), factor_system(system, x.dtype)
    copies = jnp.repeat(x, particles, axis=1)
    path = forward_pass(make_keys(key, x.shape[1]), local, factors.forward, copies, u, None).x
    variance = jnp.var(path[1:].reshape(*path[1:].shape[:2], -1, particles), axis=-1)
    return jnp.exp(jnp.mean(jnp.log(variance + jnp.finfo(x.dtype).tiny), axis=-1))


def _from_inducing_inputs(
    key: PRNGKeyArray, system: System, horizon: int, starts: int
) -> tuple[Array, Array]:
    """Inducing inputs lie where the trajectories of the training data went."""
    z, states = system.model.transition.gp.inducing_inputs, system.model.dim_x
    key_choice, key_input = jax.random.split(key)
    chosen = jax.random.choice(key_choice, z, (starts,))
    controls = z.shape[1] - states
    return chosen[:, :states].T, jax.random.normal(key_input, (horizon + 1, controls, starts))


def _from_data(
    key: PRNGKeyArray,
    system: System,
    data: Dataset,
    normalisation: Normalisation,
    horizon: int,
    starts: int,
) -> tuple[Array, Array]:
    """States at the end of a warm-up, and the inputs that follow."""
    warmup = max(system.config.shortest_warmup, system.config.warmup)
    longest = max(data.experiments, key=len)
    if len(longest) < warmup:
        given, wanted = f"experiments of at most {len(longest)} rows", f"one of {warmup} or more"
        raise ConfigError(expected("data", given, wanted, "That is the warm-up of the model."))
    y, u = normalisation.y(longest.y), np.asarray(normalisation.u(longest.u))
    u = aligned(u, system.config.input_delays or (1,) * data.dim_u)
    begins = np.linspace(0, max(len(y) - warmup - horizon, 0), starts).astype(int)
    rows = (begins[:, None] + np.arange(warmup + horizon)) % len(y)
    u, seen = u[rows], y[rows[:, :warmup]]
    sequences = from_batch_first(u[:, :warmup], seen, np.isfinite(seen))
    first = predict(key, system, sequences.u, sequences, warmup)[-1]
    x = jnp.mean(first.reshape(first.shape[0], starts, -1), axis=-1)
    return x, jnp.transpose(u[:, warmup - 1 :], (1, 2, 0))


def _names(run: Fitted) -> tuple[str, ...]:
    outputs, states = run.system.model.dim_y, run.system.model.dim_x
    seen = run.output_names or tuple(f"y{i + 1}" for i in range(outputs))
    return (*seen, *(f"hidden {i + 1}" for i in range(states - outputs)))


def _between(value: float, low: int, high: int) -> int:
    return int(np.clip(round(value), low, high))
