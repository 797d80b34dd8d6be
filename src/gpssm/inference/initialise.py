"""Initial system: parameters of the right shape, with inducing inputs from the data."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.cluster.vq import kmeans2

from gpssm.base.errors import ConfigError, expected
from gpssm.data import Normalisation
from gpssm.gp import SparseGP, make_kernel
from gpssm.gp.positive import raw_positive
from gpssm.gp.sparse import inducing_cholesky, make_inducing_posterior
from gpssm.model import (
    AbstractDynamics,
    Affine,
    Emission,
    Increment,
    InitialState,
    LinearPart,
    StateSpaceModel,
    Transition,
    make_hybrid,
)
from gpssm.model.physics import INNOVATION

from .family import Model, Posterior, System
from .linear_part import LinearStart
from .linear_start import linear_start, output_steps
from .methods.abstract import find_method
from .recognition import find_recognition
from .sequences import Sequences

# What f and f_b see of the data.
Embeddings = tuple[Float[np.ndarray, "points f_inputs"], Float[np.ndarray, "points b_inputs"]]


def build(
    key: PRNGKeyArray,
    config: Model,
    examples: Sequences,
    normalisation: Normalisation | None = None,
    linear: LinearStart | None = None,
) -> System:
    """A fresh system for data like the `examples`, which also place the inducing inputs.

    Physics needs the `normalisation` of the data: it works in physical units. A model with a
    linear part starts at `linear`; without it the part is one that changes nothing.
    """
    dim_u, dim_y = examples.u.shape[1], examples.y.shape[1]
    if config.dim_x < dim_y:
        wanted = f"at least the number of outputs, {dim_y}"
        raise ConfigError(expected("dim_x", config.dim_x, wanted))
    dynamics = make_dynamics(config, normalisation)
    if config.linear_part:
        dynamics = _affine(config, dim_y, dim_u, linear)
    if config.smoother_sees_steps:
        dynamics = Increment(raw_positive(output_steps(np.moveaxis(np.asarray(examples.y), -1, 0))))
    key_inputs, key_rest = jax.random.split(key)
    points = _place(key_inputs, config, dynamics, examples, linear)
    system = _assemble(key_rest, points, dynamics, config, dim_u, dim_y)
    return system if linear is None else _with_noise(system, linear)


def _affine(config: Model, dim_y: int, dim_u: int, linear: LinearStart | None) -> Affine:
    """A linear part in whose units the kernels have the variance of what it leaves."""
    if linear is None:
        return Affine.of(LinearPart.blank(config.dim_x, dim_y, dim_u))
    part, unit = linear.part, np.sqrt(config.kernel_variance)
    scales = {"scale": part.scale / unit, "backward_scale": part.backward_scale / unit}
    return Affine.of(part._replace(**scales))


def _with_noise(system: System, linear: LinearStart) -> System:
    """The same system with the noise of the linear fit."""

    where = lambda s: (  # noqa: E731
        s.model.transition.raw_noise,
        s.model.emission.raw_noise,
        s.posterior.raw_hidden_noise,
    )
    hidden = linear.hidden_variance if where(system)[2].size else np.zeros(0)
    noises = linear.process_variance, linear.output_variance, hidden
    return eqx.tree_at(where, system, tuple(raw_positive(each) for each in noises))


def make_dynamics(config: Model, normalisation: Normalisation | None) -> AbstractDynamics:
    """The black box, or the user's physics in the units of the data."""
    physics = config.physics
    if physics is None:
        return Increment()
    if normalisation is None:
        raise ConfigError(expected("normalisation", "nothing", "that of the data, for physics"))
    for kind, names, given in (
        ("observed", physics.observed, len(normalisation.y_mean)),
        ("inputs", physics.inputs, len(normalisation.u_mean)),
    ):
        if len(names) != given:
            wanted = f"{given} of them, as the data have"
            raise ConfigError(expected(f"{kind} of {physics.name!r}", list(names), wanted))
    return make_hybrid(physics, normalisation)


class Points(NamedTuple):
    """Where the inducing inputs of a GP are, and the values there that it starts from.

    None: anywhere in a box; near zero.
    """

    z: Float[Array, "m inputs"] | None = None
    values: Float[Array, "outputs m"] | None = None


