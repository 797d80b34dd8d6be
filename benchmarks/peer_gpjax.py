"""The same gradient step with GPJax's conditionals inside a scan."""

import gpjax
import jax
import jax.numpy as jnp
from gpjax.variational_families import VariationalGaussian
from workloads import Workload

from gpssm.inference.backward import _deliver, plan_windows


def _parameters(key: jax.Array, inputs: int, outputs: int, inducing: int) -> dict:
    return {
        "z": jax.random.uniform(key, (inducing, inputs), minval=-2.0, maxval=2.0),
        "mean": 0.01 * jax.random.normal(key, (outputs, inducing)),
        "log_std": jnp.full((outputs, inducing), -4.0),
        "log_lengthscale": jnp.zeros(inputs),
        "log_variance": jnp.asarray(-1.0),
    }


def _moments(p: dict, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and variance [outputs, n] at x [n, inputs]."""
    kernel = gpjax.kernels.RBF(
        lengthscale=jnp.exp(p["log_lengthscale"]), variance=jnp.exp(p["log_variance"])
    )
    prior = gpjax.gps.Prior(kernel=kernel, mean_function=gpjax.mean_functions.Zero(), jitter=1e-5)
    model = prior * gpjax.likelihoods.Gaussian()

    def one(mean: jax.Array, log_std: jax.Array) -> tuple[jax.Array, jax.Array]:
        q = VariationalGaussian(
            model=model,
            inducing_inputs=p["z"],
            variational_mean=mean[:, None],
            variational_root_covariance=jnp.diag(jnp.exp(log_std)),
        )

        def at(point: jax.Array) -> tuple[jax.Array, jax.Array]:
            predicted = q.predict(point[None])
            return predicted.mean.ravel()[0], predicted.variance[0]

        # Point by point: for all at once GPJax would form their joint covariance.
        return jax.vmap(at)(x)

    return jax.vmap(one)(p["mean"], p["log_std"])


def _smooth(key: jax.Array, p: dict, w: Workload, u: jax.Array, y: jax.Array) -> jax.Array:
    plan = plan_windows(w.steps, w.lag)
    columns = plan.windows * w.batch * w.particles
    t = plan.begins[None, :] - 1 - jnp.arange(plan.depth - 1)[:, None]
    signals = jnp.concatenate([y[:, t + 1], y[:, t], u[:, t]], -1)
    signals = jnp.moveaxis(signals, 0, 2).reshape(plan.depth - 1, -1, signals.shape[-1])
    begin = jax.random.normal(key, (columns, w.dim_x - w.dim_y), y.dtype)
    noise = jax.random.normal(key, (plan.depth - 1, *begin.shape), y.dtype)

    def step(h: jax.Array, now: tuple) -> tuple[jax.Array, jax.Array]:
        signal, eps = now
        seen = jnp.concatenate([h, jnp.repeat(signal, w.particles, 0)], -1)
        mean, variance = _moments(p, seen)
        h = h + mean.T + jnp.sqrt(variance.T) * eps
        return h, h

    _, rest = jax.lax.scan(jax.checkpoint(step), begin, (signals, noise))
    hidden = jnp.swapaxes(jnp.concatenate([begin[None], rest]), 1, 2)
    return jnp.swapaxes(_deliver(hidden, plan, w.steps), 1, 2)


def loss(p: dict, key: jax.Array, w: Workload, u: jax.Array, y: jax.Array) -> jax.Array:
    """The negative ELBO of a batch [batch, time, channel], without the KL of u."""
    hidden = _smooth(key, p["f_b"], w, u, y)
    u, y = (jnp.moveaxis(jnp.repeat(a, w.particles, 0), 1, 0) for a in (u, y))
    begin = jnp.concatenate([y[0], hidden[0]], -1)
    targets = jnp.concatenate([y, hidden], -1)[1:]
    noise = jax.random.normal(key, targets.shape, y.dtype)
    process, r = jnp.exp(p["log_process"]), jnp.exp(p["log_target"])

    def step(x: jax.Array, now: tuple) -> tuple[jax.Array, tuple]:
        u, target, eps = now
        mean, variance = _moments(p["f"], jnp.concatenate([x, u], -1))
        mean, variance = x + mean.T, variance.T + process
        gain = variance / (r + 50.0 * variance)
        new_mean = mean + gain * (target - mean)
        new_variance = (1.0 - gain) ** 2 * variance + gain**2 * r
        ratio = new_variance / variance
        kl = 0.5 * (ratio + (new_mean - mean) ** 2 / variance - 1.0 - jnp.log(ratio)).sum(-1)
        x = new_mean + jnp.sqrt(new_variance) * eps
        return x, (x, kl)

    _, (x, kl) = jax.lax.scan(jax.checkpoint(step), begin, (u[:-1], targets, noise))
    spread = r[: w.dim_y]
    fit = -0.5 * (jnp.log(spread) + (y[1:] - x[..., : w.dim_y]) ** 2 / spread).sum((0, 2))
    return -jnp.mean(fit - kl.sum(0))


def gradient_step(w: Workload):
    """A function and its arguments: one gradient of the loss."""
    keys, hidden = jax.random.split(jax.random.key(0), 3), w.dim_x - w.dim_y
    p = {
        "f": _parameters(keys[0], w.dim_x + w.dim_u, w.dim_x, w.inducing),
        "f_b": _parameters(keys[1], hidden + 2 * w.dim_y + w.dim_u, hidden, w.inducing),
        "log_process": jnp.full((w.dim_x,), -4.0),
        "log_target": jnp.zeros(w.dim_x),
    }
    p = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), p)
    u = jax.random.normal(keys[2], (w.batch, w.steps, w.dim_u), jnp.float32)
    y = jnp.sin(0.1 * jnp.cumsum(u, axis=1))[..., : w.dim_y]
    return jax.grad(lambda p, key: loss(p, key, w, u, y)), (p, keys[2])
