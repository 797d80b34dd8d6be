"""Known physics of a plant: equations of motion in physical units, with unknown terms.

    ẋ = rates(x, u, parameters, f)

f is what the GP yields: a force, a torque, an acceleration, a friction. Over one step f and u are
constant. All numbers here are in the user's units; `gpssm.model.hybrid` converts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.base.errors import ConfigError, expected

from .integrate import SOLVERS, State, integrate

Input = Float[Array, " inputs"]
Yields = Float[Array, " yields"]
Values = dict[str, Any]
Rates = Callable[[Array, Array, Values, Array], Array]
INNOVATION = "innovation"  # what the backward GP may see beside the channels


@dataclass(frozen=True)
class Prior:
    """Prior of a physical parameter that is learned: value = centre + spread · θ, θ ~ N(0, 1).

    `log-normal` is for positive ones: value = centre · exp(spread · θ), so a spread of 0.1 means
    about ten per cent.
    """

    centre: float
    spread: float
    kind: Literal["normal", "log-normal"] = "normal"

    def __post_init__(self) -> None:
        if not self.spread > 0:
            raise ConfigError(expected("spread", self.spread, "a number above zero"))
        if self.kind == "log-normal" and not self.centre > 0:
            raise ConfigError(expected("centre", self.centre, "a number above zero (log-normal)"))

    def value(self, theta: Float[Array, ""]) -> Float[Array, ""]:
        """The parameter in its units."""
        if self.kind == "log-normal":
            return self.centre * jnp.exp(self.spread * theta)
        return self.centre + self.spread * theta


def normal(mean: float, std: float) -> Prior:
    """A parameter of either sign that is learned."""
    return Prior(float(mean), float(std), "normal")


def log_normal(median: float, relative_std: float) -> Prior:
    """A positive parameter that is learned; 0.2 means: known to about twenty per cent."""
    return Prior(float(median), float(relative_std), "log-normal")


@dataclass(frozen=True, eq=False)  # two of them are the same only if they are one object
class Physics:
    """Equations of motion with a gap that a GP fills."""

    rates: Rates
    """dx/dt as a function of x [states], u [inputs], a dictionary of the parameters, f [yields]."""
    step: float
    """Time between two samples."""
    states: Sequence[str]
    """Names of all states, in the order of x."""
    observed: Sequence[str]
    """The states that are measured, in the order of the data's outputs."""
    scales: Mapping[str, float]
    """Typical size of each hidden state: its standard deviation before any measurement."""
    inputs: Sequence[str] = ()
    """Names of the inputs, in the order of u."""
    yields: Mapping[str, float] = field(default_factory=dict)
    """Outputs of the GP, in the order of f, with the typical size of each, in its units."""
    sees: Sequence[str] | Callable[[Array, Array], Array] = ()
    """Inputs of the GP: names of states and inputs, or a function (x, u) → features near 1."""
    parameters: Mapping[str, float | Prior] = field(default_factory=dict)
    """Physical constants: a number is fixed, a `Prior` is learned."""
    unit_vectors: Sequence[Sequence[str]] = ()
    """Groups of states with norm one, such as a quaternion: normalised after each step."""
    solver: str = "rk4"  # one of SOLVERS, which is checked with a better message
    """`rk4`, `euler` or `symplectic`."""
    positions: Sequence[str] = ()
    """For `symplectic`: the states that are positions; the others are velocities."""
    substeps: int = 1
    """Steps of the solver between two samples."""
    smoother_sees: Sequence[str] = (INNOVATION,)
    """Inputs of the backward GP: names of states and inputs, and `innovation`."""
    observer_gain: float = 0.2
    """At the start of training f_b is this times the innovation: an observer."""
    name: str = "physics"
    """Name in messages."""

    def __post_init__(self) -> None:
        for name in ("states", "observed", "inputs", "positions", "smoother_sees"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "unit_vectors", tuple(tuple(g) for g in self.unit_vectors))
        if not callable(self.sees):
            object.__setattr__(self, "sees", tuple(self.sees))
        _check_names(self)
        _check_numbers(self)
        _check_functions(self)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The states that are not measured."""
        return tuple(name for name in self.states if name not in self.observed)

    @property
    def learned(self) -> dict[str, Prior]:
        """The parameters that have a prior."""
        return {k: v for k, v in self.parameters.items() if isinstance(v, Prior)}

    def values(self, theta: Float[Array, " learned"]) -> Values:
        """All parameters in their units, the learned ones at θ."""
        learned = {k: prior.value(theta[i]) for i, (k, prior) in enumerate(self.learned.items())}
        return {**self.parameters, **learned}

    def change(self, x: State, u: Input, values: Values, f: Yields) -> Float[Array, " rates"]:
        """dx/dt, in the precision of x whatever constants the user's function has."""
        return jnp.asarray(self.rates(x, u, values, f)).astype(x.dtype)

    def advance(self, x: State, u: Input, values: Values, f: Yields) -> State:
        """x one sample later, back on its unit vectors."""
        positions = [self.states.index(name) for name in self.positions]
        step = self.step / self.substeps
        for _ in range(self.substeps):
            x = integrate(lambda x: self.change(x, u, values, f), x, step, self.solver, positions)
        return self.project(x)

    def project(self, x: Float[Array, "states *n"]) -> Float[Array, "states *n"]:
        """Every unit vector of the state brought back to length one."""
        lengths = [jnp.ones_like(x[0])] * len(self.states)
        for group in self.unit_vectors:
            rows = [self.states.index(name) for name in group]
            length = jnp.sqrt(sum(jnp.square(x[row]) for row in rows))
            lengths = [length if i in rows else old for i, old in enumerate(lengths)]
        return x / jnp.stack(lengths) if self.unit_vectors else x

    def describe(self) -> dict[str, Any]:
        """All but the functions: what a model file keeps, to know the same physics again."""
        sees = getattr(self.sees, "__name__", "a function") if callable(self.sees) else self.sees
        parameters = {
            k: [v.kind, v.centre, v.spread] if isinstance(v, Prior) else float(v)
            for k, v in self.parameters.items()
        }
        return {
            "name": self.name,
            "rates": getattr(self.rates, "__name__", "a function"),
            "step": float(self.step),
            "states": list(self.states),
            "observed": list(self.observed),
            "scales": {k: float(self.scales[k]) for k in self.hidden},
            "inputs": list(self.inputs),
            "yields": {k: float(v) for k, v in self.yields.items()},
            "sees": sees if isinstance(sees, str) else list(sees),
            "parameters": parameters,
            "unit_vectors": [list(group) for group in self.unit_vectors],
            "solver": self.solver,
            "positions": list(self.positions),
            "substeps": self.substeps,
            "smoother_sees": list(self.smoother_sees),
            "observer_gain": float(self.observer_gain),
        }