def _place(
    key: PRNGKeyArray,
    config: Model,
    dynamics: AbstractDynamics,
    examples: Sequences,
    linear: LinearStart | None,
) -> tuple[Points, Points]:
    """The inducing points of f and f_b."""
    keys, m = [jax.random.fold_in(key, i) for i in range(2)], config.inducing_points
    if linear is not None:
        seen = linear.f_inputs, linear.b_inputs
        f, f_b = (
            Points(jnp.asarray(_kmeans(k, each, m))) for k, each in zip(keys, seen, strict=True)
        )
        return f, f_b
    if config.start == "linear":
        starts = linear_start(config, examples)
        centres = [_kmeans(k, each.seen, m) for k, each in zip(keys, starts, strict=True)]
        f, f_b = (
            Points(jnp.asarray(z), jnp.asarray(each(z)))
            for z, each in zip(centres, starts, strict=True)
        )
        return f, f_b
    if config.inducing_inputs == "uniform":
        return Points(), Points()
    if config.physics is None:
        seen = lagged_embeddings(config, examples)
    else:
        seen = typical_embeddings(config, dynamics, examples)
    f, f_b = (Points(jnp.asarray(_kmeans(k, each, m))) for k, each in zip(keys, seen, strict=True))
    return f, f_b


@partial(jax.jit, static_argnames=("config", "dim_u", "dim_y"))  # one program, not fifty small ones
def _assemble(
    key: PRNGKeyArray,
    points: tuple[Points, Points],
    dynamics: AbstractDynamics,
    config: Model,
    dim_u: int,
    dim_y: int,
) -> System:
    key_forward, key_backward, key_recognition = jax.random.split(key, 3)
    key_added = jax.random.fold_in(key_recognition, 0)
    hidden = config.hidden(dim_y)
    inputs, outputs = _shape_of_f(config, dynamics, dim_u)
    gp = _make_gp(key_forward, config, config.kernel, outputs, inputs, points[0])
    smoother = None
    if hidden:
        inputs = _inputs_of_f_b(config, dynamics, hidden, dim_u, dim_y)
        kernel = config.smoother_kernel or config.kernel
        smoother = _make_gp(key_backward, config, kernel, hidden, inputs, points[1])
        smoother = _observe(config, smoother)
    return System(
        _make_model(config, gp, dynamics, dim_y),
        _make_posterior(key_recognition, key_added, config, smoother, dim_u, dim_y),
        config,
    )


def _observe(config: Model, smoother: SparseGP) -> SparseGP:
    """Where f_b sees an innovation, it starts as an observer: gain · innovation at the points z."""
    physics = config.physics
    if physics is None or INNOVATION not in physics.smoother_sees:
        return smoother
    innovation = smoother.inducing_inputs[:, -len(physics.hidden) :].T
    return _with_values(smoother, physics.observer_gain * innovation)


def _with_values(gp: SparseGP, values: Float[Array, "outputs m"] | None) -> SparseGP:
    """The mean of q(u) moved by the given values of f at the inducing inputs."""
    if values is None:
        return gp
    if gp.posterior.whitened:
        values = (inducing_cholesky(gp, values.dtype).inverse @ values[..., None])[..., 0]
    return eqx.tree_at(lambda gp: gp.posterior.mean, gp, gp.posterior.mean + values)


def _shape_of_f(config: Model, dynamics: AbstractDynamics, dim_u: int) -> tuple[int, int]:
    """Number of inputs and outputs of f."""
    x, u = jnp.zeros((config.dim_x, 1)), jnp.zeros((dim_u, 1))
    outputs = config.dim_x if config.physics is None else len(config.physics.yields)
    return jax.eval_shape(dynamics.seen, x, u).shape[0], outputs


def _inputs_of_f_b(
    config: Model, dynamics: AbstractDynamics, hidden: int, dim_u: int, dim_y: int
) -> int:
    """Number of inputs of f_b."""
    outputs = 2 * dim_y if config.smoother_sees_next_output else dim_y
    signal = jnp.zeros((outputs + dim_u, 1))
    return jax.eval_shape(dynamics.look_back, jnp.zeros((hidden, 1)), signal)[1].shape[0]


def _make_model(
    config: Model, gp: SparseGP, dynamics: AbstractDynamics, dim_y: int
) -> StateSpaceModel:
    dim_x, informative = config.dim_x, config.informative_initial_state
    return StateSpaceModel(
        InitialState(jnp.zeros(dim_x), raw_positive(np.ones(dim_x)), informative),
        Transition(gp, raw_positive(np.full(dim_x, config.process_variance)), dynamics),
        Emission(raw_positive(np.full(dim_y, config.output_variance))),
    )


