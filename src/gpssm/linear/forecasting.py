"""The error of the forecasts of a linear model after a warm-up, for many models at once.

    x[t+1] = A x[t] + B u[t] + K (y[t] − ŷ[t])
    ŷ[t]   = C x[t] + d

With K = 0 this is a forecast, and with K a prediction one step ahead: both are one recursion,
x[t+1] = F x[t] + G (u, y)[t], with F = A − K C. x[1] of a window is that of ridge regression on
its warm-up alone. With x[1] free over the whole window unstable modes are not noticed.

Time is cut into chunks of the length of the warm-up. Within a chunk all outputs follow from its
first state and its inputs by two products of matrices, so only the chunks follow one another:

    ŷ = O x + T (u, y) + d       O = (C; C F; …)      T = lower block Toeplitz of C Fⁱ G
    x⁺ = Fᴸ x + R (u, y)         R = (Fᴸ⁻¹ G, …, G)
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

Values = Any  # an array of NumPy or of JAX
WARMUP = 25  # steps, and the length of a chunk
RIDGE = 1e-3


class Parameters(NamedTuple):
    """One linear model, or many of them with a leading axis."""

    A: Float[Values, "*m states states"]
    B: Float[Values, "*m states inputs"]
    C: Float[Values, "*m outputs states"]
    d: Float[Values, "*m outputs"]
    K: Float[Values, "*m states outputs"]


class Windows(NamedTuple):
    """Windows of several data sets, all of the same shape; what is missing has no weight.

    `inputs` is (u, y) with gaps of y filled, and `seen` and `counted` are one at the measurements
    from which x[1] is found and at those whose errors count.
    """

    inputs: Float[Values, "*sets windows time inputs_and_outputs"]
    y: Float[Values, "*sets windows time outputs"]
    seen: Float[Values, "*sets windows warmup outputs"]
    counted: Float[Values, "*sets windows time outputs"]


def flat(parameters: Parameters) -> Float[Values, "models parameters"]:
    """One row per model."""
    return jnp.concatenate([a.reshape(len(a), -1) for a in parameters], axis=1)


def unflat(rows: Float[Values, "models parameters"], like: Parameters) -> Parameters:
    """The inverse of `flat`."""
    sizes = np.cumsum([math.prod(a.shape[1:]) for a in like])
    parts = jnp.split(rows, sizes[:-1].tolist(), axis=1)
    return Parameters(
        *(p.reshape(len(rows), *a.shape[1:]) for p, a in zip(parts, like, strict=True))
    )


@jax.jit
def losses_and_gradients(
    rows: Float[Values, "models parameters"],
    like: Parameters,
    windows: Windows,
    which: Int[Values, " models"],
    free: Float[Values, "models parameters"],
    cut: Values,
) -> tuple[Float[Values, " models"], Float[Values, "models parameters"]]:
    """The loss of every model on a data set of its own, and its gradient in what is free."""

    def total(rows: Float[Values, "models parameters"]) -> tuple[Array, Array]:
        def one(p: Parameters, i: Array) -> Array:
            return loss(p, Windows(*(a[i] for a in windows)), cut)

        each = jax.vmap(one)(unflat(rows, like), which)
        return jnp.sum(each), each

    gradient, each = jax.grad(total, has_aux=True)(rows)
    return each, gradient * free


def loss(p: Parameters, windows: Windows, cut: Values) -> Float[Values, ""]:
    """Mean square of the errors that count; an error beyond the cut counts as the cut."""
    e = window_errors(p, windows.inputs, windows.y, windows.seen)
    square = jnp.minimum(jnp.square(e), jnp.square(cut))
    return jnp.sum(windows.counted * square) / jnp.maximum(jnp.sum(windows.counted), 1.0)


def window_errors(
    parameters: Parameters,
    inputs: Float[Values, "windows time inputs_and_outputs"],
    y: Float[Values, "windows time outputs"],
    seen: Float[Values, "windows warmup outputs"],
) -> Float[Values, "windows time outputs"]:
    """y − ŷ, the warm-up included."""
    p, length = parameters, seen.shape[1]
    count, time, outputs = y.shape
    chunks = time // length
    F, G = p.A - p.K @ p.C, jnp.concatenate([p.B.at[:, -1].add(-p.K @ p.d), p.K], axis=1)
    O, T, R, last = _chunk(F, G, p.C, length)  # noqa: E741
    signal = inputs.reshape(count, chunks, -1)
    forced = jnp.einsum("os,wcs->cwo", T, signal)
    rest = jnp.moveaxis((y - p.d[None, None]).reshape(count, chunks, -1), 1, 0) - forced
    x = _first_state(O, rest[0], seen.reshape(count, -1))

    def step(x: Array, drive: Array) -> tuple[Array, Array]:
        return x @ last.T + drive, x

    states = jax.lax.scan(step, x, jnp.einsum("ns,wcs->cwn", R, signal))[1]
    e = rest - states @ O.T
    return jnp.moveaxis(e, 0, 1).reshape(count, time, outputs)


def _chunk(
    F: Float[Values, "n n"], G: Float[Values, "n k"], C: Float[Values, "p n"], length: int
) -> tuple[Array, Array, Array, Array]:
    """O, T, R and Fᴸ for chunks of this length."""
    last, powers = jax.lax.scan(lambda X, _: (F @ X, X), jnp.eye(len(F)), None, length=length)
    driven, (outputs, n), inputs = powers @ G, C.shape, G.shape[1]
    apart = np.arange(length)[:, None] - np.arange(length)[None] - 1
    blocks = jnp.where((apart >= 0)[:, :, None, None], (C @ driven)[np.maximum(apart, 0)], 0.0)
    T = jnp.transpose(blocks, (0, 2, 1, 3)).reshape(length * outputs, length * inputs)
    R = jnp.transpose(driven[::-1], (1, 0, 2)).reshape(n, length * inputs)
    return (C @ powers).reshape(length * outputs, n), T, R, last


def _first_state(
    O: Float[Values, "rows n"],  # noqa: E741
    rest: Float[Values, "windows rows"],
    seen: Float[Values, "windows rows"],
) -> Float[Values, "windows n"]:
    """argmin |seen (rest − O x)|² + ridge |x|², window by window."""
    gram = jnp.einsum("rn,wr,rm->wnm", O, seen, O) + RIDGE * jnp.eye(O.shape[1])[None]
    return jnp.linalg.solve(gram, ((seen * rest) @ O)[..., None])[..., 0]