def _check_names(physics: Physics) -> None:
    known = {*physics.states, *physics.inputs}
    if len(known) < len(physics.states) + len(physics.inputs):
        given = [*physics.states, *physics.inputs]
        raise ConfigError(expected("states and inputs", given, "names that are all different"))
    sees = () if callable(physics.sees) else tuple(physics.sees)
    grouped = tuple(name for group in physics.unit_vectors for name in group)
    for field_name, names, allowed in (
        ("observed", physics.observed, set(physics.states)),
        ("positions", physics.positions, set(physics.states)),
        ("unit_vectors", grouped, set(physics.states)),
        ("sees", sees, known),
        ("smoother_sees", physics.smoother_sees, known | {INNOVATION}),
    ):
        for name in names:
            if name not in allowed:
                raise ConfigError(expected(field_name, repr(name), f"one of {sorted(allowed)}"))
    if not physics.observed:
        raise ConfigError(expected("observed", "nothing", "at least one of the states"))
    if not physics.yields or (not sees and not callable(physics.sees)):
        raise ConfigError(expected("yields and sees", "nothing", "at least one output of the GP"))
    if set(physics.scales) != set(physics.hidden):
        wanted = f"one for each hidden state: {sorted(physics.hidden)}"
        raise ConfigError(expected("scales", sorted(physics.scales), wanted))


def _check_numbers(physics: Physics) -> None:
    for field_name, value in (
        ("step", physics.step),
        *((f"scales[{k!r}]", v) for k, v in physics.scales.items()),
        *((f"yields[{k!r}]", v) for k, v in physics.yields.items()),
    ):
        if not value > 0:
            raise ConfigError(expected(field_name, value, "a number above zero"))
    if physics.substeps < 1:
        raise ConfigError(expected("substeps", physics.substeps, "at least 1"))
    if physics.solver not in SOLVERS:
        raise ConfigError(expected("solver", repr(physics.solver), f"one of {SOLVERS}"))
    if physics.solver == "symplectic" and not physics.positions:
        remedy = "Name the states that are positions; the others are velocities."
        raise ConfigError(expected("positions", "nothing", "some for 'symplectic'", remedy))


def _check_functions(physics: Physics) -> None:
    """The user's functions are called once, on shapes only."""
    x, u = jnp.zeros(len(physics.states)), jnp.zeros(len(physics.inputs))
    values = physics.values(jnp.zeros(len(physics.learned)))
    rates = jax.eval_shape(lambda: physics.change(x, u, values, jnp.zeros(len(physics.yields))))
    if rates.shape != x.shape:
        wanted = f"shape {x.shape}, one number per state"
        raise ConfigError(expected("rates", f"a result of shape {rates.shape}", wanted))
    if callable(physics.sees) and jax.eval_shape(physics.sees, x, u).ndim != 1:
        raise ConfigError(expected("sees", "a result that is no vector", "a vector of features"))