def _make_posterior(
    key_recognition: PRNGKeyArray,
    key_added: PRNGKeyArray,
    config: Model,
    smoother: SparseGP | None,
    dim_u: int,
    dim_y: int,
) -> Posterior:
    kind = find_recognition(config.recognition)
    recognition = kind.build(key_recognition, config.warmup, dim_u + dim_y, config.dim_x)
    variance = config.hidden_variance or config.output_variance
    noise = raw_positive(np.full(config.hidden(dim_y), variance))
    added = find_method(config).parameters(key_added, config, dim_u, dim_y)
    return Posterior(recognition, smoother, noise, added)


def _make_gp(
    key: PRNGKeyArray, config: Model, kernel_name: str, outputs: int, inputs: int, points: Points
) -> SparseGP:
    key_inputs, key_mean = jax.random.split(key)
    m, limit, z = config.inducing_points, config.inducing_range, points.z
    groups = outputs if config.kernel_per_output else 1
    kernel = make_kernel(kernel_name, inputs, groups, config.kernel_variance, config.lengthscale)
    if z is None:
        z = jax.random.uniform(key_inputs, (m, inputs), minval=-limit, maxval=limit)
    mean = config.inducing_mean * jax.random.normal(key_mean, (outputs, m))
    q = make_inducing_posterior(mean, config.inducing_std, config.covariance, config.whitened)
    return _with_values(SparseGP(kernel, z, q), points.values)


def lagged_embeddings(config: Model, examples: Sequences) -> Embeddings:
    """Stand-ins for the inputs of f and f_b, with past (future) outputs for the hidden states."""
    y, u = (np.moveaxis(np.asarray(a, dtype=np.float64), -1, 0) for a in (examples.y, examples.u))
    hidden = config.dim_x - y.shape[-1]
    past, future = _lags(y, hidden, 1), _lags(y, hidden, -1)
    following = np.concatenate([y[:, 1:], y[:, -1:]], axis=1)
    if config.smoother_sees_steps:
        following = (following - y) / output_steps(y)
    seen = [following, y, u] if config.smoother_sees_next_output else [y, u]
    forward = np.concatenate([y, past, u], axis=-1)
    backward = np.concatenate([future, *seen], axis=-1)
    return forward.reshape(-1, forward.shape[-1]), backward.reshape(-1, backward.shape[-1])


def typical_embeddings(
    config: Model, dynamics: AbstractDynamics, examples: Sequences
) -> Embeddings:
    """What f and f_b see of the data, with hidden states drawn as large as their scales say."""
    y, u = (np.moveaxis(np.asarray(a, dtype=np.float64), 1, 0) for a in (examples.y, examples.u))
    now, later = y[:, :-1].reshape(len(y), -1), y[:, 1:].reshape(len(y), -1)
    u = u[:, :-1].reshape(len(u), -1)
    h = np.random.default_rng(0).standard_normal((config.dim_x - len(y), now.shape[1]))
    forward = dynamics.seen(jnp.concatenate([now, h]), jnp.asarray(u))
    backward = dynamics.look_back(jnp.asarray(h), jnp.concatenate([later, now, u]))[1]
    return np.asarray(forward).T, np.asarray(backward).T


def _lags(y: np.ndarray, count: int, direction: int) -> np.ndarray:
    """`count` columns of y shifted in time by ever larger lags, the border repeated."""
    steps, columns = np.arange(y.shape[1]), []
    for i in range(count):
        lag = direction * (1 + i // y.shape[-1])
        shifted = y[:, np.clip(steps - lag, 0, y.shape[1] - 1)]
        columns.append(shifted[..., i % y.shape[-1]])
    return np.stack(columns, axis=-1) if columns else np.zeros((*y.shape[:2], 0))


def _kmeans(key: PRNGKeyArray, samples: np.ndarray, m: int) -> np.ndarray:
    """m cluster centres; a little noise keeps centres apart where the data have fewer points."""
    rng = np.random.default_rng(int(jax.random.randint(key, (), 0, np.iinfo(np.int32).max)))
    spread = 1e-3 * (samples.std(axis=0) + 1e-3)
    samples = samples + spread * rng.standard_normal(samples.shape)
    if len(samples) < m:
        samples = samples[rng.integers(0, len(samples), 4 * m)]
        samples = samples + spread * rng.standard_normal(samples.shape)
    return kmeans2(samples, m, minit="++", seed=rng)[0]
