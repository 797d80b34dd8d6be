"""Seeded simulators: pure functions of their key that give a `Dataset`.

All of them follow one convention: y[t] is measured at x[t], then u[t] drives x[t] to x[t+1].
They run in double precision whatever JAX's global flag says, so that a seed means one data set.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.base.errors import DataError, expected
from gpssm.data.dataset import Dataset

StepFunction = Callable[
    [PRNGKeyArray, Float[Array, " state"], Float[Array, " inputs"]], tuple[ArrayLike, ArrayLike]
]


class Trajectory(NamedTuple):
    """True states of a simulation, and its inputs."""

    states: Float[np.ndarray, "time state"]
    u: Float[np.ndarray, "time inputs"]


def simulate(
    key: PRNGKeyArray,
    step: StepFunction,
    u: ArrayLike | None,
    x0: ArrayLike | Sequence[float],
    *,
    steps: int | None = None,
    sampling_time: float | None = None,
    name: str = "simulation",
) -> Dataset:
    """A data set from any function (key, x, u) → (next x, y), with y measured at x.

    Without inputs give u=None and the number of steps. The function is traced by JAX: it is
    written with jax.numpy, and gets a new key at every step.
    """
    if u is not None:
        inputs = np.asarray(u, dtype=np.float64)
    elif steps is not None:
        inputs = np.zeros((steps, 0))
    else:
        raise DataError(expected("simulate", "neither u nor steps", "one of them"))
    inputs = inputs[:, None] if inputs.ndim == 1 else inputs
    with jax.enable_x64(True):
        start = jnp.atleast_1d(jnp.asarray(x0, jnp.float64))
        states, y = (np.asarray(v) for v in _roll(step, key, start, jnp.asarray(inputs)))
    bad = ~np.isfinite(states).all(axis=1)
    if bad.any():
        remedy = "Check the step function; shorten the run if the system is unstable."
        given = f"a state that is not finite after step {int(np.argmax(bad))}"
        raise DataError(expected(f"simulation {name!r}", given, "finite numbers", remedy))
    return Dataset.from_arrays(y, inputs, sampling_time=sampling_time, name=name)


@partial(jax.jit, static_argnums=0)
def _roll(
    step: StepFunction,
    key: PRNGKeyArray,
    x0: Float[Array, " state"],
    u: Float[Array, "time inputs"],
) -> tuple[Float[Array, "time state"], Float[Array, "time outputs"]]:
    def one(x: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        after, y = step(now[0], x, now[1])
        after = jnp.reshape(jnp.asarray(after, jnp.float64), x.shape)
        return after, (after, jnp.atleast_1d(jnp.asarray(y, jnp.float64)))

    return jax.lax.scan(one, x0, (jax.random.split(key, len(u)), u))[1]


# ---------------------------------------------------------------------- Dubins car

CAR_PROCESS_VARIANCE = 1e-5
CAR_OBSERVATION_VARIANCE = 1e-4
CAR_RADIUS = 5.0


def dubins(key: PRNGKeyArray, steps: int = 30000, train: int = 25000) -> Dataset:
    """The paper's car: speed and curvature in, the position out, the heading hidden."""
    path = dubins_trajectory(key, steps)
    return _car_data(key, path, path.states[:, :2], ("px", "py"), "dubins", train)


def dubins_full(key: PRNGKeyArray, steps: int = 30000, train: int = 25000) -> Dataset:
    """The same car with its whole state (px, py, sin, cos of the heading) observed."""
    path = dubins_trajectory(key, steps)
    heading = path.states[:, 2:]
    seen = np.concatenate([path.states[:, :2], np.sin(heading), np.cos(heading)], axis=1)
    return _car_data(key, path, seen, ("px", "py", "sin", "cos"), "dubins_full", train)


def dubins_step(
    x: Float[Array, "3"], speed: Float[Array, ""], curvature: Float[Array, ""]
) -> Float[Array, "3"]:
    """One step along an exact arc, without noise. Heading 0 looks along py.

    The chord of an arc of length s that turns by a = s·κ has length s·sin(a/2)/(a/2) and the
    direction half-way; below |κ| = 1e-5 the arc is taken for a straight line.
    """
    turn = jnp.where(jnp.abs(curvature) < 1e-5, 0.0, speed * curvature)
    chord = speed * jnp.sinc(turn / (2 * jnp.pi))  # numpy's sinc(z) is sin(πz)/(πz)
    middle = x[2] + turn / 2
    return x + jnp.stack([chord * jnp.sin(middle), chord * jnp.cos(middle), turn])


