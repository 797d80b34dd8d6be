"""A model with direct feedthrough as one without: inputs become states.

y[t] = C x[t] + D ũ[t] is (C D)(x, ũ)[t]. The next of these states is ũ[t+1]: the model sees inputs
that are one step younger, so every delay is less by one.
"""

import numpy as np

from gpssm.data import Normalisation
from gpssm.data.alignment import Alignment

from .forecasting import Parameters
from .model import LinearModel


def without_feedthrough(model: LinearModel) -> tuple[Parameters, Alignment]:
    """The matrices and the alignment of a model that needs no D but for the offset."""
    A, B, C, D, K = model.A, model.B, model.C, model.D, model.K
    states, inputs = len(A), D.shape[1] - 1
    alignment = (1,) * inputs if model.alignment is None else model.alignment
    if not np.any(D[:, :-1]):
        return Parameters(A, B, C, D[:, -1], K), alignment
    one = np.concatenate([B[:, -1:], np.zeros((inputs, 1))])
    larger = np.block([[A, B[:, :-1]], [np.zeros((inputs, states + inputs))]])
    driven = np.concatenate([np.zeros((states, inputs)), np.eye(inputs)])
    gain = np.concatenate([K, np.zeros((inputs, len(C)))])
    through = np.concatenate([C, D[:, :-1]], axis=1)
    younger = tuple(delay - 1 for delay in alignment)
    return Parameters(larger, np.hstack([driven, one]), through, D[:, -1], gain), younger


def in_units_of(normalisation: Normalisation, model: LinearModel) -> LinearModel:
    """The same model for signals that are normalised in another way."""
    own, other = model.normalisation, normalisation
    scale = own.y_std / other.y_std
    gain, shift = other.u_std / own.u_std, (other.u_mean - own.u_mean) / own.u_std
    offset = (own.y_mean - other.y_mean) / other.y_std
    B, D = (_for_inputs(matrix, gain, shift) for matrix in (model.B, model.D))
    D = scale[:, None] * D
    D[:, -1] += offset
    return LinearModel(
        model.A, B, scale[:, None] * model.C, D, model.K / scale,
        np.outer(scale, scale) * model.R, model.initial, other, model.description, model.alignment,
    )  # fmt: skip


def _for_inputs(matrix: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """M (u, 1) for inputs gain · u + shift."""
    constant = matrix[:, -1] + matrix[:, :-1] @ shift
    return np.concatenate([matrix[:, :-1] * gain, constant[:, None]], axis=1)
