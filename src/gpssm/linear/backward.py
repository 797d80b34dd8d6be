"""What later outputs say of the hidden states of a linear model: a filter that runs back.

    (y, h)[t+1] = A (y, h)[t] + B (u, 1)[t] + w         w ~ N(0, Q), the sensor adds N(0, R)

Known are y[t], y[t+1], u[t], and h[t+1] ~ N(ĥ[t+1], P). With A = [A_y A_h] and the innovation
z = (y[t+1], ĥ[t+1]) − A_y y[t] − B (u, 1)[t] = A_h h[t] + noise of covariance V:

    ĥ[t] = L z      L = P' A_hᵀ V⁻¹      P' = (A_hᵀ V⁻¹ A_h + ε I)⁻¹      V = W + diag(0, P)

A regression of h[t] on the same would be unstable where the plant forgets quickly; this is the
steady state of a filter, which is stable wherever the noise reaches all states.
"""

import numpy as np
from jaxtyping import Float

_PRIOR = 0.05  # ε: hidden states have unit variance, and some are seen by no output
_ITERATIONS = 500
_FLOOR = 1e-8  # of a variance, relative to that of the states


def backward_gain(
    A: Float[np.ndarray, "states states"],
    B: Float[np.ndarray, "states inputs_and_one"],
    Q: Float[np.ndarray, "states states"],
    R: Float[np.ndarray, "outputs outputs"],
) -> Float[np.ndarray, "hidden hidden_signals_one"]:
    """G of ĥ[t] = G (ĥ[t+1], y[t+1], y[t], u[t], 1), in the steady state."""
    outputs = len(R)
    A_y, A_h = A[:, :outputs], A[:, outputs:]
    W = Q + A_y @ R @ A_y.T + _FLOOR * np.eye(len(A))
    W[:outputs, :outputs] += R
    L = _steady_gain(A_h, W, outputs)
    return np.concatenate([L[:, outputs:], L[:, :outputs], -L @ A_y, -L @ B], axis=1)


def _steady_gain(
    A_h: Float[np.ndarray, "states hidden"], W: Float[np.ndarray, "states states"], outputs: int
) -> Float[np.ndarray, "hidden states"]:
    """L where P has settled; it begins without knowledge of h."""
    hidden = A_h.shape[1]
    P, L = np.eye(hidden) / _PRIOR, np.zeros((hidden, len(W)))
    for _ in range(_ITERATIONS):
        V = W.copy()
        V[outputs:, outputs:] += P
        weighted = np.linalg.solve(V, A_h).T
        before, P = P, np.linalg.inv(weighted @ A_h + _PRIOR * np.eye(hidden))
        L = P @ weighted
        if np.allclose(before, P, rtol=1e-10, atol=0.0):
            break
    return L