def dubins_trajectory(key: PRNGKeyArray, steps: int) -> Trajectory:
    """True states (px, py, heading) of the car and the commands that drove it."""
    with jax.enable_x64(True):
        states, u = _drive(key, steps)
        return Trajectory(np.asarray(states), np.asarray(u))


class _Draws(NamedTuple):
    """All random numbers of a drive, drawn at once: far faster than inside the time loop."""

    speed: Float[Array, "*time"]
    curvature: Float[Array, "*time"]
    return_speed: Float[Array, "*time"]
    return_curvature: Float[Array, "*time"]
    noise: Float[Array, "*time 2"]


class _Driver(NamedTuple):
    """State of the driver: the car, and the turning command that brings it back."""

    x: Float[Array, "3"]
    outside: Float[Array, ""]
    speed: Float[Array, ""]
    curvature: Float[Array, ""]


def _car_draws(key: PRNGKeyArray, steps: int) -> _Draws:
    keys = jax.random.split(key, 7)
    uniform = partial(jax.random.uniform, shape=(steps,), dtype=jnp.float64)
    straight = jax.random.bernoulli(keys[1], 0.3, (steps,))
    sign = jnp.where(jax.random.bernoulli(keys[5], 0.5, (steps,)), 1.0, -1.0)
    return _Draws(
        speed=jnp.maximum(uniform(keys[0], minval=-0.1, maxval=0.5), 0.0),
        curvature=jnp.where(straight, 0.0, uniform(keys[2], minval=-1.5, maxval=1.5)),
        return_speed=uniform(keys[3], minval=0.2, maxval=0.5),
        return_curvature=sign * uniform(keys[4], minval=0.5, maxval=0.8),
        noise=_normal(keys[6], (steps, 2), CAR_PROCESS_VARIANCE),
    )


def _command(driver: _Driver, draws: _Draws) -> tuple[_Driver, Float[Array, "2"]]:
    """The policy: random inside the radius, outside one turning command until it is back.

    The command is drawn on the step that finds the car outside and then held; its curvature c
    is asked for as 0.8 c + 0.2 c/(n+1) after n steps outside.
    """
    inside = jnp.hypot(driver.x[0], driver.x[1]) < CAR_RADIUS
    first = driver.outside < 0
    speed = jnp.where(first, draws.return_speed, driver.speed)
    curvature = jnp.where(first, draws.return_curvature, driver.curvature)
    n = jnp.where(inside, -1.0, driver.outside + 1)
    turning = curvature * (0.8 + 0.2 / (n + 1 + inside))
    chosen_speed = jnp.where(inside, draws.speed, speed)
    chosen_curvature = jnp.where(inside, draws.curvature, turning)
    return _Driver(driver.x, n, speed, curvature), jnp.stack([chosen_speed, chosen_curvature])


@partial(jax.jit, static_argnums=1)
def _drive(key: PRNGKeyArray, steps: int) -> tuple[Float[Array, "time 3"], Float[Array, "time 2"]]:
    def one(driver: _Driver, draws: _Draws) -> tuple[_Driver, tuple[Array, Array]]:
        driver, u = _command(driver, draws)
        after = dubins_step(driver.x, u[0], u[1]) + jnp.append(draws.noise, 0.0)
        return driver._replace(x=after), (driver.x, u)

    zero = jnp.zeros((), jnp.float64)
    start = _Driver(jnp.zeros(3, jnp.float64), zero - 1, zero, zero)
    return jax.lax.scan(one, start, _car_draws(key, steps))[1]


def _car_data(
    key: PRNGKeyArray,
    path: Trajectory,
    seen: Float[np.ndarray, "time outputs"],
    names: tuple[str, ...],
    name: str,
    train: int,
) -> Dataset:
    sensor_key = jax.random.fold_in(key, 1)  # the drive has used the children of `key`
    with jax.enable_x64(True):
        noise = np.asarray(_normal(sensor_key, seen.shape, CAR_OBSERVATION_VARIANCE))
    data = Dataset.from_arrays(
        seen + noise, path.u, input_names=("speed", "curvature"), output_names=names, name=name
    )
    return data.split_at(train)


# ---------------------------------------------------------------------- spring, kink, tanks


