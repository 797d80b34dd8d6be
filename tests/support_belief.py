"""Runs that no training made, as models of a belief."""

import jax
import jax.numpy as jnp
import numpy as np

from gpssm import Model, Normalisation, Physics, Run, Training, cbf_ssm, log_normal, normal
from gpssm.inference import build
from gpssm.training import History
from support import SMALL, linear_system, make_sequences, make_system

A = np.array([[0.85, 0.3], [-0.2, 0.8]])
B = np.array([[0.4], [-0.7]])
PROCESS, SENSOR = np.array([0.06, 0.04]), np.array([0.03])
UNITS = Normalisation(np.array([2.0]), np.array([0.5]), np.array([10.0]), np.array([4.0]))
LINEAR = Model(
    dim_x=2, target="none", k=1, recognition="output", function_draw="delta", covariance="delta",
    warmup=1, inducing_points=3,
)  # fmt: skip


def run_of(system, normalisation=UNITS, precision="float64", **more) -> Run:
    training, history = Training(precision=precision), History.from_columns({"elbo": np.zeros(1)})
    return Run(system, normalisation, training, 0, history, **more)


def linear_run(normalisation=UNITS, precision="float64", **settings) -> Run:
    """x[t+1] = A x + B u + noise, in normalised units."""
    variances = PROCESS, SENSOR, np.ones(2)
    system = linear_system(LINEAR.replace(**settings), A, B, *variances)
    return run_of(system, normalisation, precision)


def black_box(dim_u: int = 1, dim_y: int = 1, precision="float64", spread=0.2, **settings) -> Run:
    """Random parameters: a nonlinear plant that stays near the data."""
    small = {"dim_x": 3, "inducing_points": 5, "warmup": 3, "lag": 4}
    model = Model(**{**small, **settings})
    system = make_system(model, make_sequences(dim_u=dim_u, dim_y=dim_y), spread=spread)
    units = Normalisation(
        np.linspace(1.0, 2.0, dim_u), np.linspace(0.5, 2.0, dim_u),
        np.linspace(10.0, -3.0, dim_y), np.linspace(4.0, 0.3, dim_y),
    )  # fmt: skip
    return run_of(system, units, precision)


def pendulum(x, u, parameters, f):
    """Upright; its angle is measured, its spin is hidden."""
    spin, angle = x
    turn = parameters["pull"] * jnp.sin(angle)
    return jnp.stack([turn + u[0] + f[0] - parameters["friction"] * spin, spin])


PENDULUM = Physics(
    rates=pendulum, step=0.05, states=("spin", "angle"), observed=("angle",),
    scales={"spin": 2.0}, inputs=("torque",), yields={"push": 3.0}, sees=("angle", "torque"),
    parameters={"pull": log_normal(9.81, 0.1), "friction": normal(0.1, 0.05)}, name="pendulum",
)  # fmt: skip
OF_PENDULUM = Normalisation(np.array([0.3]), np.array([1.7]), np.array([0.2]), np.array([0.4]))


def physics_run(physics=PENDULUM, normalisation=OF_PENDULUM, spread=0.1, **settings) -> Run:
    """Equations of motion with all learned parameters away from where training starts."""
    config = cbf_ssm(physics=physics, **{**SMALL, **settings})
    examples = make_sequences(dim_u=len(physics.inputs), dim_y=len(physics.observed))
    system = build(jax.random.key(0), config, examples, normalisation)
    rng = np.random.default_rng(1)
    return run_of(
        jax.tree.map(lambda a: a + spread * rng.standard_normal(a.shape), system), normalisation
    )


def make_rows(run: Run, rows: int, seed: int = 0, missing: float = 0.0, plants: int | None = None):
    """Inputs and outputs in the units of the data, as wide as the training data."""
    rng, scales = np.random.default_rng(seed), run.normalisation
    lead = () if plants is None else (plants,)
    u = scales.u_mean + scales.u_std * rng.standard_normal((*lead, rows, len(scales.u_mean)))
    y = scales.y_mean + scales.y_std * rng.standard_normal((*lead, rows, len(scales.y_mean)))
    return u, np.where(rng.uniform(size=y.shape) < missing, np.nan, y)


def simulate(run: Run, rows: int, seed: int, start: np.ndarray, u: np.ndarray):
    """States and outputs (in the units of the data) of the linear plant."""
    rng, x, states = np.random.default_rng(seed), np.asarray(start), []
    normal_u = run.normalisation.u(u)
    for t in range(rows):
        states.append(x)
        x = A @ x + B @ normal_u[t] + np.sqrt(PROCESS) * rng.standard_normal(2)
    states = np.array(states)
    y = states[:, :1] + np.sqrt(SENSOR) * rng.standard_normal((rows, 1))
    return states, np.asarray(run.normalisation.y_mean_back(y))
