"""A linear model as a state-space model whose first states are its outputs.

    z[t+1] = A z[t] + B ũ[t]      y[t] = (I 0) z[t]

From x[t+1] = A x[t] + B ũ[t], y[t] = C x[t] + d by z = T x + c with T = (C; H). The rows of H make
hidden states of zero mean and unit variance that are uncorrelated with the outputs: H P Cᵀ = 0 and
H P Hᵀ = I, where P is the covariance of x along the training data.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.base.errors import DataError, expected
from gpssm.data.alignment import Alignment

_SMALL = 1e-9  # of the largest singular value: below it a direction is not there


class Noise(NamedTuple):
    """Variances of process and sensors in these coordinates; or many with a leading axis."""

    Q: Float[np.ndarray, "*n states"]
    R: Float[np.ndarray, "*n outputs"]


class Moments(NamedTuple):
    """Mean and covariance of the states along the training data."""

    mean: Float[np.ndarray, " states"]
    covariance: Float[np.ndarray, "states states"]


@dataclass(frozen=True, eq=False)
class StateForm:
    """A and B in coordinates whose first states are the outputs, and the way there, z = T x + c.

    The last column of B belongs to a constant one. `alignment` has the delay of every input:
    z[t+1] = A z[t] + B (u[t+1−delay], 1).
    """

    A: Float[np.ndarray, "states states"]
    B: Float[np.ndarray, "states inputs_and_one"]
    T: Float[np.ndarray, "states states"]
    c: Float[np.ndarray, " states"]
    alignment: Alignment


def state_form(
    A: Float[np.ndarray, "states states"],
    B: Float[np.ndarray, "states inputs_and_one"],
    C: Float[np.ndarray, "outputs states"],
    d: Float[np.ndarray, " outputs"],
    moments: Moments,
    alignment: Alignment,
) -> StateForm:
    """The form of a model with these matrices; raises where outputs depend on each other."""
    outputs, states = C.shape
    if outputs > states or np.linalg.matrix_rank(C) < outputs:
        given = f"{outputs} outputs of {states} states"
        raise DataError(expected("linear model", given, "outputs that do not depend on each other"))
    H = _hidden(C, moments.covariance)
    T = np.concatenate([C, H])
    c = np.concatenate([d, -H @ moments.mean])
    A = T @ A @ np.linalg.inv(T)
    B = T @ B
    B[:, -1] += c - A @ c
    return StateForm(A, B, T, c, alignment)


def _hidden(
    C: Float[np.ndarray, "outputs states"], P: Float[np.ndarray, "states states"]
) -> Float[np.ndarray, "hidden states"]:
    """H with H P Cᵀ = 0 and H P Hᵀ = I; states that never moved keep their size."""
    P = P + _SMALL * np.trace(P) / len(P) * np.eye(len(P)) + np.finfo(float).tiny * np.eye(len(P))
    null = np.linalg.svd(C @ P)[2][len(C) :]
    values, vectors = np.linalg.eigh(null @ P @ null.T)
    return (vectors / np.sqrt(values)).T @ null