def spring(key: PRNGKeyArray, steps: int = 10000, train: int = 5000) -> Dataset:
    """A linear third-order spring driven through tanh(2u); only the position is seen."""
    input_key, run_key = jax.random.split(key)
    u = _held_levels(input_key, steps, 100, -2.0, 2.0)
    data = simulate(run_key, _spring_step, u, (1.0, 0.0, 0.0), sampling_time=0.01, name="spring")
    return data.split_at(train)


def _spring_step(key: PRNGKeyArray, x: Array, u: Array) -> tuple[Array, Array]:
    b, k, m, dt, variance = 0.05, 1.0, 0.002, 0.01, 1e-4
    A = jnp.array([[1.0, dt, 0.0], [0.0, 1.0, dt], [-k / m, -b / m, 0.0]])
    B = jnp.array([0.0, 0.0, 1 / m])
    return A @ x + B * jnp.tanh(2 * u[0]), x[0] + _normal(key, (), variance)


def kink(
    key: PRNGKeyArray, steps: int = 600, train: int = 500, observation_variance: float = 0.08
) -> Dataset:
    """The kink function of the GPSSM literature, without inputs; process variance 0.05."""
    step = _kink_step(observation_variance)
    return simulate(key, step, None, (0.5,), steps=steps, name="kink").split_at(train)


@cache  # one function per variance: JAX compiles a function once
def _kink_step(observation_variance: float) -> StepFunction:
    def step(key: PRNGKeyArray, x: Array, u: Array) -> tuple[Array, Array]:  # noqa: ARG001
        process, sensor = jax.random.split(key)
        y = x + _normal(sensor, (1,), observation_variance)
        return kink_function(x) + _normal(process, (1,), 0.05), y

    return step


def kink_function(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """f(x) = 0.8 + (x + 0.2)(1 − 5 / (1 + exp(−2x)))."""
    return 0.8 + (x + 0.2) * (1 - 5 / (1 + jnp.exp(-2 * x)))


def two_tanks(key: PRNGKeyArray, steps: int = 5000, train: int = 4000) -> Dataset:
    """Two tanks above each other, a pump into the upper; only the lower level is seen.

    Levels in cm, pump voltage held at random levels for 40 steps of 1 s, level noise 0.1 cm. The
    outflow grows like the root of the level (and is smooth at an empty tank); a full tank spills.
    """
    input_key, run_key = jax.random.split(key)
    u = _held_levels(input_key, steps, 40, 2.0, 13.0)
    data = simulate(run_key, _tanks_step, u, (10.0, 10.0), sampling_time=1.0, name="two_tanks")
    named = replace(data, input_names=("pump",), output_names=("level",))
    return replace(named, input_units=("V",), output_units=("cm",)).split_at(train)


def _tanks_step(key: PRNGKeyArray, x: Array, u: Array) -> tuple[Array, Array]:
    process, sensor = jax.random.split(key)
    y = x[1] + _normal(sensor, (), 1e-2)
    for _ in range(4):  # Euler steps of a quarter second: far below the time constants
        x = x + 0.25 * tank_rates(x, u[0])
    return x + _normal(process, (2,), 1e-4), y


def tank_rates(levels: Float[Array, "2"], voltage: Float[Array, ""]) -> Float[Array, "2"]:
    """Rates of the two levels in cm/s: tanks of 15.5 cm², outlets of 0.178 cm², 3.3 cm³/s per V."""
    area, outlet, pump, gravity, height = 15.5, 0.178, 3.3, 981.0, 30.0
    h = jnp.maximum(levels, 0.0)
    # √(2gh) away from zero, linear close to it: the root's slope there would be infinite
    outflow = outlet * jnp.sqrt(2 * gravity) * h / jnp.sqrt(h + 0.05)
    spill = area * jax.nn.softplus(4 * (levels - height)) / 4
    inflow = jnp.stack([pump * voltage, outflow[0]])
    return (inflow - outflow - spill) / area


# ---------------------------------------------------------------------- random numbers


def _normal(key: PRNGKeyArray, shape: tuple[int, ...], variance: float) -> Float[Array, "..."]:
    return np.sqrt(variance) * jax.random.normal(key, shape, jnp.float64)


def _held_levels(
    key: PRNGKeyArray, steps: int, hold: int, low: float, high: float
) -> Float[np.ndarray, " time"]:
    """Uniform random levels, each held for a number of steps."""
    with jax.enable_x64(True):
        levels = jax.random.uniform(key, (-(-steps // hold),), jnp.float64, low, high)
    return np.repeat(np.asarray(levels), hold)[:steps]
